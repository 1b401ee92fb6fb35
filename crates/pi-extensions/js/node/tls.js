// node:tls: encrypted sockets are not available; use fetch or https.

const { absent } = require("pi:absent");

module.exports = absent("tls", [
	"connect",
	"createServer",
	"createSecureContext",
	"TLSSocket",
	"Server",
	"checkServerIdentity",
	"getCiphers",
	"createSecurePair",
]);
