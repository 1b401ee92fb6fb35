// Streams of files: ReadStream and WriteStream.

const native = require("native:fs");
const { Readable, Writable } = require("node:stream");
const { toPath, toFlags, toMode, toBuffer } = require("pi:fs-arguments");

/** Returns options from an object or the name of an encoding. */
function optionsOf(options) {
	return typeof options === "string" ? { encoding: options } : (options ?? {});
}

/** Opens the file of a stream, unless it is open, and emits `open` and `ready`. */
function open(stream, options, flags, callback) {
	if (options.fd !== undefined && options.fd !== null) {
		stream.handle = typeof options.fd === "object" ? options.fd : undefined;
		stream.fd = typeof options.fd === "object" ? options.fd.fd : options.fd;
		callback();
		return;
	}
	native.start("open", toPath(stream.path), toFlags(options.flags, flags), toMode(options.mode, 0o666)).then(
		(fd) => {
			stream.fd = fd;
			callback();
			stream.emit("open", fd);
			stream.emit("ready");
		},
		(error) => callback(error),
	);
}

/** Closes the file of a stream. */
function close(stream, options, error, callback) {
	const { fd } = stream;
	if (typeof fd !== "number" || options.autoClose === false) return callback(error);
	stream.fd = null;
	const closing = stream.handle === undefined ? native.start("close", fd) : stream.handle.close();
	closing.then(() => callback(error), (other) => callback(error ?? other));
}

/** A class that also works as a function, as in Node. */
function callable(Class) {
	return new Proxy(Class, { apply: (target, _, args) => new target(...args) });
}

class ReadStream extends Readable {
	#options;
	#position;
	#left;

	constructor(path, value) {
		const options = optionsOf(value);
		super({ highWaterMark: 64 * 1024, ...options, read: undefined, construct: undefined });
		if (options.fd === undefined || options.fd === null) toPath(path);
		this.path = path;
		this.fd = null;
		this.bytesRead = 0;
		this.flags = options.flags ?? "r";
		this.start = options.start;
		this.end = options.end ?? Infinity;
		this.#options = options;
		this.#position = options.start ?? -1;
		this.#left = this.end === Infinity ? Infinity : this.end - (options.start ?? 0) + 1;
	}
	get pending() {
		return this.fd === null;
	}
	_construct(callback) {
		open(this, this.#options, "r", callback);
	}
	_read(size) {
		const count = Math.min(size, this.#left);
		if (count <= 0) {
			this.push(null);
			return;
		}
		native.start("read", this.fd, count, this.#position).then(
			(bytes) => {
				this.bytesRead += bytes.length;
				this.#left -= bytes.length;
				if (this.#position >= 0) this.#position += bytes.length;
				this.push(bytes.length === 0 ? null : toBuffer(bytes));
			},
			(error) => this.destroy(error),
		);
	}
	_destroy(error, callback) {
		close(this, this.#options, error, callback);
	}
	close(callback) {
		if (callback) this.once("close", callback);
		this.destroy();
	}
}

class WriteStream extends Writable {
	#options;
	#position;

	constructor(path, value) {
		const options = optionsOf(value);
		super({ ...options, write: undefined, writev: undefined, construct: undefined, decodeStrings: true });
		if (options.fd === undefined || options.fd === null) toPath(path);
		this.path = path;
		this.fd = null;
		this.bytesWritten = 0;
		this.flags = options.flags ?? "w";
		this.start = options.start;
		this.#options = options;
		this.#position = options.start ?? -1;
		if (options.encoding) this.setDefaultEncoding(options.encoding);
	}
	get pending() {
		return this.fd === null;
	}
	_construct(callback) {
		open(this, this.#options, this.start === undefined ? "w" : "r+", callback);
	}
	_write(chunk, _encoding, callback) {
		this.#writeAll(chunk).then(() => callback(), callback);
	}
	async #writeAll(chunk) {
		let rest = chunk;
		while (rest.length > 0) {
			const count = await native.start("write", this.fd, rest, this.#position);
			this.bytesWritten += count;
			if (this.#position >= 0) this.#position += count;
			rest = rest.subarray(count);
		}
	}
	_destroy(error, callback) {
		close(this, this.#options, error, callback);
	}
	close(callback) {
		if (callback) {
			if (this.closed) queueMicrotask(callback);
			else this.once("close", callback);
		}
		this.end();
	}
}

module.exports = { ReadStream: callable(ReadStream), WriteStream: callable(WriteStream) };
