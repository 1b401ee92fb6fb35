// node:fs: the sync and callback forms of the file functions, streams and watchers.

const native = require("native:fs");
const { operations, readArguments } = require("pi:fs-operations");
const { constants, toPath, toOptions } = require("pi:fs-arguments");
const { validateFunction } = require("pi:node-errors");
const { missing } = require("pi:missing");

/** Runs an operation and returns its result. */
function runSync(operation) {
	return operation.convert(native.sync(operation.name, ...operation.args));
}

/** Runs an operation and calls back. Errors in its arguments are thrown. */
function runLater(operation, callback, extra = []) {
	native.start(operation.name, ...operation.args).then(
		(value) => callback(null, operation.convert(value), ...extra),
		(error) => callback(error),
	);
}

const fs = {};

for (const name of Object.keys(operations)) {
	const describe = operations[name];
	fs[`${name}Sync`] = { [`${name}Sync`]: (...args) => runSync(describe(...args)) }[`${name}Sync`];
	fs[name] = {
		[name](...args) {
			const callback = args.findLast((arg) => typeof arg === "function");
			validateFunction(callback, "cb");
			runLater(describe(...args.slice(0, args.lastIndexOf(callback))), callback);
		},
	}[name];
}

/** Errors that mean that a file is not there. */
const ABSENT = new Set(["ENOENT", "ENOTDIR"]);

function statSync(name) {
	return (path, options) => {
		try {
			return runSync(operations[name](path, options));
		} catch (error) {
			if (options?.throwIfNoEntry === false && ABSENT.has(error.code)) return undefined;
			throw error;
		}
	};
}

Object.assign(fs, {
	constants,
	F_OK: constants.F_OK,
	R_OK: constants.R_OK,
	W_OK: constants.W_OK,
	X_OK: constants.X_OK,

	statSync: statSync("stat"),
	lstatSync: statSync("lstat"),

	existsSync(path) {
		try {
			return native.sync("exists", toPath(path)) === 1;
		} catch {
			return false;
		}
	},
	exists(path, callback) {
		native.start("exists", toPath(path)).then((found) => callback(found === 1), () => callback(false));
	},

	/** Calls back with the buffer, too. */
	read(fd, ...rest) {
		const callback = rest.pop();
		validateFunction(callback, "cb");
		const args = readArguments(...rest);
		runLater(operations.read(fd, args.buffer, args), callback, [args.buffer]);
	},
	write(fd, data, ...rest) {
		const callback = rest.pop();
		validateFunction(callback, "cb");
		runLater(operations.write(fd, data, ...rest), callback, [data]);
	},

	opendirSync: (path, options) => new (require("pi:fs-directories").Dir)(path, fs.readdirSync(path, { ...toOptions(options), withFileTypes: true })),
	opendir(path, options, callback = options) {
		fs.readdir(path, { ...toOptions(options), withFileTypes: true }, (error, entries) => {
			if (error) callback(error);
			else callback(null, new (require("pi:fs-directories").Dir)(path, entries));
		});
	},
	cpSync: (from, to, options) => require("pi:fs-directories").copySync(fs, from, to, options),
	cp(from, to, options, callback = options) {
		require("node:fs/promises").cp(from, to, typeof options === "function" ? undefined : options).then(() => callback(null), callback);
	},
	globSync: (pattern, options) => require("pi:fs-directories").globSync(fs, pattern, options),
	glob(pattern, options, callback = options) {
		Promise.resolve().then(() => fs.globSync(pattern, typeof options === "function" ? undefined : options)).then((found) => callback(null, found), callback);
	},
	mkdtempDisposableSync(prefix, options) {
		const path = fs.mkdtempSync(prefix, options);
		const remove = () => fs.rmSync(path, { recursive: true, force: true });
		return { path, remove, [Symbol.dispose]: remove };
	},
	openAsBlob: async (path, options) => new Blob([fs.readFileSync(path)], options),
	lchmod: missing("fs.lchmod"),
	lchmodSync: missing("fs.lchmodSync"),

	createReadStream: (path, options) => new fs.ReadStream(path, options),
	createWriteStream: (path, options) => new fs.WriteStream(path, options),

	watch: (path, options, listener) => require("pi:fs-watch").watch(path, options, listener),
	watchFile: (path, options, listener) => require("pi:fs-watch").watchFile(path, options, listener),
	unwatchFile: (path, listener) => require("pi:fs-watch").unwatchFile(path, listener),
	_toUnixTimestamp: (time) => Number(time),
});
fs.realpathSync.native = fs.realpathSync;
fs.realpath.native = fs.realpath;

/** Functions that call back with two results become promises of an object with both. */
const CUSTOM = Symbol.for("nodejs.util.promisify.custom");
Object.defineProperty(fs.exists, CUSTOM, { value: async (path) => fs.existsSync(path) });
Object.defineProperty(fs.read, CUSTOM, {
	value: (...args) => new Promise((resolve, reject) => fs.read(...args, (error, bytesRead, buffer) => (error ? reject(error) : resolve({ bytesRead, buffer })))),
});
Object.defineProperty(fs.write, CUSTOM, {
	value: (...args) => new Promise((resolve, reject) => fs.write(...args, (error, bytesWritten, buffer) => (error ? reject(error) : resolve({ bytesWritten, buffer })))),
});

/** Exports whose modules are loaded when they are used. */
const LAZY = {
	promises: () => require("node:fs/promises"),
	ReadStream: () => require("pi:fs-streams").ReadStream,
	WriteStream: () => require("pi:fs-streams").WriteStream,
	FileReadStream: () => require("pi:fs-streams").ReadStream,
	FileWriteStream: () => require("pi:fs-streams").WriteStream,
	Stats: () => require("pi:fs-stats").Stats,
	Dirent: () => require("pi:fs-stats").Dirent,
	Dir: () => require("pi:fs-directories").Dir,
	FSWatcher: () => require("pi:fs-watch").FSWatcher,
};
for (const name of Object.keys(LAZY)) {
	Object.defineProperty(fs, name, { enumerable: true, configurable: true, get: LAZY[name] });
}

module.exports = fs;
