// node:vm: code in realms of its own is not available.

const { absent } = require("pi:absent");

module.exports = absent("vm", [
	"Script",
	"createContext",
	"isContext",
	"runInContext",
	"runInNewContext",
	"runInThisContext",
	"compileFunction",
	"SourceTextModule",
	"SyntheticModule",
	"measureMemory",
]);
