// Readable streams of Node.

const { Buffer } = require("node:buffer");
const { StringDecoder } = require("node:string_decoder");
const { codeError, invalidArgType } = require("pi:node-errors");
const base = require("pi:stream-base");
const { STATE, READ, WRITE, Stream, later, fail } = base;

class Readable extends Stream {
	constructor(options) {
		super(options);
		this[STATE] ??= base.createState(options);
		const isObjectMode = Boolean(options?.objectMode ?? options?.readableObjectMode);
		this[READ] = {
			isObjectMode,
			mark: base.highWaterMark(options, "readable", isObjectMode),
			chunks: [], length: 0,
			/** null until someone chose, then true or false. */
			flowing: null,
			isReading: false, isEnded: false, endEmitted: false, isFlowScheduled: false, isReadScheduled: false,
			needReadable: false, hasReadableListener: false, didRead: false,
			decoder: null, encoding: null, pipes: [], awaiting: new Set(),
		};
		if (typeof options?.read === "function") this._read = options.read;
		if (typeof options?.destroy === "function") this._destroy = options.destroy;
		if (typeof options?.construct === "function") this._construct = options.construct;
		if (options?.encoding) this.setEncoding(options.encoding);
		if (options?.signal) require("pi:stream-tools").addAbortSignal(options.signal, this);
		if (!this._hasWriting) base.construct(this, () => begin(this));
	}

	_read() { throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented"); }

	push(chunk, encoding) { return add(this, chunk, encoding, false); }
	unshift(chunk, encoding) { return add(this, chunk, encoding, true); }

	read(size) {
		const state = this[READ];
		if (state.isEnded && state.length === 0) {
			endSoon(this);
			return null;
		}
		let count = size === undefined || Number.isNaN(size) ? -1 : Math.trunc(size);
		if (count > state.mark) state.mark = nextPower(count);
		if (count === 0) {
			if (state.length >= state.mark && state.mark > 0 && !state.isEnded) {
				emitReadable(this);
				return null;
			}
			fetchMore(this);
			return null;
		}
		const wanted = count < 0 ? (state.flowing && state.length > 0 && !state.isObjectMode ? firstLength(state) : state.length) : count;
		if (wanted > state.length && !state.isEnded && count > 0) {
			state.needReadable = true;
			fetchMore(this);
			return null;
		}
		if (state.length - wanted < state.mark || state.length === 0) fetchMore(this);
		const chunk = take(state, count);
		if (chunk === null) {
			state.needReadable = !state.isEnded;
			return null;
		}
		state.didRead = true;
		if (state.length === 0) {
			if (!state.isEnded) state.needReadable = true;
			else endSoon(this);
		}
		if (!state.isDestroyed) this.emit("data", chunk);
		return chunk;
	}

	setEncoding(encoding) {
		const state = this[READ];
		state.decoder = new StringDecoder(encoding);
		state.encoding = state.decoder.encoding;
		const text = state.chunks.map((chunk) => state.decoder.write(chunk)).join("");
		state.chunks = text === "" ? [] : [text];
		state.length = text.length;
		return this;
	}

	on(name, listener) {
		const result = super.on(name, listener);
		const state = this[READ];
		if (name === "data") {
			state.hasReadableListener = this.listenerCount("readable") > 0;
			if (state.flowing !== false) this.resume();
		} else if (name === "readable" && !state.endEmitted && !state.hasReadableListener) {
			state.hasReadableListener = state.needReadable = true;
			state.flowing = false;
			if (state.length > 0) emitReadable(this);
			else if (!state.isReading) later(() => this.read(0));
		}
		return result;
	}

	removeListener(name, listener) {
		const result = super.removeListener(name, listener);
		if (name === "readable") later(() => updateFlow(this));
		return result;
	}

	removeAllListeners(...args) {
		const result = super.removeAllListeners(...args);
		if (args.length === 0 || args[0] === "readable") later(() => updateFlow(this));
		return result;
	}

	resume() {
		const state = this[READ];
		if (!state.flowing) {
			state.flowing = !state.hasReadableListener;
			flow(this);
		}
		state.isPaused = false;
		return this;
	}

	pause() {
		if (this[READ].flowing !== false) {
			this[READ].flowing = false;
			this.emit("pause");
		}
		this[READ].isPaused = true;
		return this;
	}

	isPaused() { return this[READ].isPaused === true || this[READ].flowing === false; }

	pipe(target, options) {
		const state = this[READ];
		const mayEnd = options?.end !== false && target !== globalThis.process?.stdout && target !== globalThis.process?.stderr;
		const onData = (chunk) => {
			if (target.write(chunk) === false) {
				state.awaiting.add(target);
				this.pause();
				target.once("drain", onDrain);
			}
		};
		const onDrain = () => {
			state.awaiting.delete(target);
			if (state.awaiting.size === 0 && this.listenerCount("data") > 0) this.resume();
		};
		const onEnd = () => target.end();
		const onUnpipe = (source) => { if (source === this) clean(); };
		const onError = (error) => {
			this.unpipe(target);
			target.removeListener("error", onError);
			if (target.listenerCount("error") === 0) {
				if (target[STATE]) fail(target, error);
				else target.emit("error", error);
			}
		};
		const onClose = () => this.unpipe(target);
		const clean = () => {
			this.removeListener("data", onData);
			this.removeListener("end", onEnd);
			target.removeListener("drain", onDrain);
			target.removeListener("unpipe", onUnpipe);
			target.removeListener("error", onError);
			target.removeListener("close", onClose);
			if (state.awaiting.delete(target) && state.awaiting.size === 0 && this.listenerCount("data") > 0) this.resume();
		};
		state.pipes.push(target);
		this.on("data", onData);
		if (mayEnd) {
			if (state.endEmitted) later(onEnd);
			else this.once("end", onEnd);
		}
		target.on("unpipe", onUnpipe);
		target.prependListener("error", onError);
		target.once("close", onClose);
		target.emit("pipe", this);
		if (target.writableNeedDrain === true) {
			state.awaiting.add(target);
			this.pause();
			target.once("drain", onDrain);
		} else if (!state.flowing) this.resume();
		return target;
	}

	unpipe(target) {
		const state = this[READ];
		const removed = target === undefined ? state.pipes : state.pipes.filter((one) => one === target);
		state.pipes = target === undefined ? [] : state.pipes.filter((one) => one !== target);
		for (const one of removed) one.emit("unpipe", this, { hasUnpiped: false });
		if (removed.length > 0 && state.pipes.length === 0) this.pause();
		return this;
	}

	wrap(stream) {
		stream.on("data", (chunk) => { if (!this.push(chunk)) stream.pause?.(); });
		stream.on("end", () => this.push(null));
		stream.on("error", (error) => this.destroy(error));
		stream.on("close", () => this.destroy());
		this._read = () => stream.resume?.();
		return this;
	}

	[Symbol.asyncIterator]() { return iterate(this, true); }
	iterator(options) { return iterate(this, options?.destroyOnReturn !== false); }

	get readable() { return this._readableFlag !== false && !this[STATE].isDestroyed && !this[READ].endEmitted && !this[STATE].error; }
	set readable(value) { this._readableFlag = Boolean(value); }
	get readableFlowing() { return this[READ].flowing; }
	get readableHighWaterMark() { return this[READ].mark; }
	get readableLength() { return this[READ].length; }
	get readableObjectMode() { return this[READ].isObjectMode; }
	get readableEncoding() { return this[READ].encoding; }
	get readableEnded() { return this[READ].endEmitted; }
	get readableDidRead() { return this[READ].didRead; }
	get readableAborted() { return this[STATE].isDestroyed && !this[READ].endEmitted; }
	/** Names of Node's own state that packages look at. */
	get _readableState() {
		const { flowing, length, mark, isEnded, endEmitted, isObjectMode } = this[READ];
		return { flowing, length, highWaterMark: mark, ended: isEnded, endEmitted, objectMode: isObjectMode, destroyed: this.destroyed };
	}

	static from(iterable, options) { return require("pi:stream-tools").from(Readable, iterable, options); }
	static fromWeb(stream, options) { return require("pi:stream-web-bridge").readableFromWeb(Readable, stream, options); }
	static toWeb(stream) { return require("pi:stream-web-bridge").readableToWeb(stream); }
	static isDisturbed(stream) { return stream?.[READ]?.didRead === true || stream?.locked === true || stream?.destroyed === true; }
}
base.addState(Readable.prototype);

function nextPower(count) {
	return count >= 2 ** 30 ? 2 ** 30 : 2 ** Math.ceil(Math.log2(count));
}

function firstLength(state) {
	return state.chunks[0].length;
}

/** Reads what was asked for while the stream was being made. */
function begin(stream) {
	const state = stream[READ];
	if (state.flowing) flow(stream);
	else if (state.hasReadableListener) stream.read(0);
}

/** Asks the source for more, if it is not busy. */
function fetchMore(stream) {
	const state = stream[READ];
	const { isDestroyed, isConstructing, error } = stream[STATE];
	if (state.isReading || state.isEnded || isDestroyed || isConstructing || error) return;
	state.isReading = true;
	if (state.length === 0) state.needReadable = true;
	try {
		stream._read(state.mark);
	} catch (error) {
		fail(stream, error);
	}
}

/** Adds a chunk at the end or, for unshift, at the front. */
function add(stream, input, encoding, isFront) {
	const state = stream[READ];
	if (!isFront) state.isReading = false;
	let chunk = input;
	if (chunk === null) {
		if (!state.isEnded) end(stream);
		return false;
	}
	if (!state.isObjectMode) {
		if (typeof chunk === "string") {
			if (!(state.encoding !== null && (encoding ?? "utf8") === state.encoding)) chunk = Buffer.from(chunk, encoding);
		} else if (chunk instanceof Uint8Array) {
			if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
		} else if (chunk !== undefined) {
			fail(stream, invalidArgType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk));
			return false;
		}
		if (chunk === undefined || chunk.length === 0) {
			if (!isFront) scheduleRead(stream);
			return state.length < state.mark;
		}
	}
	if (isFront ? state.endEmitted : state.isEnded) {
		fail(stream, codeError(Error, isFront ? "ERR_STREAM_UNSHIFT_AFTER_END_EVENT" : "ERR_STREAM_PUSH_AFTER_EOF", isFront ? "stream.unshift() after end event" : "stream.push() after EOF"));
		return false;
	}
	if (stream[STATE].isDestroyed) return false;
	if (state.decoder !== null && !isFront && typeof chunk !== "string") {
		chunk = state.decoder.write(chunk);
		if (!state.isObjectMode && chunk.length === 0) {
			scheduleRead(stream);
			return state.length < state.mark;
		}
	}
	if (state.flowing && state.length === 0 && !isFront && state.inFlow !== true && stream.listenerCount("data") > 0 && state.sync !== true) {
		state.didRead = true;
		stream.emit("data", chunk);
	} else {
		state.length += state.isObjectMode ? 1 : chunk.length;
		if (isFront) state.chunks.unshift(chunk);
		else state.chunks.push(chunk);
		if (state.needReadable) emitReadable(stream);
	}
	scheduleRead(stream);
	return !state.isEnded && (state.length < state.mark || state.length === 0);
}

/** Reads ahead up to the mark, after the current operation. */
function scheduleRead(stream) {
	const state = stream[READ];
	if (state.isReadScheduled) return;
	state.isReadScheduled = true;
	later(() => {
		state.isReadScheduled = false;
		if (!state.isReading && !state.isEnded && (state.length < state.mark || (state.flowing && state.length === 0))) {
			if (state.flowing !== null || state.hasReadableListener || state.length < state.mark) fetchMore(stream);
		}
		if (state.flowing) flow(stream);
	});
}

/** The source has ended. */
function end(stream) {
	const state = stream[READ];
	state.isEnded = true;
	const rest = state.decoder?.end();
	if (rest) {
		state.chunks.push(rest);
		state.length += state.isObjectMode ? 1 : rest.length;
	}
	if (state.flowing) flow(stream);
	else {
		state.needReadable = false;
		emitReadable(stream);
	}
	if (state.length === 0 && state.flowing) endSoon(stream);
}

function emitReadable(stream) {
	const state = stream[READ];
	state.needReadable = false;
	if (state.isReadableScheduled) return;
	state.isReadableScheduled = true;
	later(() => {
		state.isReadableScheduled = false;
		if (!stream[STATE].isDestroyed && !stream[STATE].error && (state.length > 0 || state.isEnded)) stream.emit("readable");
		state.needReadable = !state.flowing && !state.isEnded && state.length <= state.mark;
		if (state.flowing) flow(stream);
	});
}

function updateFlow(stream) {
	const state = stream[READ];
	state.hasReadableListener = stream.listenerCount("readable") > 0;
	if (!state.hasReadableListener && stream.listenerCount("data") > 0 && !state.isPaused) stream.resume();
	else if (!state.hasReadableListener && state.flowing === false && !state.isPaused) state.flowing = null;
}

/** Passes chunks to `data` listeners until the stream is paused or empty. */
function flow(stream) {
	const state = stream[READ];
	if (state.isFlowScheduled) return;
	state.isFlowScheduled = true;
	later(() => {
		state.isFlowScheduled = false;
		if (!state.resumed && state.flowing) {
			state.resumed = true;
			stream.emit("resume");
		}
		if (!state.flowing) return;
		if (!state.isReading) stream.read(0);
		state.inFlow = true;
		try {
			while (state.flowing && stream.read() !== null);
		} finally {
			state.inFlow = false;
		}
		if (state.flowing && !state.isReading && !state.isEnded) stream.read(0);
	});
}

/** Removes and returns `count` bytes, a whole chunk of objects, or everything for -1. */
function take(state, count) {
	if (state.length === 0) return null;
	if (state.isObjectMode) {
		state.length--;
		return state.chunks.shift();
	}
	const isAll = count < 0 ? !state.flowing : count >= state.length;
	if (isAll) {
		if (count > state.length && !state.isEnded) return null;
		const all = join(state.chunks, state);
		state.chunks = [];
		state.length = 0;
		return all;
	}
	if (count < 0) {
		const chunk = state.chunks.shift();
		state.length -= chunk.length;
		return chunk;
	}
	const parts = [];
	let left = count;
	while (left > 0) {
		const chunk = state.chunks[0];
		if (chunk.length <= left) {
			parts.push(state.chunks.shift());
			left -= chunk.length;
		} else {
			parts.push(chunk.slice(0, left));
			state.chunks[0] = chunk.slice(left);
			left = 0;
		}
	}
	state.length -= count;
	return join(parts, state);
}

function join(chunks, state) {
	if (chunks.length === 1) return chunks[0];
	return state.decoder !== null ? chunks.join("") : Buffer.concat(chunks);
}

/** Emits `end` when everything was read. */
function endSoon(stream) {
	const state = stream[READ];
	if (state.endEmitted || state.isEndScheduled) return;
	state.isEndScheduled = true;
	later(() => {
		state.isEndScheduled = false;
		if (state.endEmitted || state.length > 0 || stream[STATE].error) return;
		state.endEmitted = true;
		stream.emit("end");
		const writing = stream[WRITE];
		if (writing !== undefined && !stream.allowHalfOpen && !writing.isEnding) stream.end();
		else if (stream[STATE].autoDestroy && (writing === undefined || writing.isFinished || !stream.writable)) stream.destroy();
	});
}

async function* iterate(stream, destroyOnReturn) {
	let wake;
	let failure;
	let isClosed = false;
	const notify = () => { wake?.(); wake = undefined; };
	const onReadable = () => notify();
	const onError = (error) => { failure = error; notify(); };
	const onClose = () => { isClosed = true; notify(); };
	stream.on("readable", onReadable);
	stream.on("error", onError);
	stream.on("end", onClose);
	stream.on("close", onClose);
	if (stream.errored) failure = stream.errored;
	if (stream.closed || stream.readableEnded) isClosed = true;
	let isFinished = false;
	try {
		for (;;) {
			const chunk = stream.destroyed ? null : stream.read();
			if (chunk !== null) {
				yield chunk;
				continue;
			}
			if (failure !== undefined) throw failure;
			if (isClosed) {
				if (!stream.readableEnded) throw codeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close");
				isFinished = true;
				return;
			}
			await new Promise((resolve) => { wake = resolve; });
		}
	} catch (error) {
		stream.destroy(error === failure ? undefined : null);
		throw error;
	} finally {
		stream.removeListener("readable", onReadable);
		if ((destroyOnReturn || failure !== undefined) && !isFinished) stream.destroy();
		// An error that comes later must not be reported as unhandled.
		if (isFinished) stream.removeListener("error", onError);
		stream.removeListener("end", onClose);
		stream.removeListener("close", onClose);
	}
}

module.exports = { Readable };
