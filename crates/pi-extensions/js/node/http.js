// node:http.

const { STATUS_CODES, IncomingMessage, OutgoingMessage } = require("pi:http-message");
const { Server, ServerResponse } = require("pi:http-server");
const { Agent, ClientRequest, createClient } = require("pi:http-client");

module.exports = {
	...createClient("http:"),
	createServer: (options, listener) => new Server(options, listener),
	Server, ServerResponse, IncomingMessage, OutgoingMessage, ClientRequest, Agent, STATUS_CODES,
	globalAgent: new Agent(),
	METHODS: ["ACL", "BIND", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "MERGE", "MKCOL", "MOVE", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "REPORT", "SEARCH", "SUBSCRIBE", "TRACE", "UNLOCK", "UNSUBSCRIBE"],
	maxHeaderSize: 65536,
	validateHeaderName(name) { new OutgoingMessage().setHeader(name, ""); },
	validateHeaderValue(name, value) { new OutgoingMessage().setHeader(name, value); },
};
