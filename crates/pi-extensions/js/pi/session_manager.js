// `SessionManager`: the log of a session, read and written at once.

const native = require("native:session_log");

const undefinedIfNull = (value) => (value === null ? undefined : value);

class SessionManager {
	#binding;

	constructor(binding) {
		this.#binding = binding;
	}

	#read(name, argument) {
		require("pi:active").assertActive(this.#binding);
		return native.read(this.#binding.id, name, argument);
	}

	#write(name, argument) {
		require("pi:active").assertActive(this.#binding);
		return native.write(this.#binding.id, name, argument);
	}

	#fact(name) {
		return undefinedIfNull(this.#read("facts")[name]);
	}

	getCwd() {
		return this.#fact("cwd");
	}
	getSessionDir() {
		return this.#fact("directory") ?? "";
	}
	getSessionId() {
		return this.#fact("id");
	}
	getSessionFile() {
		return this.#fact("file");
	}
	getSessionName() {
		return this.#fact("name");
	}
	isPersisted() {
		return this.#fact("file") !== undefined;
	}
	getLeafId() {
		return this.#read("facts").leafId;
	}
	getEntryCount() {
		return this.#read("facts").length;
	}
	getHeader() {
		return { parentSession: undefined, ...this.#read("header") };
	}
	getEntries() {
		return this.#read("entries");
	}
	getEntry(id) {
		return undefinedIfNull(this.#read("entry", String(id)));
	}
	getLeafEntry() {
		const leaf = this.getLeafId();
		return leaf === null ? undefined : this.getEntry(leaf);
	}
	getBranch(fromId) {
		return this.#read("branch", fromId ?? undefined);
	}
	getChildren(parentId) {
		return this.#read("children", String(parentId));
	}
	getTree() {
		return this.#read("tree");
	}
	getLabel(id) {
		return undefinedIfNull(this.#read("label", String(id)));
	}
	buildContextEntries() {
		return this.#read("contextEntries");
	}
	buildSessionProjection() {
		return this.#read("projection");
	}
	buildSessionContext() {
		const { messages, thinkingLevel, model } = this.#read("projection");
		return { messages, thinkingLevel, model };
	}

	appendMessage(message) {
		return this.#write("appendMessage", message);
	}
	appendThinkingLevelChange(thinkingLevel) {
		return this.#write("appendThinkingLevelChange", String(thinkingLevel));
	}
	appendModelChange(provider, modelId) {
		return this.#write("appendModelChange", { provider, modelId });
	}
	appendUsage(kind, provider, model, usage, note) {
		return this.getEntry(this.#write("appendUsage", { kind, provider, model, usage, note }));
	}
	appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
		const first = firstKeptEntryId ?? "";
		return this.#write("appendCompaction", { summary, firstKeptEntryId: first, tokensBefore, details, fromHook, usage });
	}
	appendCustomEntry(customType, data) {
		return this.#write("appendCustomEntry", { customType: String(customType), data });
	}
	appendSessionInfo(name) {
		return this.#write("appendSessionInfo", String(name));
	}
	appendCustomMessageEntry(customType, content, display, details) {
		return this.#write("appendCustomMessageEntry", { customType, content, display: display === true, details });
	}
	appendContextEdit(targetId, replacement) {
		return this.#write("appendContextEdit", { targetId, replacement });
	}
	appendLabelChange(targetId, label) {
		return this.#write("appendLabelChange", { targetId, label });
	}
	branch(branchFromId) {
		this.#write("branch", String(branchFromId));
	}
	resetLeaf() {
		this.#write("resetLeaf", null);
	}
	branchWithSummary(branchFromId, summary, details, fromHook, usage) {
		return this.#write("branchWithSummary", { branchFromId, summary, details, fromHook, usage, fromId: "" });
	}
}

const { missing } = require("pi:missing");
for (const name of ["setSessionFile", "newSession", "createBranchedSession", "usesDefaultSessionDir"]) {
	SessionManager.prototype[name] = missing(`ctx.sessionManager.${name}`);
}

const managers = new WeakMap();

/** Returns the manager of an extension's session. */
function managerOf(binding) {
	let manager = managers.get(binding);
	if (manager === undefined) {
		manager = new SessionManager(binding);
		managers.set(binding, manager);
	}
	return manager;
}

/** Functions that fill the log of a new session, by number. */
const setups = new Map();
let nextSetup = 1;

function addSetup(binding, setup) {
	const number = nextSetup++;
	setups.set(number, { binding, setup });
	return number;
}

/** Fills the log of the session that takes the place of another. */
async function setUp(number) {
	const { binding, setup } = setups.get(number);
	setups.delete(number);
	await setup(managerOf(require("pi:api").successorOf(binding)));
}

module.exports = { SessionManager, managerOf, addSetup, setUp };
