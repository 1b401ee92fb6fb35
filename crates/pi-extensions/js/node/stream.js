// node:stream: the classes, and what works on any of them.

const base = require("pi:stream-base");
const { Stream, STATE, READ, WRITE } = base;
const { Readable } = require("pi:stream-readable");
const { Writable, initialize, addWriting, destroyWriting } = require("pi:stream-writable");
const { codeError } = require("pi:node-errors");
const tools = require("pi:stream-tools");

class Duplex extends Readable {
	constructor(options) {
		super(options);
		this.allowHalfOpen = options?.allowHalfOpen !== false;
		initialize(this, options);
		if (options?.readable === false) {
			this.readable = false;
			this[READ].isEnded = this[READ].endEmitted = true;
		}
		if (options?.writable === false) {
			this.writable = false;
			this[WRITE].isEnding = this[WRITE].isFinished = true;
		}
	}
	static from(source) { return tools.duplexFrom(Duplex, source); }
	static fromWeb(pair, options) { return require("pi:stream-web-bridge").duplexFromWeb(Duplex, pair, options); }
	static toWeb(stream) { return require("pi:stream-web-bridge").duplexToWeb(stream); }
}
Duplex.prototype._hasWriting = true;
addWriting(Duplex.prototype);
Duplex.prototype.destroy = destroyWriting;

class Transform extends Duplex {
	/** The callback of a write whose result did not fit. */
	#waiting = null;
	constructor(options) {
		super(options);
		if (typeof options?.transform === "function") this._transform = options.transform;
		if (typeof options?.flush === "function") this._flush = options.flush;
	}
	_transform() { throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented"); }
	_write(chunk, encoding, callback) {
		const state = this[READ];
		const before = state.length;
		const done = (error, value) => {
			if (error) return callback(error);
			if (value !== undefined && value !== null) this.push(value);
			if (state.isEnded || before === state.length || state.length < state.mark) return callback();
			this.#waiting = callback;
			return undefined;
		};
		const result = this._transform(chunk, encoding, done);
		if (typeof result?.then === "function") result.then((value) => done(null, value), done);
	}
	_read() {
		const callback = this.#waiting;
		this.#waiting = null;
		callback?.();
	}
	_final(callback) {
		if (typeof this._flush !== "function") {
			this.push(null);
			callback();
			return;
		}
		const done = (error, value) => {
			if (error) return this.destroy(error);
			if (value !== undefined && value !== null) this.push(value);
			this.push(null);
			return callback();
		};
		const result = this._flush(done);
		if (typeof result?.then === "function") result.then((value) => done(null, value), done);
	}
}

class PassThrough extends Transform {
	_transform(chunk, _encoding, callback) { callback(null, chunk); }
}

require("pi:stream-operators").install(Readable);

module.exports = Object.assign(Stream, {
	Stream, Readable, Writable, Duplex, Transform, PassThrough,
	pipeline: tools.pipeline,
	finished: tools.finished,
	compose: tools.compose,
	addAbortSignal: tools.addAbortSignal,
	isReadable: (stream) => (stream?.readable === undefined ? null : Boolean(stream.readable)),
	isWritable: (stream) => (stream?.writable === undefined ? null : Boolean(stream.writable)),
	isErrored: (stream) => Boolean(stream?.[STATE]?.error),
	isDisturbed: Readable.isDisturbed,
	destroy: (stream, error) => stream.destroy(error),
	getDefaultHighWaterMark: base.getDefaultHighWaterMark,
	setDefaultHighWaterMark: base.setDefaultHighWaterMark,
	_uint8ArrayToBuffer: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
	_isUint8Array: (value) => value instanceof Uint8Array,
});
Object.defineProperty(Stream, "promises", { get: () => require("node:stream/promises"), enumerable: true, configurable: true });
