// The `pi` object that a factory receives.

const native = require("native:session");
const { addHandler } = require("pi:handlers");

/** Creates the API of one run of a factory. */
exports.createApi = function createApi(binding) {
	const renderer = (kind, name, fn) => require("pi:renderers").register(binding, kind, name, fn);
	return {
		on: (name, handler) => addHandler(binding, name, handler),
		registerTool(tool) {
			const { name, description, parameters } = tool;
			native.registerTool(binding.id, { name, description, parameters });
			binding.tools.set(name, tool);
			if (tool.renderCall || tool.renderResult) renderer("tool", name, tool);
		},
		registerMessageRenderer: (type, fn) => renderer("message", String(type), fn),
		registerMarkdownTransformer: (fn) => renderer("markdown", undefined, fn),
		registerEntryRenderer: (type, fn) => renderer("entry", String(type), fn),
		registerToolRenderer: (fn) => renderer("anyTool", undefined, fn),
	};
};
