// Properties of files and entries of directories.

const { constants, toBuffer } = require("pi:fs-arguments");

const TYPES = {
	isFile: constants.S_IFREG,
	isDirectory: constants.S_IFDIR,
	isSymbolicLink: constants.S_IFLNK,
	isFIFO: constants.S_IFIFO,
	isSocket: constants.S_IFSOCK,
	isCharacterDevice: constants.S_IFCHR,
	isBlockDevice: constants.S_IFBLK,
};

const NAMES = ["dev", "mode", "nlink", "uid", "gid", "rdev", "blksize", "ino", "size", "blocks"];
const TIMES = ["atime", "mtime", "ctime", "birthtime"];

class Stats {
	/** Takes the numbers of the host: see `src/native/fs/metadata.rs`. */
	constructor(numbers) {
		if (numbers === undefined) return;
		NAMES.forEach((name, at) => {
			this[name] = numbers[at];
		});
		TIMES.forEach((name, at) => {
			const [seconds, nanoseconds] = [numbers[NAMES.length + 2 * at], numbers[NAMES.length + 2 * at + 1]];
			this[`${name}Ms`] = seconds * 1000 + nanoseconds / 1e6;
		});
	}
}
for (const name of Object.keys(TYPES)) {
	Object.defineProperty(Stats.prototype, name, {
		configurable: true,
		writable: true,
		value: { [name]() { return (Number(this.mode) & constants.S_IFMT) === TYPES[name]; } }[name],
	});
}
for (const name of TIMES) {
	Object.defineProperty(Stats.prototype, name, {
		configurable: true,
		enumerable: true,
		get() {
			const value = new Date(Math.floor(Number(this[`${name}Ms`]) + 0.5));
			Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
			return value;
		},
		set(value) {
			Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
		},
	});
}

class BigIntStats extends Stats {
	constructor(numbers) {
		super();
		NAMES.forEach((name, at) => {
			this[name] = BigInt(numbers[at]);
		});
		TIMES.forEach((name, at) => {
			const nanoseconds = BigInt(numbers[NAMES.length + 2 * at]) * 1_000_000_000n + BigInt(numbers[NAMES.length + 2 * at + 1]);
			this[`${name}Ns`] = nanoseconds;
			this[`${name}Ms`] = nanoseconds / 1_000_000n;
		});
	}
}

/** Returns the properties in the form that the caller asked for. */
function toStats(numbers, options) {
	return options?.bigint ? new BigIntStats(numbers) : new Stats(numbers);
}

class StatFs {
	constructor(numbers, isBig) {
		["type", "bsize", "blocks", "bfree", "bavail", "files", "ffree"].forEach((name, at) => {
			this[name] = isBig ? BigInt(numbers[at]) : numbers[at];
		});
	}
}

class Dirent {
	#kind;
	constructor(name, parentPath, kind) {
		this.name = name;
		this.parentPath = parentPath;
		this.#kind = kind;
	}
	get path() {
		return this.parentPath;
	}
	static {
		for (const name of Object.keys(TYPES)) {
			Object.defineProperty(this.prototype, name, {
				configurable: true,
				writable: true,
				value: { [name]() { return this.#kind === TYPES[name]; } }[name],
			});
		}
	}
}

/** Returns the entries of a directory in the form that the caller asked for. */
function toEntries(entries, directory, options) {
	const base = typeof directory === "string" ? directory : toBuffer(directory).toString();
	const encode = (text) => (options.encoding === "buffer" ? Buffer.from(text) : text);
	return entries.map(([name, kind, parent]) => {
		if (options.withFileTypes) {
			const place = parent === "" ? base : require("node:path").join(base, parent);
			return new Dirent(encode(name), place, kind);
		}
		return encode(parent === "" ? name : `${parent}/${name}`);
	});
}

module.exports = { Stats, BigIntStats, StatFs, Dirent, toStats, toEntries };
