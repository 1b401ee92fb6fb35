// node:sqlite: databases are not available.

const { absent } = require("pi:absent");

module.exports = absent("sqlite", [
	"DatabaseSync",
	"StatementSync",
	"Session",
	"backup",
]);
