// Modules of Node whose functions this host lacks: their names exist and fail when they are used.

const { missing } = require("pi:missing");

/** Returns an object of functions that fail by name. */
exports.absent = function absent(module, names) {
	return Object.fromEntries(names.map((name) => [name, missing(`${module}.${name}`)]));
};
