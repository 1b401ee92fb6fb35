// Watching files: by events of the system, and by looking at them from time to time.

const native = require("native:fs");
const { EventEmitter } = require("node:events");
const { toPath, toBuffer } = require("pi:fs-arguments");
const { Stats } = require("pi:fs-stats");
const { invalidArgType } = require("pi:node-errors");

function textOf(path) {
	const value = toPath(path);
	return typeof value === "string" ? value : toBuffer(value).toString();
}

class FSWatcher extends EventEmitter {
	#ids = new Map();
	#isClosed = false;

	/** Starts a watch of one directory; `prefix` stands before the names of its events. */
	start(path, prefix, encode) {
		const id = native.watch(path);
		this.#ids.set(path, id);
		this.#follow(id, path, prefix, encode);
	}

	async #follow(id, path, prefix, encode) {
		for (;;) {
			const events = await native.nextEvents(id);
			if (!events) return;
			for (let at = 0; at + 1 < events.length && !this.#isClosed; at += 2) {
				const name = prefix === "" ? events[at + 1] : `${prefix}/${events[at + 1]}`;
				this.emit("change", events[at], encode(name));
				if (this.onNewName !== undefined) this.onNewName(`${path}/${events[at + 1]}`, name);
			}
		}
	}
	isWatching(path) {
		return this.#ids.has(path);
	}
	close() {
		if (this.#isClosed) return;
		this.#isClosed = true;
		for (const id of this.#ids.values()) native.unwatch(id);
		queueMicrotask(() => this.emit("close"));
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
	[Symbol.dispose]() {
		this.close();
	}
}

function watch(path, value, callback) {
	const listener = typeof value === "function" ? value : callback;
	const options = typeof value === "string" ? { encoding: value } : value !== null && typeof value === "object" ? value : {};
	const watcher = new FSWatcher();
	const encode = (name) => (options.encoding === "buffer" ? Buffer.from(name) : name);
	const root = textOf(path);
	watcher.start(root, "", encode);
	if (options.recursive) watchBelow(watcher, root, encode);
	if (listener !== undefined) watcher.on("change", listener);
	if (options.signal) {
		if (options.signal.aborted) watcher.close();
		else options.signal.addEventListener("abort", () => watcher.close(), { once: true });
	}
	return watcher;
}

/** Watches the directories below a directory, also those that appear. */
function watchBelow(watcher, root, encode) {
	const fs = require("node:fs");
	const add = (directory, prefix) => {
		if (watcher.isWatching(directory)) return;
		try {
			watcher.start(directory, prefix, encode);
			for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
				if (entry.isDirectory()) add(`${directory}/${entry.name}`, `${prefix}/${entry.name}`);
			}
		} catch {
			// The directory is gone again.
		}
	};
	for (const entry of fs.readdirSync(root, { withFileTypes: true })) {
		if (entry.isDirectory()) add(`${root}/${entry.name}`, entry.name);
	}
	watcher.onNewName = (path, name) => {
		if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()) add(path, name);
	};
}

/** Returns the events of a watch as an iterable. */
async function* watchEvents(path, options) {
	const waiting = [];
	let wake = () => {};
	let isClosed = false;
	const watcher = watch(path, { ...options, signal: undefined }, (eventType, filename) => {
		waiting.push({ eventType, filename });
		wake();
	});
	const stop = () => {
		isClosed = true;
		wake();
	};
	options?.signal?.addEventListener("abort", stop, { once: true });
	try {
		while (!isClosed && !options?.signal?.aborted) {
			if (waiting.length > 0) yield waiting.shift();
			else await new Promise((resolve) => { wake = resolve; });
		}
	} finally {
		watcher.close();
	}
	throw require("pi:node-errors").abortError(options?.signal?.reason);
}

/** Files that are looked at from time to time, by path. */
const polled = new Map();

class StatWatcher extends EventEmitter {
	#timer;
	#last;
	constructor(path, options) {
		super();
		this.options = options;
		this.#last = propertiesOf(path, options);
		this.#timer = setInterval(() => {
			const now = propertiesOf(path, options);
			const before = this.#last;
			this.#last = now;
			if (now.mtimeMs !== before.mtimeMs || now.size !== before.size || now.ino !== before.ino || now.nlink !== before.nlink) this.emit("change", now, before);
		}, options?.interval ?? 5007);
	}
	stop() {
		clearInterval(this.#timer);
		this.emit("stop");
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
}

/** Properties of a file; zeros if it does not exist. */
function propertiesOf(path, options) {
	return require("node:fs").statSync(path, { bigint: options?.bigint, throwIfNoEntry: false }) ?? new Stats(new Array(18).fill(0));
}

function watchFile(path, value, callback) {
	const listener = typeof value === "function" ? value : callback;
	if (typeof listener !== "function") throw invalidArgType("listener", "of type function", listener);
	const key = require("node:path").resolve(textOf(path));
	let watcher = polled.get(key);
	if (watcher === undefined) {
		watcher = new StatWatcher(key, typeof value === "object" ? value : undefined);
		polled.set(key, watcher);
	}
	watcher.on("change", listener);
	return watcher;
}

function unwatchFile(path, listener) {
	const key = require("node:path").resolve(textOf(path));
	const watcher = polled.get(key);
	if (watcher === undefined) return;
	if (listener === undefined) watcher.removeAllListeners("change");
	else watcher.removeListener("change", listener);
	if (watcher.listenerCount("change") === 0) {
		watcher.stop();
		polled.delete(key);
	}
}

module.exports = { FSWatcher, watch, watchEvents, watchFile, unwatchFile };
