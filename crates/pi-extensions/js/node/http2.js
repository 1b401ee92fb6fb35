// node:http2: HTTP/2 sessions are not available; fetch uses HTTP/2 by itself.

const { absent } = require("pi:absent");

module.exports = absent("http2", [
	"connect",
	"createServer",
	"createSecureServer",
	"getDefaultSettings",
	"getPackedSettings",
]);

/** Names of headers, which clients read while they are loaded. */
module.exports.constants = {
	HTTP2_HEADER_AUTHORITY: ":authority",
	HTTP2_HEADER_METHOD: ":method",
	HTTP2_HEADER_PATH: ":path",
	HTTP2_HEADER_SCHEME: ":scheme",
	HTTP2_HEADER_STATUS: ":status",
	HTTP2_HEADER_PROTOCOL: ":protocol",
	HTTP2_HEADER_CONTENT_LENGTH: "content-length",
	HTTP2_HEADER_CONTENT_TYPE: "content-type",
	HTTP2_HEADER_EXPECT: "expect",
};
