// Extensions: loading their files, ending them, and the calls of their handlers.

const { ModuleGraph } = require("pi:loader");
const { createApi } = require("pi:api");
const handlers = require("pi:handlers");

/** What each loaded extension registered, by the number of the load. */
const bindings = new Map();

/** The modules of each extension, by path. They stay when a session is replaced. */
const graphs = new Map();

/**
 * What one run of a factory registered. A new session and a reload make a new one; the old one is
 * stale and refuses every use.
 */
function createBinding(id, path) {
	return {
		id,
		path,
		isStale: false,
		hasFailed: false,
		isLoading: true,
		/** Handlers by number, and the numbers by event. */
		handlers: new Map(),
		events: new Map(),
		retired: [],
		tools: new Map(),
		commands: new Map(),
	};
}

/** Loads an extension: evaluates its modules, unless they stay, and runs its factory. */
exports.load = async function load(id, path, isReload) {
	if (isReload) forgetModules();
	if (isReload || !graphs.has(path)) graphs.set(path, new ModuleGraph());
	const binding = createBinding(id, path);
	bindings.set(id, binding);
	try {
		const factory = (await graphs.get(path).import(path)).default;
		if (typeof factory !== "function") {
			binding.hasFailed = true;
			return `Extension does not export a valid factory function: ${path}`;
		}
		await factory(createApi(binding));
		binding.isLoading = false;
		return undefined;
	} catch (error) {
		// A file that was changed is read again when it is loaded again.
		graphs.delete(path);
		binding.hasFailed = true;
		throw error;
	}
};

/** Ends a run of a factory: its session was replaced or reloaded, or it failed. */
exports.unload = function unload(id) {
	const binding = bindings.get(id);
	if (binding === undefined) return;
	binding.isStale = true;
	bindings.delete(id);
};

/** Forgets the modules of extensions that are not loaded any more. */
function forgetModules() {
	const used = new Set([...bindings.values()].map((binding) => binding.path));
	for (const path of graphs.keys()) if (!used.has(path)) graphs.delete(path);
}

exports.notify = function notify(id, number, event, readMessage) {
	const binding = bindings.get(id);
	return binding === undefined ? undefined : handlers.notify(binding, number, event, readMessage);
};

exports.ask = function ask(id, number, event, signal) {
	const binding = bindings.get(id);
	return binding === undefined ? {} : handlers.ask(binding, number, event, signal);
};

exports.abortSignal = handlers.abortSignal;
exports.execOperations = handlers.execOperations;
