// node:https: requests; a server would need certificates, and fails by name.

const { Agent, createClient } = require("pi:http-client");
const { missing } = require("pi:missing");

module.exports = {
	...createClient("https:"),
	Agent,
	globalAgent: new Agent(),
	createServer: missing("https.createServer"),
	Server: missing("https.Server"),
};
