// Entries of a session: parsing, the context that they give, and where a compaction cuts.

const { estimateTokens } = require("pi:coding-agent/messages");

/** Parses the lines of a session file. Lines that are not JSON are left out. */
function parseSessionEntries(content) {
	const entries = [];
	for (const line of content.split("\n")) {
		if (line.trim() === "") continue;
		try {
			entries.push(JSON.parse(line));
		} catch {
			// A damaged line costs that entry only.
		}
	}
	return entries;
}

/** Returns the messages that an entry gives to a model. */
function sessionEntryToContextMessages(entry) {
	const timestamp = new Date(entry.timestamp).getTime();
	switch (entry.type) {
		case "message": return [entry.message];
		case "custom_message": {
			const message = { role: "custom", customType: entry.customType, content: entry.content, display: entry.display };
			if (entry.details !== undefined) message.details = entry.details;
			return [{ ...message, timestamp }];
		}
		case "compaction": return [{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp }];
		case "branch_summary": return entry.summary ? [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }] : [];
		default: return [];
	}
}

function getLatestCompactionEntry(entries) {
	return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** Returns the entries from the root to a leaf; without a leaf, to the last entry. */
function pathTo(entries, leafId) {
	if (leafId === null) return [];
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const path = [];
	let entry = leafId === undefined ? entries.at(-1) : byId.get(leafId) ?? entries.at(-1);
	while (entry !== undefined) {
		path.unshift(entry);
		entry = entry.parentId === null ? undefined : byId.get(entry.parentId);
	}
	return path;
}

/** Returns the entries of a context: after a compaction, its summary and what it kept. */
function buildContextEntries(entries, leafId) {
	const path = pathTo(entries.filter((entry) => entry.type !== "session"), leafId);
	const at = path.findLastIndex((entry) => entry.type === "compaction");
	if (at < 0) return path;
	const compaction = path[at];
	const first = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
	const kept = first >= 0 && first < at ? path.slice(first, at) : [];
	return [compaction, ...kept.filter((entry) => entry.type !== "compaction"), ...path.slice(at + 1)];
}

/** Returns model and thinking level at the end of a path. */
function stateOf(path) {
	let model = null;
	let thinkingLevel = "off";
	for (const entry of path) {
		if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
		else if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
		else if (entry.type === "message" && entry.message.role === "assistant") model = { provider: entry.message.provider, modelId: entry.message.model };
	}
	return { model, thinkingLevel };
}

function buildSessionProjection(entries, leafId) {
	const path = pathTo(entries.filter((entry) => entry.type !== "session"), leafId);
	const projected = buildContextEntries(entries, leafId).map((entry) => ({ sourceEntry: entry, messages: sessionEntryToContextMessages(entry) }));
	return { entries: projected, messages: projected.flatMap((one) => one.messages), ...stateOf(path) };
}

function buildSessionContext(entries, leafId) {
	const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId);
	return { messages, thinkingLevel, model };
}

const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

const shouldCompact = (tokens, contextWindow, settings) => settings.enabled && tokens > contextWindow - settings.reserveTokens;

function getLastAssistantUsage(entries) {
	const hasUsage = ({ type, message }) =>
		type === "message" && message.role === "assistant" && message.stopReason !== "aborted" && message.stopReason !== "error" && message.usage;
	return entries.findLast(hasUsage)?.message.usage;
}

const roleOf = (entry) => (entry.type === "message" ? entry.message.role : undefined);

/** Returns true for entries at which a turn begins. */
const beginsTurn = (entry) =>
	entry.type === "branch_summary" || entry.type === "custom_message" || roleOf(entry) === "user" || roleOf(entry) === "bashExecution";

function findTurnStartIndex(entries, entryIndex, startIndex) {
	for (let at = entryIndex; at >= startIndex; at--) if (beginsTurn(entries[at])) return at;
	return -1;
}

/** Entries before which a conversation can be cut: never between a call and its result. */
const isCut = (entry) =>
	beginsTurn(entry) || ["assistant", "custom", "branchSummary", "compactionSummary"].includes(roleOf(entry));

/** Returns where the recent part begins that is kept. */
function findCutPoint(entries, startIndex, endIndex, keepRecentTokens) {
	const cuts = [];
	for (let at = startIndex; at < endIndex; at++) if (isCut(entries[at])) cuts.push(at);
	if (cuts.length === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
	let tokens = 0;
	let cut = cuts[0];
	for (let at = endIndex - 1; at >= startIndex; at--) {
		if (entries[at].type !== "message") continue;
		tokens += estimateTokens(entries[at].message);
		if (tokens < keepRecentTokens) continue;
		cut = cuts.find((one) => one >= at) ?? cuts[0];
		break;
	}
	// Entries that give no message belong to what follows them.
	while (cut > startIndex && entries[cut - 1].type !== "message" && entries[cut - 1].type !== "compaction" && !isCut(entries[cut - 1])) cut -= 1;
	const isUser = roleOf(entries[cut]) === "user";
	const turnStartIndex = isUser ? -1 : findTurnStartIndex(entries, cut, startIndex);
	return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: !isUser && turnStartIndex !== -1 };
}

module.exports = {
	parseSessionEntries, sessionEntryToContextMessages, getLatestCompactionEntry, buildContextEntries, buildSessionProjection,
	buildSessionContext, DEFAULT_COMPACTION_SETTINGS, shouldCompact, getLastAssistantUsage, findTurnStartIndex, findCutPoint, pathTo,
};
