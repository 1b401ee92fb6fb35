// Extensions: loading a file, calling its factory.

const { ModuleGraph } = require("pi:loader");

const graphs = new Map();

/** Evaluates the file of an extension and returns the kind of its default export. */
exports.load = async function load(id, path) {
	const graph = new ModuleGraph();
	graphs.set(id, graph);
	const namespace = await graph.import(path);
	return typeof namespace.default;
};
