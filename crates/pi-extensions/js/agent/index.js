// `@earendil-works/pi-agent-core`. Extensions run inside an agent and use its types only; a loop of
// their own is not available here.

const { missing } = require("pi:missing");

exports.DEFAULT_AGENT_IDENTITY = { attribution: { name: "pi", url: "https://pi.dev", categories: ["cli-agent"] } };
for (const name of [
	"Agent", "agentLoop", "agentLoopContinue", "runAgentLoop", "runAgentLoopContinue", "runToolCall", "setDefaultStreamFn", "streamProxy",
]) {
	exports[name] = missing(`pi-agent-core.${name}`);
}
