// Writable streams of Node.

const { Buffer } = require("node:buffer");
const { codeError, invalidArgType } = require("pi:node-errors");
const base = require("pi:stream-base");
const { STATE, READ, WRITE, Stream, later, fail } = base;

/** Sets up the writing side of a stream. */
function initialize(stream, options) {
	stream[STATE] ??= base.createState(options);
	const isObjectMode = Boolean(options?.objectMode ?? options?.writableObjectMode);
	stream[WRITE] = {
		isObjectMode,
		mark: base.highWaterMark(options, "writable", isObjectMode),
		queue: [], length: 0, corked: 0,
		isWriting: false, needDrain: false, isEnding: false, isFinished: false, isFinalizing: false, pending: 0,
		encoding: options?.defaultEncoding ?? "utf8",
		decodeStrings: options?.decodeStrings !== false,
		endCallbacks: [],
	};
	if (typeof options?.write === "function") stream._write = options.write;
	if (typeof options?.writev === "function") stream._writev = options.writev;
	if (typeof options?.final === "function") stream._final = options.final;
	if (typeof options?.destroy === "function") stream._destroy = options.destroy;
	if (typeof options?.construct === "function") stream._construct = options.construct;
	if (options?.signal) require("pi:stream-tools").addAbortSignal(options.signal, stream);
	base.construct(stream, () => {
		pump(stream);
		maybeFinish(stream);
		if (stream[READ]?.flowing) stream.resume();
	});
}

class Writable extends Stream {
	constructor(options) {
		super(options);
		initialize(this, options);
	}
	static [Symbol.hasInstance](value) {
		return Function.prototype[Symbol.hasInstance].call(this, value) || (this === Writable && value?.[WRITE] !== undefined);
	}
	static fromWeb(stream, options) { return require("pi:stream-web-bridge").writableFromWeb(Writable, stream, options); }
	static toWeb(stream) { return require("pi:stream-web-bridge").writableToWeb(stream); }
}

/** Methods of the writing side, also of Duplex. */
const methods = {
	_write(chunk, encoding, callback) {
		if (typeof this._writev === "function") this._writev([{ chunk, encoding }], callback);
		else throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
	},

	write(chunk, encoding, callback) {
		const state = this[WRITE];
		if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
		const name = encoding ?? state.encoding;
		let data = chunk;
		if (data === null) throw codeError(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
		if (!state.isObjectMode) {
			if (typeof data === "string") {
				if (state.decodeStrings) data = Buffer.from(data, name);
			} else if (data instanceof Uint8Array) {
				if (!Buffer.isBuffer(data)) data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
			} else if (ArrayBuffer.isView(data)) data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
			else throw invalidArgType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
		}
		let error;
		if (state.isEnding) error = codeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
		else if (this[STATE].isDestroyed) error = codeError(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed");
		if (error !== undefined) {
			if (callback) later(callback, error);
			if (state.isEnding) fail(this, error);
			return false;
		}
		const length = state.isObjectMode ? 1 : data.length;
		state.length += length;
		state.pending++;
		const hasRoom = state.length < state.mark;
		if (!hasRoom) state.needDrain = true;
		state.queue.push({ chunk: data, encoding: typeof data === "string" ? name : "buffer", callback, length });
		pump(this);
		return hasRoom && !this[STATE].error && !this[STATE].isDestroyed;
	},

	end(chunk, encoding, callback) {
		const state = this[WRITE];
		if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
		else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
		let error;
		if (chunk !== undefined && chunk !== null) {
			if (state.isEnding) {
				error = codeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
				fail(this, error);
			} else this.write(chunk, encoding);
		}
		if (state.corked > 0) {
			state.corked = 1;
			this.uncork();
		}
		if (error === undefined) {
			if (state.isFinished) error = codeError(Error, "ERR_STREAM_ALREADY_FINISHED", "Cannot call end after a stream was finished");
			else if (this[STATE].isDestroyed) error = codeError(Error, "ERR_STREAM_DESTROYED", "Cannot call end after a stream was destroyed");
		}
		if (!state.isEnding && error === undefined) {
			state.isEnding = true;
			maybeFinish(this);
		}
		if (typeof callback === "function") {
			if (error !== undefined) later(callback, error);
			else if (state.isFinished) later(callback);
			else state.endCallbacks.push(callback);
		}
		return this;
	},

	cork() { this[WRITE].corked++; },
	uncork() {
		if (this[WRITE].corked === 0) return;
		this[WRITE].corked--;
		pump(this);
	},
	setDefaultEncoding(encoding) {
		this[WRITE].encoding = encoding;
		return this;
	},
};

const properties = {
	writable: {
		get() { return this._writableFlag !== false && !this[STATE].isDestroyed && !this[WRITE].isEnding && !this[STATE].error; },
		set(value) { this._writableFlag = Boolean(value); },
	},
	writableEnded: { get() { return this[WRITE].isEnding; } },
	writableFinished: { get() { return this[WRITE].isFinished; } },
	writableLength: { get() { return this[WRITE].length; } },
	writableHighWaterMark: { get() { return this[WRITE].mark; } },
	writableObjectMode: { get() { return this[WRITE].isObjectMode; } },
	writableCorked: { get() { return this[WRITE].corked; } },
	writableNeedDrain: { get() { return this[WRITE].needDrain && !this[WRITE].isEnding && !this[STATE].isDestroyed; } },
	writableAborted: { get() { return this[STATE].isDestroyed && !this[WRITE].isFinished; } },
	/** Names of Node's own state that packages look at. */
	_writableState: {
		get() {
			const { length, mark, isEnding, isFinished, isObjectMode, needDrain } = this[WRITE];
			return { length, highWaterMark: mark, ending: isEnding, ended: isEnding, finished: isFinished, objectMode: isObjectMode, needDrain, destroyed: this.destroyed, errored: this[STATE].error };
		},
	},
};

/** Adds the writing side to a prototype. */
function addWriting(prototype) {
	for (const name of Object.keys(methods)) Object.defineProperty(prototype, name, { value: methods[name], writable: true, configurable: true });
	for (const name of Object.keys(properties)) Object.defineProperty(prototype, name, { configurable: true, ...properties[name] });
}
addWriting(Writable.prototype);
base.addState(Writable.prototype);

/** Writes what waits, one operation at a time. */
function pump(stream) {
	while (writeNext(stream));
}

/** Starts the next write; returns true if it completed at once. */
function writeNext(stream) {
	const state = stream[WRITE];
	if (state.isWriting || state.corked > 0 || state.queue.length === 0) return false;
	if (stream[STATE].isDestroyed || stream[STATE].isConstructing) return false;
	const isMany = typeof stream._writev === "function" && state.queue.length > 1;
	const batch = isMany ? state.queue.splice(0) : [state.queue.shift()];
	state.isWriting = true;
	let isSync = true;
	let wasCalled = false;
	const done = (error) => {
		if (wasCalled) {
			fail(stream, codeError(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"));
			return;
		}
		wasCalled = true;
		state.isWriting = false;
		if (isSync) later(settle, stream, batch, error);
		else settle(stream, batch, error);
	};
	try {
		if (isMany) stream._writev(batch.map(({ chunk, encoding }) => ({ chunk, encoding })), done);
		else stream._write(batch[0].chunk, batch[0].encoding, done);
	} catch (error) {
		if (wasCalled) throw error;
		done(error);
		return false;
	}
	isSync = false;
	return wasCalled;
}

/** Completes a write: callbacks, `drain`, the next write. */
function settle(stream, batch, error) {
	const state = stream[WRITE];
	for (const one of batch) {
		state.length -= one.length;
		state.pending--;
	}
	if (error) {
		for (const one of batch) one.callback?.(error);
		failWaiting(stream, error);
		fail(stream, error);
		return;
	}
	for (const one of batch) one.callback?.(null);
	if (state.needDrain && state.length === 0 && !state.isEnding && !stream[STATE].isDestroyed) {
		state.needDrain = false;
		stream.emit("drain");
	}
	pump(stream);
	maybeFinish(stream);
}

function failWaiting(stream, error) {
	const state = stream[WRITE];
	for (const one of state.queue.splice(0)) {
		state.length -= one.length;
		state.pending--;
		one.callback?.(error);
	}
	for (const callback of state.endCallbacks.splice(0)) callback(error);
}

/** Emits `finish` when everything was written after `end`. */
function maybeFinish(stream) {
	const state = stream[WRITE];
	if (!state.isEnding || state.isFinished || state.isFinalizing || state.isWriting || state.pending > 0) return;
	if (stream[STATE].isDestroyed || stream[STATE].isConstructing || stream[STATE].error) return;
	state.isFinalizing = true;
	const finish = (error) => {
		if (state.isFinished) return;
		if (error) {
			for (const callback of state.endCallbacks.splice(0)) callback(error);
			fail(stream, error);
			return;
		}
		state.isFinished = true;
		for (const callback of state.endCallbacks.splice(0)) callback();
		stream.emit("finish");
		if (stream[STATE].autoDestroy && (stream[READ] === undefined || stream[READ].endEmitted || stream._readableFlag === false)) stream.destroy();
	};
	if (typeof stream._final !== "function") {
		later(finish);
		return;
	}
	later(() => {
		try {
			const result = stream._final((error) => later(finish, error));
			if (typeof result?.then === "function") result.then(() => finish(), finish);
		} catch (error) {
			finish(error);
		}
	});
}

/** Fails the writes that wait when a stream is destroyed. */
function abandon(stream, error) {
	if (stream[WRITE] === undefined) return;
	failWaiting(stream, error ?? codeError(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed"));
}

const destroyBase = Writable.prototype.destroy;
/** Destroys a stream with a writing side. */
function destroyWriting(error, callback) {
	if (!this[STATE].isDestroyed) later(() => abandon(this, error));
	return destroyBase.call(this, error, callback);
}
Writable.prototype.destroy = destroyWriting;

module.exports = { Writable, initialize, addWriting, destroyWriting };
