// node:dgram: datagram sockets are not available.

const { absent } = require("pi:absent");

module.exports = absent("dgram", [
	"createSocket",
	"Socket",
]);
