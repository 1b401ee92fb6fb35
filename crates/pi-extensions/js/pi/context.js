// The `ctx` object that every handler receives, new for each call.

/** Creates the context of a call. */
exports.createContext = function createContext(binding) {
	return {
		get ui() {
			return require("pi:ui").uiOf(binding);
		},
	};
};
