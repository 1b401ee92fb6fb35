// The `pi` object that a factory receives.

const native = require("native:session");

/** Creates the API of one run of a factory. */
exports.createApi = function createApi(binding) {
	const renderer = (kind, name, fn) => require("pi:renderers").register(binding, kind, name, fn);
	return {
		on(name, handler) {
			const handlers = [...(binding.handlers.get(name) ?? []), handler];
			binding.handlers.set(name, handlers);
			native.setHandlers(binding.id, name, handlers.length);
			return () => {
				const left = (binding.handlers.get(name) ?? []).filter((other) => other !== handler);
				binding.handlers.set(name, left);
				native.setHandlers(binding.id, name, left.length);
			};
		},
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
