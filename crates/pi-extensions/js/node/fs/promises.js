// node:fs/promises: the promise forms of the file functions, and file handles.

const native = require("native:fs");
const { operations } = require("pi:fs-operations");
const { constants } = require("pi:fs-arguments");
const { missing } = require("pi:missing");

/** Runs an operation; errors in its arguments reject. */
async function run(operation) {
	return operation.convert(await native.start(operation.name, ...operation.args));
}

/** Functions that take the number of an open file are methods of file handles. */
const OF_DESCRIPTORS = new Set(["close", "read", "readv", "write", "writev", "fstat", "fsync", "fdatasync", "ftruncate", "futimes", "fchmod", "fchown"]);

const promises = { constants };
for (const name of Object.keys(operations)) {
	if (OF_DESCRIPTORS.has(name)) continue;
	const describe = operations[name];
	promises[name] = { async [name](...args) { return run(describe(...args)); } }[name];
}

Object.assign(promises, {
	async open(path, flags, mode) {
		const { FileHandle } = require("pi:fs-handle");
		return new FileHandle(await run(operations.open(path, flags, mode)), run);
	},
	async opendir(path, options) {
		const { Dir } = require("pi:fs-directories");
		return new Dir(path, await promises.readdir(path, { ...options, withFileTypes: true }));
	},
	cp: async (from, to, options) => require("pi:fs-directories").copy(promises, from, to, options),
	async *glob(pattern, options) {
		yield* require("node:fs").globSync(pattern, options);
	},
	watch: (path, options) => require("pi:fs-watch").watchEvents(path, options),
	async mkdtempDisposable(prefix, options) {
		const path = await promises.mkdtemp(prefix, options);
		const remove = () => promises.rm(path, { recursive: true, force: true });
		return { path, remove, [Symbol.asyncDispose]: remove };
	},
	lchmod: missing("fs.promises.lchmod"),
});

/** Content may come from a stream or an iterable. */
for (const name of ["writeFile", "appendFile"]) {
	const write = promises[name];
	promises[name] = {
		async [name](target, data, options) {
			const isWhole = typeof data === "string" || ArrayBuffer.isView(data);
			const isIterable = typeof data?.[Symbol.asyncIterator] === "function" || typeof data?.[Symbol.iterator] === "function";
			if (isWhole || !isIterable) return write(target, data, options);
			const encoding = typeof options === "string" ? options : options?.encoding;
			let next = name === "appendFile" ? "a" : (options?.flag ?? "w");
			for await (const chunk of data) {
				await write(target, typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk, { ...options, flag: next });
				next = "a";
			}
			if (next !== "a") await write(target, "", { flag: next });
		},
	}[name];
}

module.exports = promises;
