// The user's key bindings, for components.

/** Returns the key bindings of the data of the interface: keys by action. */
exports.keybindingsFrom = function keybindingsFrom(keys) {
	const tui = require("@earendil-works/pi-tui");
	const keysOf = (action) => keys[action] ?? [];
	const bindings = Object.create(tui.KeybindingsManager?.prototype ?? Object.prototype);
	const own = {
		matches: (data, action) => keysOf(action).some((key) => tui.matchesKey(data, key)),
		getKeys: (action) => [...keysOf(action)],
		getResolvedBindings: () => structuredClone(keys),
		getEffectiveConfig: () => structuredClone(keys),
		getUserBindings: () => ({}),
		getConflicts: () => [],
	};
	for (const [name, value] of Object.entries(own)) Object.defineProperty(bindings, name, { value, configurable: true });
	return bindings;
};
