// node:http2: HTTP/2 sessions are not available; fetch uses HTTP/2 by itself.

const { absent } = require("pi:absent");

module.exports = absent("http2", [
	"connect",
	"createServer",
	"createSecureServer",
	"getDefaultSettings",
	"getPackedSettings",
]);
