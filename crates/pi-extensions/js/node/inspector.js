// node:inspector: the inspector is not available.

const { absent } = require("pi:absent");

module.exports = absent("inspector", [
	"open",
	"close",
	"url",
	"waitForDebugger",
	"Session",
]);
