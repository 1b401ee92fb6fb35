// System messages in a transcript: the prompt, and the tools that are declared on the way.

const isSystem = (message) => message?.role === "system";

/** Returns the text of content: its text blocks, one per line. */
function contentText(content) {
	if (typeof content === "string") return content;
	return content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

const getSystemMessageText = (message) => contentText(message.content);

const getInitialSystemMessage = (messages) => (isSystem(messages[0]) ? messages[0] : undefined);

const withoutInitialSystemMessage = (messages) => (isSystem(messages[0]) ? messages.slice(1) : messages);

function getCurrentSystemPrompt(messages) {
	const texts = [];
	for (const message of messages) if (isSystem(message)) texts.push(getSystemMessageText(message));
	return texts.filter((text) => text !== "").join("\n\n");
}

/** Returns the tools that all system messages declare; a later declaration replaces an earlier one. */
function getCurrentTools(messages) {
	const tools = new Map();
	for (const message of messages) {
		if (!isSystem(message)) continue;
		for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
	}
	return [...tools.values()];
}

function createInitialSystemMessage(prompt, tools) {
	const hasPrompt = prompt !== undefined && prompt !== "" && (typeof prompt === "string" || Array.isArray(prompt));
	const declared = tools ?? [];
	if (!hasPrompt && declared.length === 0) return undefined;
	const message = { role: "system", content: hasPrompt ? prompt : "" };
	if (declared.length > 0) message.toolsAdded = declared.map(toToolDeclaration);
	return { ...message, timestamp: 0 };
}

/** Returns one system message with the prompt and tools of all of them. */
function getCurrentSystemMessage(messages) {
	const first = messages.find(isSystem);
	if (first === undefined) return undefined;
	const tools = getCurrentTools(messages);
	const message = { role: "system", content: getCurrentSystemPrompt(messages) };
	if (tools.length > 0) message.toolsAdded = tools;
	return { ...message, timestamp: first.timestamp };
}

/** Returns a context with a single system message at its beginning. */
function collapseSystemMessages(context) {
	const system = getCurrentSystemMessage(context.messages);
	const rest = context.messages.filter((message) => !isSystem(message));
	return { messages: system === undefined ? rest : [system, ...rest] };
}

/** Turns `systemPrompt` and `tools` of a context into a system message. */
function normalizeContext(context) {
	const { systemPrompt, tools, ...rest } = context;
	const system = createInitialSystemMessage(systemPrompt, tools);
	return system === undefined ? rest : { ...rest, messages: [system, ...context.messages] };
}

function toToolDeclaration(tool) {
	const { name, description, parameters, constrainedSampling } = tool;
	return constrainedSampling === undefined ? { name, description, parameters } : { name, description, parameters, constrainedSampling };
}

const sameJson = (left, right) => JSON.stringify(left) === JSON.stringify(right);
const declarationsEqual = (left, right) => sameJson(toToolDeclaration(left), toToolDeclaration(right));

function hasNonAdditiveToolChanges(messages) {
	return hasToolRedefinitions(messages) || messages.some((message) => isSystem(message) && (message.toolsRemoved?.length ?? 0) > 0);
}

function hasToolRedefinitions(messages) {
	const seen = new Map();
	for (const message of messages) {
		if (!isSystem(message)) continue;
		for (const tool of message.toolsAdded ?? []) {
			if (seen.has(tool.name) && !declarationsEqual(seen.get(tool.name), tool)) return true;
			seen.set(tool.name, tool);
		}
	}
	return false;
}

/** Returns the tools that were added to and removed from a list. */
function getToolStateChanges(before, after) {
	const known = new Map(before.map((tool) => [tool.name, tool]));
	const names = new Set(after.map((tool) => tool.name));
	const toolsAdded = after.filter((tool) => !known.has(tool.name) || !declarationsEqual(known.get(tool.name), tool)).map(toToolDeclaration);
	return { toolsAdded, toolsRemoved: before.map((tool) => tool.name).filter((name) => !names.has(name)) };
}

function resolveTranscriptTools(messages) {
	return { requestTools: getCurrentTools(messages), foldedSystemMessages: messages.filter(isSystem).length };
}

module.exports = {
	contentText, getSystemMessageText, getInitialSystemMessage, withoutInitialSystemMessage, getCurrentSystemPrompt, getCurrentTools,
	getDeclaredTools: getCurrentTools, createInitialSystemMessage, getCurrentSystemMessage, collapseSystemMessages, normalizeContext,
	toToolDeclaration, declarationsEqual, hasNonAdditiveToolChanges, hasToolRedefinitions, getToolStateChanges, resolveTranscriptTools,
	resolveTranscript: (context) => collapseSystemMessages(context),
	renderSystemMessageUpdate: (message) => getSystemMessageText(message),
};
