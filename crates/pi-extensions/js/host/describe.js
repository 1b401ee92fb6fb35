// What this realm has, for `pi extension check`.

const { requireHost } = require("pi:loader");
const { MISSING } = require("pi:missing");

/** Returns the keys of an object that a function builds; none if it cannot be built here. */
function keys(build) {
	try {
		return Object.keys(build());
	} catch {
		return [];
	}
}

/** Returns the exports of a module: false for those that fail when they are called. */
function exportsOf(name) {
	const exports = requireHost(name);
	const found = {};
	for (let object = exports; object && object !== Object.prototype && object !== Function.prototype; object = Object.getPrototypeOf(object)) {
		for (const key of Object.getOwnPropertyNames(object)) {
			try {
				found[key] ??= exports[key]?.[MISSING] === undefined;
			} catch {
				found[key] = false;
			}
		}
	}
	found.default = true;
	return found;
}

/** Describes the modules and globals that are asked about, and the members of the API. */
exports.describe = function describe({ modules, globals }) {
	const binding = requireHost("pi:extensions").createBinding?.(0, "check");
	return {
		modules: Object.fromEntries(modules.map((name) => [name, exportsOf(name)])),
		globals: globals.filter((name) => name in globalThis),
		api: keys(() => requireHost("pi:api").createApi(binding)),
		context: keys(() => requireHost("pi:context").describeContext()),
		ui: keys(() => requireHost("pi:ui").describeUi()),
	};
};
