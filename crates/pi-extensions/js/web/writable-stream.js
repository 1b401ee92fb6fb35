// WritableStream, TransformStream and the queuing strategies.

const { ReadableStream, strategyOf, deferred } = require("pi:readable-stream");

let stateOf;

class WritableStreamDefaultController {
	#state;
	#abort = new AbortController();
	constructor(state) { this.#state = state; }
	get signal() { return this.#abort.signal; }
	error(reason) { errorStream(this.#state, reason); }
	static abort(controller, reason) { controller.#abort.abort(reason); }
}
const abortSignal = WritableStreamDefaultController.abort;
delete WritableStreamDefaultController.abort;

function desiredSize(state) {
	if (state.status === "errored" || state.status === "erroring") return null;
	if (state.status === "closed") return 0;
	return state.mark - state.size;
}

function updateReady(state) {
	const { writer } = state;
	if (writer === undefined) return;
	const isFull = state.status === "writable" && !state.closeRequested && desiredSize(state) <= 0;
	if (isFull && writer.isReady) {
		writer.ready = deferred();
		writer.isReady = false;
	} else if (!isFull && !writer.isReady) {
		writer.isReady = true;
		writer.ready.resolve();
	}
}

function errorStream(state, reason) {
	if (state.status !== "writable") return;
	state.status = "errored";
	state.reason = reason;
	for (const one of state.queue.splice(0)) one.reject(reason);
	state.size = 0;
	if (state.writer !== undefined) {
		if (state.writer.isReady) state.writer.ready = deferred();
		state.writer.isReady = true;
		state.writer.ready.reject(reason);
	}
	state.closed.reject(reason);
}

/** Passes the next chunk, or the end, to the sink. */
function advance(state) {
	if (!state.isStarted || state.isBusy || state.queue.length === 0 || state.status !== "writable") return;
	const entry = state.queue[0];
	state.isBusy = true;
	let result;
	try {
		result = entry.isClose ? state.sink.close?.() : state.sink.write?.(entry.chunk, state.controller);
	} catch (error) {
		result = Promise.reject(error);
	}
	Promise.resolve(result).then(() => {
		state.isBusy = false;
		if (state.status !== "writable") {
			entry.resolve();
			return;
		}
		state.queue.shift();
		state.size -= entry.size;
		if (entry.isClose) {
			state.status = "closed";
			state.closed.resolve();
		}
		entry.resolve();
		updateReady(state);
		advance(state);
	}, (error) => {
		state.isBusy = false;
		if (state.queue[0] === entry) state.queue.shift();
		entry.reject(error);
		errorStream(state, error);
	});
}

function push(state, entry) {
	const result = deferred();
	state.queue.push({ ...entry, resolve: result.resolve, reject: result.reject });
	state.size += entry.size;
	updateReady(state);
	advance(state);
	return result.promise;
}

function writeChunk(state, chunk) {
	if (state.status === "errored") return Promise.reject(state.reason);
	if (state.closeRequested || state.status === "closed") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
	let size;
	try {
		size = Number(state.sizeOf(chunk));
	} catch (error) {
		errorStream(state, error);
		return Promise.reject(error);
	}
	return push(state, { chunk, size, isClose: false });
}

function closeStream(state) {
	if (state.status === "errored") return Promise.reject(state.reason);
	if (state.closeRequested || state.status === "closed") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
	state.closeRequested = true;
	return push(state, { size: 0, isClose: true });
}

async function abortStream(state, reason) {
	if (state.status !== "writable") return;
	abortSignal(state.controller, reason);
	errorStream(state, reason);
	await state.sink.abort?.(reason);
}

class WritableStreamDefaultWriter {
	#stream;
	#entry;
	constructor(stream) {
		const state = stateOf(stream);
		if (state.writer !== undefined) throw Object.assign(new TypeError("Invalid state: WritableStream is locked"), { code: "ERR_INVALID_STATE" });
		this.#stream = stream;
		this.#entry = state.writer = { ready: deferred(), isReady: false };
		if (state.status === "errored") {
			this.#entry.isReady = true;
			this.#entry.ready.reject(state.reason);
		} else updateReady(state);
	}
	#state() {
		if (this.#stream === undefined) throw new TypeError("Invalid state: Writer is not bound to a WritableStream");
		return stateOf(this.#stream);
	}
	get closed() { return this.#stream === undefined ? Promise.reject(new TypeError("Invalid state: Writer has been released")) : stateOf(this.#stream).closed.promise; }
	get ready() { return this.#entry.ready.promise; }
	get desiredSize() { return desiredSize(this.#state()); }
	async write(chunk) { return writeChunk(this.#state(), chunk); }
	async close() { return closeStream(this.#state()); }
	async abort(reason) { return abortStream(this.#state(), reason); }
	releaseLock() {
		if (this.#stream === undefined) return;
		stateOf(this.#stream).writer = undefined;
		this.#stream = undefined;
	}
}

class WritableStream {
	#state;
	constructor(sink = {}, strategy = {}) {
		const { mark, size } = strategyOf(strategy, 1);
		const state = (this.#state = {
			status: "writable", reason: undefined, queue: [], size: 0, mark, sizeOf: size, sink, writer: undefined,
			isStarted: false, isBusy: false, closeRequested: false, closed: deferred(),
		});
		state.controller = new WritableStreamDefaultController(state);
		Promise.resolve(sink.start?.(state.controller)).then(() => {
			state.isStarted = true;
			advance(state);
		}, (error) => errorStream(state, error));
	}
	static {
		stateOf = (stream) => stream.#state;
	}
	get locked() { return this.#state.writer !== undefined; }
	getWriter() { return new WritableStreamDefaultWriter(this); }
	abort(reason) {
		return this.locked ? Promise.reject(new TypeError("Invalid state: WritableStream is locked")) : abortStream(this.#state, reason);
	}
	close() {
		return this.locked ? Promise.reject(new TypeError("Invalid state: WritableStream is locked")) : closeStream(this.#state);
	}
}

class TransformStreamDefaultController {
	#readable;
	#fail;
	constructor(readable, fail) {
		this.#readable = readable;
		this.#fail = fail;
	}
	get desiredSize() { return this.#readable().desiredSize; }
	enqueue(chunk) { this.#readable().enqueue(chunk); }
	error(reason) { this.#fail(reason); }
	terminate() {
		this.#readable().close();
		this.#fail(new TypeError("Invalid state: TransformStream has been terminated"), true);
	}
}

class TransformStream {
	#readable;
	#writable;
	constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
		let source;
		let sink;
		let started;
		// True until the reader asks for more, so that a slow reader slows down the writer.
		let isFull = true;
		let room = deferred();
		const open = () => {
			isFull = false;
			room.resolve();
		};
		const fail = (reason, isClosed) => {
			if (!isClosed) source.error(reason);
			sink.error(reason);
			open();
		};
		const output = {
			get desiredSize() { return source.desiredSize; },
			close: () => source.close(),
			enqueue(chunk) {
				if (source.desiredSize <= 1 && !isFull) {
					isFull = true;
					room = deferred();
				}
				source.enqueue(chunk);
			},
		};
		const controller = new TransformStreamDefaultController(() => output, fail);
		const guard = async (action) => {
			try {
				return await action();
			} catch (error) {
				fail(error);
				throw error;
			}
		};
		this.#readable = new ReadableStream({
			start(readableController) { source = readableController; },
			pull: open,
			cancel(reason) {
				sink.error(reason);
				open();
				return transformer.cancel?.(reason);
			},
		}, { highWaterMark: 0, ...readableStrategy });
		this.#writable = new WritableStream({
			start(writableController) {
				sink = writableController;
				started = guard(() => transformer.start?.(controller));
				return started;
			},
			async write(chunk) {
				if (isFull) await room.promise;
				await guard(() => (transformer.transform === undefined ? controller.enqueue(chunk) : transformer.transform(chunk, controller)));
			},
			async close() {
				await guard(() => transformer.flush?.(controller));
				try {
					source.close();
				} catch {
					// The transformer has terminated the stream.
				}
			},
			abort(reason) {
				source.error(reason);
				return transformer.cancel?.(reason);
			},
		}, writableStrategy);
		started.catch(() => {});
	}
	get readable() { return this.#readable; }
	get writable() { return this.#writable; }
}

class CountQueuingStrategy {
	constructor({ highWaterMark }) { this.highWaterMark = highWaterMark; }
	get size() { return () => 1; }
}

class ByteLengthQueuingStrategy {
	constructor({ highWaterMark }) { this.highWaterMark = highWaterMark; }
	get size() { return (chunk) => chunk.byteLength; }
}
for (const [type, name] of [[WritableStream, "WritableStream"], [TransformStream, "TransformStream"]]) {
	Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
}

module.exports = {
	WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController,
	TransformStream, TransformStreamDefaultController, CountQueuingStrategy, ByteLengthQueuingStrategy,
	finishedOf: (stream) => stateOf(stream).closed.promise,
};
