// Messages of a session: their form for models, as text, and their size.

const { contentText } = require("pi:ai/transcript");

const COMPACTION = ["The conversation history before this point was compacted into the following summary:\n\n<summary>\n", "\n</summary>"];
const BRANCH = ["The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "</summary>"];

/** Returns the text of a command that the user ran. */
function bashText({ command, output, exitCode, cancelled, truncated, fullOutputPath }) {
	let text = `Ran \`${command}\`\n${output === "" ? "(no output)" : `\`\`\`\n${output}\n\`\`\``}`;
	if (cancelled) text += "\n\n(command cancelled)";
	else if (exitCode !== undefined && exitCode !== null && exitCode !== 0) text += `\n\nCommand exited with code ${exitCode}`;
	if (truncated && fullOutputPath) text += `\n\n[Output truncated. Full output: ${fullOutputPath}]`;
	return text;
}

const asUser = (text, timestamp) => ({ role: "user", content: [{ type: "text", text }], timestamp });

/** Converts the messages of a session to those that a model knows. */
function convertToLlm(messages) {
	return messages.flatMap((message) => {
		const { timestamp } = message;
		switch (message.role) {
			case "bashExecution": return message.excludeFromContext ? [] : [asUser(bashText(message), timestamp)];
			case "custom": return [{ role: "user", content: typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content, timestamp }];
			case "branchSummary": return [asUser(BRANCH[0] + message.summary + BRANCH[1], timestamp)];
			case "compactionSummary": return [asUser(COMPACTION[0] + message.summary + COMPACTION[1], timestamp)];
			case "system": case "user": case "assistant": case "toolResult": return [message];
			default: return [];
		}
	});
}

/** Length from which on the text of a tool result is cut. */
const LONGEST_RESULT = 2000;

const joined = (content) => (typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join(""));

/** Returns a conversation as text, for a summary. */
function serializeConversation(messages) {
	const parts = [];
	for (const message of messages) {
		if (message.role === "user") {
			const text = joined(message.content);
			if (text !== "") parts.push(`[User]: ${text}`);
		} else if (message.role === "assistant") {
			const text = message.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
			const calls = message.content.filter((block) => block.type === "toolCall");
			if (text !== "") parts.push(`[Assistant]: ${text}`);
			if (calls.length > 0) {
				const shown = calls.map((call) => `${call.name}(${Object.entries(call.arguments).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})`);
				parts.push(`[Assistant tool calls]: ${shown.join("; ")}`);
			}
		} else if (message.role === "toolResult") {
			const text = joined(message.content);
			const cut = text.length - LONGEST_RESULT;
			if (text !== "") parts.push(`[Tool result]: ${cut > 0 ? `${text.slice(0, LONGEST_RESULT)}\n\n[... ${cut} more characters truncated]` : text}`);
		}
	}
	return parts.join("\n\n");
}

/** Characters for which an image counts. */
const IMAGE = 4800;

/** Returns about how many tokens a message has. */
function estimateTokens(message) {
	let chars = 0;
	const content = (value) => {
		if (typeof value === "string") chars += value.length;
		else for (const block of value ?? []) chars += block.type === "text" ? block.text.length : block.type === "image" ? IMAGE : 0;
	};
	if (message.role === "assistant") {
		for (const block of message.content) {
			if (block.type === "text") chars += block.text.length;
			else if (block.type === "thinking") chars += block.thinking.length;
			else if (block.type === "toolCall") chars += block.name.length + JSON.stringify(block.arguments).length;
		}
	} else if (message.role === "bashExecution") chars = message.command.length + message.output.length;
	else if (message.role === "branchSummary" || message.role === "compactionSummary") chars = message.summary.length;
	else content(message.content);
	return Math.ceil(chars / 4);
}

const calculateContextTokens = (usage) => usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;

const isResultOf = (name) => (event) => event.toolName === name;

/** Returns the parts of a message that begins with a skill. */
function parseSkillBlock(text) {
	const match = /^<skill name="([^"]*)" location="([^"]*)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
	if (match === null) return null;
	const [, name, location, content, userMessage] = match;
	return { name, location, content, userMessage };
}

module.exports = {
	convertToLlm, serializeConversation, estimateTokens, calculateContextTokens, contentText, parseSkillBlock,
	isBashToolResult: isResultOf("bash"), isEditToolResult: isResultOf("edit"), isFindToolResult: isResultOf("find"),
	isGrepToolResult: isResultOf("grep"), isLsToolResult: isResultOf("ls"), isPowerShellToolResult: isResultOf("powershell"),
	isReadToolResult: isResultOf("read"), isWriteToolResult: isResultOf("write"),
	isToolCallEventType: (name, event) => event.toolName === name,
};
