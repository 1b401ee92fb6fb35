// Extensions: loading their files, and the calls of their handlers, tools and commands.

const { ModuleGraph } = require("pi:loader");
const { createApi } = require("pi:api");
const { createContext } = require("pi:context");

/** What each loaded extension registered, by the number of the load. */
const bindings = new Map();

/** The modules of each extension, by path. They stay when a session is replaced. */
const graphs = new Map();

/**
 * What one run of a factory registered. A new session and a reload make a new one; the old one is
 * stale and refuses every use.
 */
function createBinding(id, path) {
	return { id, path, isStale: false, isLoading: true, handlers: new Map(), tools: new Map(), commands: new Map() };
}

/** Loads an extension: evaluates its modules, unless they stay, and runs its factory. */
exports.load = async function load(id, path, isReload) {
	if (isReload || !graphs.has(path)) graphs.set(path, new ModuleGraph());
	const binding = createBinding(id, path);
	bindings.set(id, binding);
	const namespace = await graphs.get(path).import(path);
	const factory = namespace.default;
	if (typeof factory !== "function") {
		throw new Error(`Extension does not export a valid factory function: ${path}`);
	}
	await factory(createApi(binding));
	binding.isLoading = false;
};

/** Ends a run of a factory: its session was replaced or reloaded, or it failed. */
exports.unload = function unload(id) {
	const binding = bindings.get(id);
	if (binding === undefined) return;
	binding.isStale = true;
	bindings.delete(id);
};

/** Calls one handler of an event. Returns its value and the event as the handler left it. */
exports.handle = async function handle(id, name, index, event) {
	const binding = bindings.get(id);
	const handler = binding?.handlers.get(name)?.[index];
	if (handler === undefined) return {};
	const result = await handler(event, createContext(binding));
	return { result, event };
};

/** Executes a tool. */
exports.executeTool = async function executeTool(id, name, callId, args) {
	const binding = bindings.get(id);
	const tool = binding.tools.get(name);
	return tool.execute(callId, args, undefined, undefined, createContext(binding));
};
