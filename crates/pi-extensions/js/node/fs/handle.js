// FileHandle: an open file of node:fs/promises.

const { EventEmitter } = require("node:events");
const { operations } = require("pi:fs-operations");
const { codeError } = require("pi:node-errors");

class FileHandle extends EventEmitter {
	#fd;
	#run;

	/** `run` runs an operation and returns a promise. */
	constructor(fd, run) {
		super();
		this.#fd = fd;
		this.#run = run;
	}

	get fd() {
		return this.#fd;
	}

	#operate(name, ...args) {
		if (this.#fd === -1) return Promise.reject(codeError(Error, "EBADF", "file closed"));
		return this.#run(operations[name](this.#fd, ...args));
	}

	async close() {
		if (this.#fd === -1) return;
		const fd = this.#fd;
		this.#fd = -1;
		await this.#run(operations.close(fd));
		this.emit("close");
	}
	async read(buffer, ...rest) {
		const target = ArrayBuffer.isView(buffer) ? buffer : (buffer?.buffer ?? Buffer.alloc(16384));
		const options = ArrayBuffer.isView(buffer) ? rest : [{ ...buffer }];
		const bytesRead = await this.#operate("read", target, ...options);
		return { bytesRead, buffer: target };
	}
	async readv(buffers, position) {
		return { bytesRead: await this.#operate("readv", buffers, position), buffers };
	}
	async write(data, ...rest) {
		return { bytesWritten: await this.#operate("write", data, ...rest), buffer: data };
	}
	async writev(buffers, position) {
		return { bytesWritten: await this.#operate("writev", buffers, position), buffers };
	}
	readFile(options) {
		return this.#operate("readFile", options);
	}
	writeFile(data, options) {
		return this.#operate("writeFile", data, options);
	}
	appendFile(data, options) {
		return this.#operate("appendFile", data, options);
	}
	stat(options) {
		return this.#operate("fstat", options);
	}
	truncate(length) {
		return this.#operate("ftruncate", length);
	}
	sync() {
		return this.#operate("fsync");
	}
	datasync() {
		return this.#operate("fdatasync");
	}
	utimes(accessed, modified) {
		return this.#operate("futimes", accessed, modified);
	}
	chmod(mode) {
		return this.#operate("fchmod", mode);
	}
	chown(user, group) {
		return this.#operate("fchown", user, group);
	}
	async *readLines(options) {
		yield* require("node:readline").createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
	}
	createReadStream(options) {
		return new (require("pi:fs-streams").ReadStream)("", { ...options, fd: this });
	}
	createWriteStream(options) {
		return new (require("pi:fs-streams").WriteStream)("", { ...options, fd: this });
	}
	readableWebStream() {
		return require("node:stream").Readable.toWeb(this.createReadStream());
	}
	async [Symbol.asyncDispose]() {
		await this.close();
	}
}

module.exports = { FileHandle };
