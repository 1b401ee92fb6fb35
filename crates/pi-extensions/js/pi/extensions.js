// Extensions: loading their files, and the calls of their handlers, tools and commands.

const { ModuleGraph } = require("pi:loader");
const native = require("native:session");
const { createApi } = require("pi:api");
const { createContext } = require("pi:context");

/** State of each extension: { id, path, graph, binding }. */
const extensions = new Map();

/**
 * What one run of a factory registered. A new session and a reload make a new one; the old one is
 * stale and refuses every use.
 */
function createBinding(id, path) {
	return { id, path, isStale: false, isLoading: true, handlers: new Map(), tools: new Map(), commands: new Map() };
}

/** Loads an extension: evaluates its modules, unless they stay, and runs its factory. */
exports.load = async function load(id, path, isReload) {
	let extension = extensions.get(id);
	if (extension === undefined || isReload) {
		if (extension?.binding !== undefined) extension.binding.isStale = true;
		extension = { id, path, graph: new ModuleGraph(), binding: undefined };
		extensions.set(id, extension);
	}
	if (extension.binding !== undefined) extension.binding.isStale = true;
	const binding = createBinding(id, path);
	extension.binding = binding;
	const namespace = await extension.graph.import(path);
	const factory = namespace.default;
	if (typeof factory !== "function") {
		throw new Error(`Extension does not export a valid factory function: ${path}`);
	}
	await factory(createApi(binding));
	binding.isLoading = false;
};

/** Calls one handler of an event. Returns its value and the event as the handler left it. */
exports.handle = async function handle(id, name, index, event) {
	const { binding } = extensions.get(id);
	const handler = binding.handlers.get(name)?.[index];
	if (handler === undefined) return {};
	const result = await handler(event, createContext(binding));
	return { result, event };
};

/** Executes a tool. */
exports.executeTool = async function executeTool(id, name, callId, args) {
	const { binding } = extensions.get(id);
	const tool = binding.tools.get(name);
	return tool.execute(callId, args, undefined, undefined, createContext(binding));
};
