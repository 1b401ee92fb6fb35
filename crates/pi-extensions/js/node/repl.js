// node:repl: the REPL is not available.

const { absent } = require("pi:absent");

module.exports = absent("repl", [
	"start",
	"REPLServer",
]);
