// `SessionManager` for sessions other than the extension's own: in memory, or a file that is appended to.

const { buildContextEntries, buildSessionContext, buildSessionProjection, parseSessionEntries, pathTo } = require("pi:coding-agent/entries");
const { CURRENT_SESSION_VERSION, getAgentDir } = require("pi:coding-agent/config");
const { uuidv7 } = require("pi:ai/identity");
const { contentText } = require("pi:ai/transcript");

const fs = () => require("node:fs");
const paths = () => require("node:path");

/** Returns the directory in which pi keeps the sessions of a project. */
function defaultDirectory(cwd) {
	return paths().join(getAgentDir(), "sessions", `--${cwd.replace(/^\//, "").replace(/[/\\:]/g, "-")}--`);
}

/** Returns the session files of a directory, newest first. */
function filesIn(directory) {
	let names;
	try {
		names = fs().readdirSync(directory);
	} catch {
		return [];
	}
	const files = names.filter((name) => name.endsWith(".jsonl")).map((name) => paths().join(directory, name));
	return files.map((path) => ({ path, time: fs().statSync(path).mtimeMs })).sort((left, right) => right.time - left.time).map((file) => file.path);
}

function headerOf(path) {
	const first = parseSessionEntries(fs().readFileSync(path, "utf8"))[0];
	return first?.type === "session" ? first : undefined;
}

/** Describes a session file for a list. */
function describe(path) {
	const entries = parseSessionEntries(fs().readFileSync(path, "utf8"));
	const header = entries[0];
	if (header?.type !== "session") return undefined;
	const messages = entries.filter((entry) => entry.type === "message").map((entry) => entry.message);
	const texts = messages.filter((message) => message.role === "user" || message.role === "assistant").map((message) => contentText(message.content));
	const first = messages.find((message) => message.role === "user");
	return {
		path, id: header.id, cwd: header.cwd ?? "", name: entries.findLast((entry) => entry.type === "session_info")?.name,
		parentSessionPath: header.parentSession, created: new Date(header.timestamp), modified: fs().statSync(path).mtime,
		messageCount: messages.length, firstMessage: first === undefined ? "(no messages)" : contentText(first.content), allMessagesText: texts.join(" "),
	};
}

class SessionManager {
	#header;
	#entries = [];
	#byId = new Map();
	#labels = new Map();
	#leafId = null;
	#file;
	#directory;
	#isStored = false;

	/** Not for callers: use the static functions. */
	constructor(cwd, directory, file, entries, options) {
		this.#directory = directory;
		this.#file = file;
		const header = entries?.[0]?.type === "session" ? entries[0] : undefined;
		this.#header = header ?? SessionManager.#newHeader(cwd, options);
		this.#isStored = header !== undefined && file !== undefined;
		for (const entry of entries ?? []) if (entry.type !== "session") this.#index(entry);
		if (file === undefined && directory !== undefined) this.#file = this.#newFile();
	}

	static #newHeader(cwd, options) {
		const header = { type: "session", version: CURRENT_SESSION_VERSION, id: options?.id ?? uuidv7(), timestamp: new Date().toISOString(), cwd };
		return options?.parentSession === undefined ? header : { ...header, parentSession: options.parentSession };
	}

	#newFile() {
		return paths().join(this.#directory, `${this.#header.timestamp.replace(/[:.]/g, "-")}_${this.#header.id}.jsonl`);
	}

	#index(entry) {
		this.#entries.push(entry);
		this.#byId.set(entry.id, entry);
		this.#leafId = entry.id;
		if (entry.type === "label") {
			if (entry.label) this.#labels.set(entry.targetId, entry.label);
			else this.#labels.delete(entry.targetId);
		}
	}

	#newId() {
		for (;;) {
			const id = uuidv7().slice(-8);
			if (!this.#byId.has(id)) return id;
		}
	}

	#append(fields) {
		const { type, ...rest } = fields;
		const entry = { type, id: this.#newId(), parentId: this.#leafId, timestamp: new Date().toISOString() };
		for (const [name, value] of Object.entries(rest)) if (value !== undefined) entry[name] = value;
		this.#index(entry);
		this.#store(entry);
		return entry.id;
	}

	/** Writes to the file once the session has an answer: a session without one is not kept. */
	#store(entry) {
		if (this.#file === undefined) return;
		if (this.#isStored) {
			fs().appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
			return;
		}
		if (!this.#entries.some((one) => one.type === "message" && one.message.role === "assistant")) return;
		fs().mkdirSync(paths().dirname(this.#file), { recursive: true });
		const lines = [this.#header, ...this.#entries].map((one) => `${JSON.stringify(one)}\n`);
		fs().writeFileSync(this.#file, lines.join(""), { flag: "wx", mode: 0o600 });
		this.#isStored = true;
	}

	newSession(options) {
		this.#header = SessionManager.#newHeader(this.#header.cwd, options);
		this.#entries = [];
		this.#byId.clear();
		this.#labels.clear();
		this.#leafId = null;
		this.#isStored = false;
		if (this.#directory !== undefined) this.#file = this.#newFile();
		return this.#file;
	}
	isPersisted() {
		return this.#file !== undefined;
	}
	getCwd() {
		return this.#header.cwd;
	}
	getSessionDir() {
		return this.#directory ?? "";
	}
	usesDefaultSessionDir() {
		return this.#directory === defaultDirectory(this.#header.cwd);
	}
	getSessionId() {
		return this.#header.id;
	}
	getSessionFile() {
		return this.#file;
	}
	appendMessage(message) {
		return this.#append({ type: "message", message });
	}
	appendThinkingLevelChange(thinkingLevel) {
		return this.#append({ type: "thinking_level_change", thinkingLevel });
	}
	appendModelChange(provider, modelId) {
		return this.#append({ type: "model_change", provider, modelId });
	}
	appendUsage(kind, provider, model, usage, note) {
		return this.getEntry(this.#append({ type: "usage", kind, provider, model, usage, note }));
	}
	appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
		return this.#append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, fromHook, usage });
	}
	appendCustomEntry(customType, data) {
		return this.#append({ type: "custom", customType, data });
	}
	appendSessionInfo(name) {
		return this.#append({ type: "session_info", name: name.trim() });
	}
	appendCustomMessageEntry(customType, content, display, details) {
		return this.#append({ type: "custom_message", customType, content, display, details });
	}
	appendContextEdit(targetId, replacement) {
		return this.#append({ type: "context_edit", targetId, replacement });
	}
	appendLabelChange(targetId, label) {
		if (!this.#byId.has(targetId)) throw new Error(`Entry ${targetId} not found`);
		return this.#append({ type: "label", targetId, label });
	}
	getSessionName() {
		return this.#entries.findLast((entry) => entry.type === "session_info")?.name || undefined;
	}
	getLeafId() {
		return this.#leafId;
	}
	getLeafEntry() {
		return this.#leafId === null ? undefined : this.#byId.get(this.#leafId);
	}
	getEntry(id) {
		return this.#byId.get(id);
	}
	getChildren(parentId) {
		return this.#entries.filter((entry) => entry.parentId === parentId);
	}
	getLabel(id) {
		return this.#labels.get(id);
	}
	getBranch(fromId) {
		return pathTo(this.#entries, fromId ?? this.#leafId);
	}
	buildContextEntries() {
		return buildContextEntries(this.#entries, this.#leafId);
	}
	buildSessionProjection() {
		return buildSessionProjection(this.#entries, this.#leafId);
	}
	buildSessionContext() {
		return buildSessionContext(this.#entries, this.#leafId);
	}
	getHeader() {
		return this.#header;
	}
	getEntryCount() {
		return this.#entries.length;
	}
	getEntries() {
		return [...this.#entries];
	}
	getTree() {
		const nodes = new Map(this.#entries.map((entry) => [entry.id, { entry, children: [], label: this.#labels.get(entry.id) }]));
		const roots = [];
		for (const node of nodes.values()) {
			const parent = nodes.get(node.entry.parentId);
			(parent?.children ?? roots).push(node);
		}
		return roots;
	}
	branch(fromId) {
		if (!this.#byId.has(fromId)) throw new Error(`Entry ${fromId} not found`);
		this.#leafId = fromId;
	}
	resetLeaf() {
		this.#leafId = null;
	}
	branchWithSummary(fromId, summary, details, fromHook, usage) {
		if (fromId !== null && !this.#byId.has(fromId)) throw new Error(`Entry ${fromId} not found`);
		this.#leafId = fromId;
		return this.#append({ type: "branch_summary", fromId: fromId ?? "root", summary, details, fromHook, usage });
	}

	static create(cwd, directory, options) {
		return new SessionManager(cwd, directory ?? defaultDirectory(cwd), undefined, undefined, options);
	}
	static open(path, directory, cwd) {
		const entries = parseSessionEntries(fs().readFileSync(path, "utf8"));
		const header = entries[0]?.type === "session" ? entries[0] : undefined;
		if (header !== undefined && (header.version ?? 1) !== CURRENT_SESSION_VERSION) {
			throw new Error(`${path} has session version ${header.version ?? 1}; open it once with pi to migrate it`);
		}
		return new SessionManager(cwd ?? header?.cwd ?? process.cwd(), directory ?? paths().dirname(path), path, entries);
	}
	static continueRecent(cwd, directory) {
		const place = directory ?? defaultDirectory(cwd);
		const recent = filesIn(place).find((path) => headerOf(path)?.cwd === cwd);
		return recent === undefined ? SessionManager.create(cwd, place) : SessionManager.open(recent, place);
	}
	static inMemory(cwd = process.cwd(), options, entries) {
		return new SessionManager(cwd, undefined, undefined, entries, options);
	}
	static findById(cwd, id, directory) {
		return filesIn(directory ?? defaultDirectory(cwd)).find((path) => headerOf(path)?.id === id);
	}
	static async list(cwd, directory) {
		return filesIn(directory ?? defaultDirectory(cwd)).map(describe).filter((one) => one !== undefined && (directory === undefined || one.cwd === cwd));
	}
	static async listAll(directory) {
		if (typeof directory === "string") return filesIn(directory).map(describe).filter((one) => one !== undefined);
		const root = paths().join(getAgentDir(), "sessions");
		const names = fs().existsSync(root) ? fs().readdirSync(root) : [];
		const all = names.flatMap((name) => filesIn(paths().join(root, name))).map(describe).filter((one) => one !== undefined);
		return all.sort((left, right) => right.modified - left.modified);
	}
}

exports.SessionManager = SessionManager;
