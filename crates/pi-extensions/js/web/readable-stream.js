// ReadableStream, its readers and controllers.

const { isWritableStream, pipeTo } = require("pi:stream-pipe");

const KEY = Symbol("private");

function illegal() {
	return Object.assign(new TypeError("Illegal constructor"), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
}

/** Returns the high-water mark and the size function of a strategy. */
function strategyOf(strategy, fallback) {
	const mark = strategy?.highWaterMark === undefined ? fallback : Number(strategy.highWaterMark);
	if (Number.isNaN(mark) || mark < 0) throw new RangeError("Invalid highWaterMark");
	return { mark, size: strategy?.size === undefined ? () => 1 : (chunk) => strategy.size(chunk) };
}

class ReadableStreamDefaultController {
	/** The internal state: stream, queue, flags. Shared with ReadableStream through `stateOf`. */
	#state;
	constructor(key, state) {
		if (key !== KEY) throw illegal();
		this.#state = state;
	}
	get desiredSize() { return desiredSize(this.#state); }
	close() {
		const state = this.#state;
		if (state.closeRequested || state.status !== "readable") throw new TypeError("Invalid state: Controller is already closed");
		state.closeRequested = true;
		if (state.queue.length === 0) closeStream(state);
		else flushByob(state);
	}
	enqueue(chunk) {
		const state = this.#state;
		if (state.closeRequested || state.status !== "readable") throw new TypeError("Invalid state: Controller is already closed");
		enqueue(state, chunk);
	}
	error(reason) { errorStream(this.#state, reason); }
}

class ReadableByteStreamController extends ReadableStreamDefaultController {
	get byobRequest() { return null; }
	enqueue(chunk) {
		if (!ArrayBuffer.isView(chunk)) throw new TypeError('The "buffer" argument must be an instance of Buffer, TypedArray, or DataView');
		if (chunk.byteLength === 0) throw new TypeError("Invalid state: chunk ArrayBuffer is zero-length or detached");
		super.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
	}
}

function desiredSize(state) {
	if (state.status === "errored") return null;
	if (state.status === "closed") return 0;
	return state.mark - state.size;
}

function enqueue(state, chunk) {
	const waiting = state.requests.shift();
	if (waiting !== undefined) {
		waiting.deliver(chunk);
	} else {
		let size;
		try {
			size = state.isBytes ? chunk.byteLength : Number(state.sizeOf(chunk));
			if (!(size >= 0) || size === Infinity) throw new RangeError("The argument 'size' is invalid");
		} catch (error) {
			errorStream(state, error);
			throw error;
		}
		state.queue.push({ chunk, size });
		state.size += size;
	}
	pullIfNeeded(state);
}

function flushByob(state) {
	if (state.queue.length === 0 && state.closeRequested) closeStream(state);
}

function closeStream(state) {
	if (state.status !== "readable") return;
	state.status = "closed";
	for (const request of state.requests.splice(0)) request.end();
	state.reader?.closed.resolve();
	state.finished.resolve();
}

function errorStream(state, reason) {
	if (state.status !== "readable") return;
	state.status = "errored";
	state.reason = reason;
	state.queue = [];
	state.size = 0;
	for (const request of state.requests.splice(0)) request.fail(reason);
	state.reader?.closed.reject(reason);
	state.finished.reject(reason);
}

/** Asks the source for more if there is room or a reader waits. */
function pullIfNeeded(state) {
	if (!state.isStarted || state.closeRequested || state.status !== "readable") return;
	if (!(state.requests.length > 0 || desiredSize(state) > 0)) return;
	if (state.isPulling) {
		state.pullAgain = true;
		return;
	}
	state.isPulling = true;
	const done = () => {
		state.isPulling = false;
		if (state.pullAgain) {
			state.pullAgain = false;
			pullIfNeeded(state);
		}
	};
	let result;
	try {
		result = state.pull?.(state.controller);
	} catch (error) {
		errorStream(state, error);
		return;
	}
	Promise.resolve(result).then(done, (error) => errorStream(state, error));
}

/** Reads one chunk; the request is told of it by deliver, end or fail. */
function readInto(state, request) {
	state.isDisturbed = true;
	if (state.status === "closed") request.end();
	else if (state.status === "errored") request.fail(state.reason);
	else if (state.queue.length > 0) {
		const { chunk, size } = state.queue.shift();
		state.size -= size;
		if (state.closeRequested && state.queue.length === 0) closeStream(state);
		else pullIfNeeded(state);
		request.deliver(chunk);
	} else {
		state.requests.push(request);
		pullIfNeeded(state);
	}
}

function readPromise(state) {
	return new Promise((resolve, reject) => {
		readInto(state, {
			deliver: (value) => resolve({ value, done: false }),
			end: () => resolve({ value: undefined, done: true }),
			fail: reject,
		});
	});
}

async function cancelStream(state, reason) {
	state.isDisturbed = true;
	if (state.status === "closed") return;
	if (state.status === "errored") throw state.reason;
	closeStream(state);
	state.queue = [];
	state.size = 0;
	await state.cancel?.(reason);
}

function deferred() {
	const result = Promise.withResolvers();
	// A rejection that no reader looks at is not an error of its own.
	result.promise.catch(() => {});
	return result;
}

/** Returns the state of a stream; set once the class exists. */
let stateOf;

class ReadableStreamDefaultReader {
	#stream;
	#closed = deferred();
	constructor(stream) {
		if (!(stream instanceof ReadableStream)) throw new TypeError('The "stream" argument must be an instance of ReadableStream');
		const state = stateOf(stream);
		if (state.reader !== undefined) throw Object.assign(new TypeError("Invalid state: ReadableStream is locked"), { code: "ERR_INVALID_STATE" });
		this.#stream = stream;
		state.reader = { closed: this.#closed };
		if (state.status === "closed") this.#closed.resolve();
		else if (state.status === "errored") this.#closed.reject(state.reason);
	}
	get closed() { return this.#closed.promise; }
	read() {
		if (this.#stream === undefined) return Promise.reject(new TypeError("Invalid state: The reader is not attached to a stream"));
		return readPromise(stateOf(this.#stream));
	}
	cancel(reason) {
		if (this.#stream === undefined) return Promise.reject(new TypeError("Invalid state: The reader is not attached to a stream"));
		return cancelStream(stateOf(this.#stream), reason);
	}
	releaseLock() {
		if (this.#stream === undefined) return;
		const state = stateOf(this.#stream);
		const released = new TypeError("Invalid state: Releasing reader");
		for (const request of state.requests.splice(0)) request.fail(released);
		state.reader = undefined;
		this.#stream = undefined;
		this.#closed.reject(released);
		this.#closed = deferred();
		this.#closed.reject(released);
	}
}

/** Reads into a buffer of the caller. */
class ReadableStreamBYOBReader {
	#reader;
	#rest;
	constructor(stream) { this.#reader = new ReadableStreamDefaultReader(stream); }
	get closed() { return this.#reader.closed; }
	async read(view) {
		let bytes = this.#rest;
		if (bytes === undefined) {
			const { value, done } = await this.#reader.read();
			if (done) return { value: new view.constructor(view.buffer, view.byteOffset, 0), done: true };
			bytes = value;
		}
		const count = Math.min(bytes.byteLength, view.byteLength);
		new Uint8Array(view.buffer, view.byteOffset, count).set(bytes.subarray(0, count));
		this.#rest = count < bytes.byteLength ? bytes.subarray(count) : undefined;
		return { value: new view.constructor(view.buffer, view.byteOffset, count / (view.BYTES_PER_ELEMENT ?? 1)), done: false };
	}
	cancel(reason) { return this.#reader.cancel(reason); }
	releaseLock() { this.#reader.releaseLock(); }
}

class ReadableStream {
	#state;
	constructor(source = {}, strategy = {}) {
		const isBytes = source?.type === "bytes";
		const { mark, size } = strategyOf(strategy, isBytes ? 0 : 1);
		const state = (this.#state = {
			status: "readable", reason: undefined, queue: [], size: 0, mark, sizeOf: size, requests: [], reader: undefined,
			isStarted: false, isPulling: false, pullAgain: false, closeRequested: false, isDisturbed: false, isBytes,
			pull: source?.pull === undefined ? undefined : (controller) => source.pull(controller),
			cancel: source?.cancel === undefined ? undefined : (reason) => source.cancel(reason),
			finished: deferred(),
		});
		state.controller = new (isBytes ? ReadableByteStreamController : ReadableStreamDefaultController)(KEY, state);
		const started = source?.start?.(state.controller);
		Promise.resolve(started).then(() => {
			state.isStarted = true;
			pullIfNeeded(state);
		}, (error) => errorStream(state, error));
	}

	static {
		stateOf = (stream) => stream.#state;
	}

	static from(iterable) {
		const iterator = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]();
		return new ReadableStream({
			async pull(controller) {
				const { value, done } = await iterator.next();
				if (done) controller.close();
				else controller.enqueue(await value);
			},
			async cancel(reason) { await iterator.return?.(reason); },
		}, { highWaterMark: 0 });
	}

	get locked() { return this.#state.reader !== undefined; }

	cancel(reason) {
		if (this.locked) return Promise.reject(new TypeError("Invalid state: ReadableStream is locked"));
		return cancelStream(this.#state, reason);
	}

	getReader(options = undefined) {
		return options?.mode === "byob" ? new ReadableStreamBYOBReader(this) : new ReadableStreamDefaultReader(this);
	}

	pipeThrough(pair, options) {
		const promise = this.pipeTo(pair.writable, options);
		promise.catch(() => {});
		return pair.readable;
	}

	pipeTo(target, options = {}) {
		if (!isWritableStream(target)) return Promise.reject(new TypeError('The "destination" argument must be an instance of WritableStream'));
		if (this.locked) return Promise.reject(new TypeError("Invalid state: The ReadableStream is locked"));
		return pipeTo(this, target, options);
	}

	tee() {
		const reader = this.getReader();
		const state = { canceled: [false, false], reasons: [], controllers: [] };
		const done = deferred();
		let reading;
		const pull = () => {
			reading ??= reader.read().then(({ value, done: isDone }) => {
				reading = undefined;
				for (const [at, controller] of state.controllers.entries()) {
					if (state.canceled[at]) continue;
					if (isDone) controller.close();
					else controller.enqueue(at === 1 && value instanceof Uint8Array ? value.slice() : value);
				}
				if (isDone) done.resolve();
			}, (error) => {
				reading = undefined;
				for (const controller of state.controllers) controller.error(error);
				done.resolve();
			});
			return reading;
		};
		const branch = (at) => new ReadableStream({
			start(controller) { state.controllers[at] = controller; },
			pull,
			cancel(reason) {
				state.canceled[at] = true;
				state.reasons[at] = reason;
				if (state.canceled.every(Boolean)) reader.cancel(state.reasons).then(done.resolve, done.reject);
				return done.promise;
			},
		}, { highWaterMark: 0 });
		return [branch(0), branch(1)];
	}

	async *values(options = undefined) {
		const reader = this.getReader();
		let isDone = false;
		try {
			for (;;) {
				const { value, done } = await reader.read();
				isDone = done;
				if (done) return;
				yield value;
			}
		} catch (error) {
			isDone = true;
			throw error;
		} finally {
			if (!isDone && options?.preventCancel !== true) await reader.cancel();
			reader.releaseLock();
		}
	}
	[Symbol.asyncIterator](options) { return this.values(options); }
}
for (const [type, name] of [[ReadableStream, "ReadableStream"], [ReadableStreamDefaultReader, "ReadableStreamDefaultReader"]]) {
	Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
}

module.exports = {
	ReadableStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamDefaultController, ReadableByteStreamController,
	strategyOf, deferred,
	isDisturbed: (stream) => stateOf(stream).isDisturbed,
	finishedOf: (stream) => stateOf(stream).finished.promise,
};
