// Whole directories: Dir, copies of trees, patterns.

const path = require("node:path");
const { codeError } = require("pi:node-errors");

/** An open directory. */
class Dir {
	#entries;
	#isClosed = false;
	constructor(path, entries) {
		this.path = path;
		this.#entries = entries;
	}
	readSync() {
		if (this.#isClosed) throw codeError(Error, "ERR_DIR_CLOSED", "Directory handle was closed");
		return this.#entries.shift() ?? null;
	}
	read(callback) {
		if (callback === undefined) return Promise.resolve().then(() => this.readSync());
		Promise.resolve().then(() => this.readSync()).then((entry) => callback(null, entry), callback);
	}
	closeSync() {
		if (this.#isClosed) throw codeError(Error, "ERR_DIR_CLOSED", "Directory handle was closed");
		this.#isClosed = true;
	}
	close(callback) {
		if (callback === undefined) return Promise.resolve().then(() => this.closeSync());
		Promise.resolve().then(() => this.closeSync()).then(() => callback(null), callback);
	}
	async *entries() {
		while (!this.#isClosed) {
			const entry = this.readSync();
			if (entry === null) break;
			yield entry;
		}
		this.#isClosed = true;
	}
	[Symbol.asyncIterator]() {
		return this.entries();
	}
	async [Symbol.asyncDispose]() {
		this.#isClosed = true;
	}
	[Symbol.dispose]() {
		this.#isClosed = true;
	}
}

function text(value) {
	return value instanceof Uint8Array ? Buffer.from(value).toString() : typeof value === "string" ? value : require("node:url").fileURLToPath(value);
}

/** The steps of a copy, as a generator: it yields calls, and receives their results. */
function* steps(source, target, options) {
	const found = yield [options.dereference ? "stat" : "lstat", source];
	if (options.filter !== undefined && !(yield options.filter(source, target))) return;
	const existing = yield ["exists", target];
	if (found.isDirectory()) {
		if (!options.recursive) throw codeError(Error, "ERR_FS_EISDIR", `Recursive option not enabled, cannot copy a directory: ${source}`);
		if (path.resolve(target).startsWith(`${path.resolve(source)}/`)) throw codeError(Error, "ERR_FS_CP_EINVAL", `cannot copy ${source} to a subdirectory of self ${target}`);
		yield ["mkdir", target, { recursive: true, mode: found.mode & 0o777 }];
		for (const name of yield ["readdir", source]) yield* steps(path.join(source, name), path.join(target, name), options);
		return;
	}
	if (existing) {
		if (options.errorOnExist && options.force === false) throw codeError(Error, "ERR_FS_CP_EEXIST", `Target already exists: ${target}`);
		if (options.force === false) return;
		yield ["unlink", target];
	} else yield ["mkdir", path.dirname(target), { recursive: true }];
	if (found.isSymbolicLink()) {
		const link = yield ["readlink", source];
		yield ["symlink", options.verbatimSymlinks ? link : path.resolve(path.dirname(source), link), target];
		return;
	}
	yield ["copyFile", source, target, options.mode ?? 0];
	if (options.preserveTimestamps) yield ["utimes", target, found.atime, found.mtime];
}

function copySync(fs, source, target, options = {}) {
	const work = steps(text(source), text(target), options);
	let result = work.next();
	while (!result.done) {
		const [name, ...args] = Array.isArray(result.value) ? result.value : [];
		result = work.next(name === undefined ? result.value : fs[`${name}Sync`](...args));
	}
}

async function copy(promises, source, target, options = {}) {
	const work = steps(text(source), text(target), options);
	const exists = (path) => promises.lstat(path).then(() => true, () => false);
	let result = work.next();
	while (!result.done) {
		if (!Array.isArray(result.value)) result = work.next(await result.value);
		else {
			const [name, ...args] = result.value;
			result = work.next(await (name === "exists" ? exists(...args) : promises[name](...args)));
		}
	}
}

/** Returns the files below a directory that match patterns. */
function globSync(fs, patterns, options = {}) {
	const cwd = options.cwd === undefined ? process.cwd() : text(options.cwd);
	const found = new Map();
	const isExcluded = typeof options.exclude === "function"
		? options.exclude
		: (name) => (options.exclude ?? []).some((pattern) => path.matchesGlob(name, pattern));
	for (const pattern of [patterns].flat()) {
		const isAbsolute = path.isAbsolute(pattern);
		const parts = pattern.split("/");
		const special = parts.findIndex((part) => /[*?[{]/.test(part));
		if (special === -1) {
			if (fs.existsSync(path.resolve(cwd, pattern))) found.set(pattern, undefined);
			continue;
		}
		const base = parts.slice(0, special).join("/") || (isAbsolute ? "/" : ".");
		const root = path.resolve(cwd, base);
		if (!fs.existsSync(root)) continue;
		const isDeep = pattern.includes("**") || parts.length > special + 1;
		for (const entry of fs.readdirSync(root, { withFileTypes: true, recursive: isDeep })) {
			const full = path.join(entry.parentPath, entry.name);
			const name = isAbsolute ? full : path.relative(cwd, full);
			if (path.matchesGlob(name, pattern) && !isExcluded(options.withFileTypes ? entry : name)) found.set(name, entry);
		}
	}
	return options.withFileTypes ? [...found.values()] : [...found.keys()];
}

module.exports = { Dir, copySync, copy, globSync };
