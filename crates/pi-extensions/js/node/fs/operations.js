// File functions, each once: `node:fs` has three forms of them, made from this table.
//
// An entry takes the arguments without the callback, and returns the operation of the host with
// its arguments, and a function that converts the result.

const {
	toPath, toFlags, toMode, toSeconds, toDescriptor, toOptions, toData, toBuffer, encodePath, isUtf8, checkSignal,
} = require("pi:fs-arguments");
const { toStats, toEntries, StatFs } = require("pi:fs-stats");
const { codeError, invalidArgType } = require("pi:node-errors");

const same = (value) => value;
const nothing = () => undefined;

/** Describes a call of the host. */
function call(name, args, convert = same) {
	return { name, args, convert };
}

/** Returns the number of a file handle or of an open file; undefined for a path. */
function descriptorOf(value) {
	if (typeof value === "number") return toDescriptor(value);
	if (value !== null && typeof value === "object" && typeof value.fd === "number" && !(value instanceof Uint8Array)) return value.fd;
	return undefined;
}

function decode(bytes, encoding) {
	const buffer = toBuffer(bytes);
	return encoding === undefined || encoding === null || encoding === "buffer" ? buffer : buffer.toString(encoding);
}

/** Arguments of `read`: buffer, offset, length, position, or an object with these. */
function readArguments(buffer, offset, length, position) {
	let options = { buffer, offset, length, position };
	if (offset !== null && typeof offset === "object") options = { buffer, ...offset };
	else if (buffer !== null && typeof buffer === "object" && !ArrayBuffer.isView(buffer)) options = { buffer: Buffer.alloc(16384), ...buffer };
	if (!ArrayBuffer.isView(options.buffer)) throw invalidArgType("buffer", "an instance of Buffer, TypedArray, or DataView", options.buffer);
	const start = options.offset ?? 0;
	const count = options.length ?? options.buffer.byteLength - start;
	if (count < 0 || start < 0 || start + count > options.buffer.byteLength) {
		throw codeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "length" is out of range. It must be <= ${options.buffer.byteLength - start}. Received ${count}`);
	}
	const place = options.position === undefined || options.position === null ? -1 : Number(options.position);
	return { buffer: options.buffer, offset: start, length: count, position: place };
}

/** Arguments of `write`: bytes with offset, length and position, or a text with position and encoding. */
function writeArguments(data, ...rest) {
	if (typeof data === "string") {
		const [position, encoding] = rest;
		return { bytes: Buffer.from(data, encoding ?? "utf8"), position: position ?? -1 };
	}
	if (!ArrayBuffer.isView(data)) throw invalidArgType("buffer", "of type string or an instance of Buffer, TypedArray, or DataView", data);
	const options = rest[0] !== null && typeof rest[0] === "object" ? rest[0] : { offset: rest[0], length: rest[1], position: rest[2] };
	const offset = options.offset ?? 0;
	const length = options.length ?? data.byteLength - offset;
	return { bytes: new Uint8Array(data.buffer, data.byteOffset + offset, length), position: options.position ?? -1 };
}

function writeFile(target, data, value, flag) {
	const options = toOptions(value, {});
	checkSignal(options.signal);
	const bytes = toData(data, options.encoding);
	const descriptor = descriptorOf(target);
	if (descriptor !== undefined) return call("write", [descriptor, bytes, -1], nothing);
	return call("writeFile", [toPath(target), toFlags(options.flag, flag), toMode(options.mode, 0o666), bytes, options.flush === true], nothing);
}

const operations = {
	readFile(target, value) {
		const options = toOptions(value, {});
		checkSignal(options.signal);
		const descriptor = descriptorOf(target);
		if (descriptor !== undefined) return call("readOpenFile", [descriptor], (bytes) => decode(bytes, options.encoding));
		const args = [toPath(target), toFlags(options.flag, "r"), 0];
		if (isUtf8(options.encoding)) return call("readText", args);
		return call("readFile", args, (bytes) => decode(bytes, options.encoding));
	},
	writeFile: (target, data, options) => writeFile(target, data, options, "w"),
	appendFile: (target, data, options) => writeFile(target, data, options, "a"),
	open: (path, flags, mode) => call("open", [toPath(path), toFlags(flags), toMode(mode, 0o666)]),
	close: (fd) => call("close", [toDescriptor(fd)], nothing),
	read(fd, ...rest) {
		const { buffer, offset, length, position } = readArguments(...rest);
		return call("read", [toDescriptor(fd), length, position], (bytes) => {
			new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(bytes, offset);
			return bytes.length;
		});
	},
	write(fd, data, ...rest) {
		const { bytes, position } = writeArguments(data, ...rest);
		return call("write", [toDescriptor(fd), bytes, position]);
	},
	writev(fd, buffers, position) {
		return call("write", [toDescriptor(fd), Buffer.concat(buffers.map((one) => toBuffer(one))), position ?? -1]);
	},
	readv(fd, buffers, position) {
		const length = buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
		return call("read", [toDescriptor(fd), length, position ?? -1], (bytes) => {
			let at = 0;
			for (const buffer of buffers) {
				const part = bytes.subarray(at, at + buffer.byteLength);
				new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(part);
				at += part.length;
			}
			return bytes.length;
		});
	},
	truncate: (path, length) => {
		const descriptor = descriptorOf(path);
		return descriptor === undefined ? call("truncate", [toPath(path), length ?? 0], nothing) : call("ftruncate", [descriptor, length ?? 0], nothing);
	},
	ftruncate: (fd, length) => call("ftruncate", [toDescriptor(fd), length ?? 0], nothing),
	fsync: (fd) => call("fsync", [toDescriptor(fd)], nothing),
	fdatasync: (fd) => call("fdatasync", [toDescriptor(fd)], nothing),

	stat: (path, options) => call("stat", [toPath(path)], (numbers) => toStats(numbers, options)),
	lstat: (path, options) => call("lstat", [toPath(path)], (numbers) => toStats(numbers, options)),
	fstat: (fd, options) => call("fstat", [toDescriptor(fd)], (numbers) => toStats(numbers, options)),
	statfs: (path, options) => call("statfs", [toPath(path)], (numbers) => new StatFs(numbers, options?.bigint)),
	access: (path, mode) => call("access", [toPath(path), mode ?? 0], nothing),
	chmod: (path, mode) => call("chmod", [toPath(path), toMode(mode, 0)], nothing),
	fchmod: (fd, mode) => call("fchmod", [toDescriptor(fd), toMode(mode, 0)], nothing),
	chown: (path, user, group) => call("chown", [toPath(path), user, group], nothing),
	lchown: (path, user, group) => call("lchown", [toPath(path), user, group], nothing),
	fchown: (fd, user, group) => call("fchown", [toDescriptor(fd), user, group], nothing),
	utimes: (path, accessed, modified) => call("utimes", [toPath(path), toSeconds(accessed, "atime"), toSeconds(modified, "mtime")], nothing),
	lutimes: (path, accessed, modified) => call("lutimes", [toPath(path), toSeconds(accessed, "atime"), toSeconds(modified, "mtime")], nothing),
	futimes: (fd, accessed, modified) => call("futimes", [toDescriptor(fd), toSeconds(accessed, "atime"), toSeconds(modified, "mtime")], nothing),

	mkdir(path, value) {
		const options = value !== null && typeof value === "object" ? value : { mode: value };
		return call("mkdir", [toPath(path), options.recursive === true, toMode(options.mode, 0o777)]);
	},
	mkdtemp(prefix, value) {
		const { encoding } = toOptions(value, {});
		return call("mkdtemp", [toPath(prefix, "prefix")], (path) => encodePath(path, encoding));
	},
	readdir(path, value) {
		const options = toOptions(value, {});
		const directory = toPath(path);
		return call("readdir", [directory, options.recursive === true], (entries) => toEntries(entries, directory, options));
	},
	rename: (from, to) => call("rename", [toPath(from, "oldPath"), toPath(to, "newPath")], nothing),
	link: (from, to) => call("link", [toPath(from, "existingPath"), toPath(to, "newPath")], nothing),
	symlink(target, path) {
		const text = toPath(target, "target");
		return call("symlink", [typeof text === "string" ? text : toBuffer(text).toString(), toPath(path)], nothing);
	},
	readlink(path, value) {
		const { encoding } = toOptions(value, {});
		return call("readlink", [toPath(path)], (text) => encodePath(text, encoding));
	},
	realpath(path, value) {
		const { encoding } = toOptions(value, {});
		return call("realpath", [toPath(path)], (text) => encodePath(text, encoding));
	},
	copyFile: (from, to, mode) => call("copyFile", [toPath(from, "src"), toPath(to, "dest"), mode ?? 0], nothing),
	unlink: (path) => call("unlink", [toPath(path)], nothing),
	rmdir(path, options) {
		if (options?.recursive) return operations.rm(path, { recursive: true, force: true });
		return call("rmdir", [toPath(path)], nothing);
	},
	rm(path, options) {
		return call("rm", [toPath(path), options?.recursive === true, options?.force === true, options?.maxRetries ?? 0, options?.retryDelay ?? 100], nothing);
	},
};

module.exports = { operations, readArguments };
