// The functions that the screen calls, by name. Each module is loaded when it is needed.

/** Modules with `calls`, and the names of their functions. */
const MODULES = {
	render: "pi:components",
	input: "pi:components",
	invalidate: "pi:components",
	setText: "pi:components",
	closed: "pi:components",
	terminalInput: "pi:components",
	renderSubject: "pi:renderers",
	complete: "pi:autocomplete",
};

/** Calls a function. */
exports.screen = function screen(name, ...args) {
	return require(MODULES[name]).calls[name](...args);
};
