// Arguments of file functions: paths, flags, modes, times, encodings.

const { codeError, invalidArgType, invalidArgValue, outOfRange } = require("pi:node-errors");

const isDarwin = require("native:os").facts().platform === "darwin";

const constants = {
	F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1,
	COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
	UV_FS_COPYFILE_EXCL: 1, UV_FS_COPYFILE_FICLONE: 2, UV_FS_COPYFILE_FICLONE_FORCE: 4,
	UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2, UV_FS_O_FILEMAP: 0,
	UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4,
	UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7,
	S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o040000, S_IFCHR: 0o020000, S_IFBLK: 0o060000,
	S_IFIFO: 0o010000, S_IFLNK: 0o120000, S_IFSOCK: 0o140000,
	S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100,
	S_IRWXG: 0o070, S_IRGRP: 0o040, S_IWGRP: 0o020, S_IXGRP: 0o010,
	S_IRWXO: 0o007, S_IROTH: 0o004, S_IWOTH: 0o002, S_IXOTH: 0o001,
	O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2,
	...(isDarwin
		? { O_CREAT: 0x200, O_EXCL: 0x800, O_NOCTTY: 0x20000, O_TRUNC: 0x400, O_APPEND: 8, O_DIRECTORY: 0x100000, O_NOFOLLOW: 0x100, O_SYNC: 0x80, O_DSYNC: 0x400000, O_SYMLINK: 0x200000, O_NONBLOCK: 4 }
		: { O_CREAT: 0o100, O_EXCL: 0o200, O_NOCTTY: 0o400, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_DIRECTORY: 0o200000, O_NOATIME: 0o1000000, O_NOFOLLOW: 0o400000, O_SYNC: 0o4010000, O_DSYNC: 0o10000, O_DIRECT: 0o40000, O_NONBLOCK: 0o4000 }),
};

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC } = constants;
const FLAGS = {
	r: O_RDONLY, rs: O_RDONLY | O_SYNC, sr: O_RDONLY | O_SYNC,
	"r+": O_RDWR, "rs+": O_RDWR | O_SYNC, "sr+": O_RDWR | O_SYNC,
	w: O_TRUNC | O_CREAT | O_WRONLY, wx: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL, xw: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL,
	"w+": O_TRUNC | O_CREAT | O_RDWR, "wx+": O_TRUNC | O_CREAT | O_RDWR | O_EXCL, "xw+": O_TRUNC | O_CREAT | O_RDWR | O_EXCL,
	a: O_APPEND | O_CREAT | O_WRONLY, ax: O_APPEND | O_CREAT | O_WRONLY | O_EXCL, xa: O_APPEND | O_CREAT | O_WRONLY | O_EXCL,
	as: O_APPEND | O_CREAT | O_WRONLY | O_SYNC, sa: O_APPEND | O_CREAT | O_WRONLY | O_SYNC,
	"a+": O_APPEND | O_CREAT | O_RDWR, "ax+": O_APPEND | O_CREAT | O_RDWR | O_EXCL, "xa+": O_APPEND | O_CREAT | O_RDWR | O_EXCL,
	"as+": O_APPEND | O_CREAT | O_RDWR | O_SYNC, "sa+": O_APPEND | O_CREAT | O_RDWR | O_SYNC,
};

/** Returns a path for the host: a text or bytes. */
function toPath(value, name = "path") {
	if (typeof value === "string") {
		if (value.includes("\0")) throw invalidArgValue(name, value, "must be a string, Uint8Array, or URL without null bytes");
		return value;
	}
	if (value instanceof Uint8Array) {
		if (value.includes(0)) throw invalidArgValue(name, value, "must be a string, Uint8Array, or URL without null bytes");
		return value;
	}
	if (value !== null && typeof value === "object" && typeof value.href === "string" && typeof value.protocol === "string") {
		return toPath(require("node:url").fileURLToPath(value), name);
	}
	throw invalidArgType(name, "of type string or an instance of Buffer or URL", value);
}

function toFlags(value, fallback = "r") {
	const flags = value ?? fallback;
	if (typeof flags === "number") return flags;
	if (typeof flags === "string" && Object.hasOwn(FLAGS, flags)) return FLAGS[flags];
	throw invalidArgValue("flags", value);
}

function toMode(value, fallback) {
	if (value === undefined || value === null) return fallback;
	if (typeof value === "number") return value >>> 0;
	if (typeof value === "string" && /^[0-7]+$/.test(value)) return Number.parseInt(value, 8);
	throw invalidArgValue("mode", value, "must be a 32-bit unsigned integer or an octal string");
}

/** Returns seconds from a number, a text or a date. */
function toSeconds(value, name = "time") {
	if (value instanceof Date) return value.getTime() / 1000;
	const number = Number(value);
	if (!Number.isFinite(number)) throw invalidArgType(name, "of type number or an instance of Date", value);
	return number;
}

function toDescriptor(value) {
	if (typeof value !== "number") throw invalidArgType("fd", "of type number", value);
	if (!Number.isInteger(value) || value < 0 || value > 2147483647) throw outOfRange("fd", ">= 0 && <= 2147483647", value);
	return value;
}

/** Returns options from an object or the name of an encoding. */
function toOptions(value, defaults = {}) {
	if (value === undefined || value === null || typeof value === "function") return defaults;
	if (typeof value === "string") return { ...defaults, encoding: checkEncoding(value) };
	if (typeof value !== "object") throw invalidArgType("options", "of type string or an instance of Object", value);
	if (typeof value.encoding === "string" && value.encoding !== "buffer") checkEncoding(value.encoding);
	return { ...defaults, ...value };
}

function checkEncoding(encoding) {
	if (encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw invalidArgValue("encoding", encoding, "is invalid encoding");
	return encoding;
}

function isUtf8(encoding) {
	return typeof encoding === "string" && /^utf-?8$/i.test(encoding);
}

/** Returns bytes, or a text if its encoding is UTF-8, for the host. */
function toData(data, encoding) {
	if (typeof data === "string") return Buffer.from(data, encoding ?? "utf8");
	if (ArrayBuffer.isView(data)) return data;
	throw invalidArgType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

/** Returns a Buffer over the memory of bytes. */
function toBuffer(bytes) {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns a path in the encoding that the caller asked for. */
function encodePath(text, encoding) {
	if (text === undefined || encoding === undefined || isUtf8(encoding)) return text;
	const buffer = Buffer.from(text);
	return encoding === "buffer" ? buffer : buffer.toString(encoding);
}

/** Throws if a signal is aborted. */
function checkSignal(signal) {
	if (signal?.aborted) throw require("pi:node-errors").abortError(signal.reason);
}

module.exports = {
	constants, codeError, toPath, toFlags, toMode, toSeconds, toDescriptor, toOptions, toData, toBuffer, encodePath, isUtf8, checkSignal,
};
