// node:cluster: worker processes are not available.

const { absent } = require("pi:absent");

module.exports = absent("cluster", [
	"fork",
	"setupPrimary",
	"setupMaster",
	"disconnect",
]);
