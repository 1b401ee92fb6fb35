// Functions over streams: finished, pipeline, from, compose, abort signals.

const { codeError, abortError, invalidArgType } = require("pi:node-errors");
const { later } = require("pi:stream-base");

const isReadable = (stream) => typeof stream?.on === "function" && typeof stream.pipe === "function" && stream.readable !== undefined;
const isWritable = (stream) => typeof stream?.write === "function" && typeof stream.on === "function";
const isStream = (value) => isReadable(value) || isWritable(value);

/** Calls back when a stream has ended, finished or failed. Returns a function that stops watching. */
function finished(stream, options, callback) {
	if (typeof options === "function") [options, callback] = [{}, options];
	if (stream instanceof ReadableStream || stream instanceof WritableStream) return finishedWeb(stream, callback);
	if (!isStream(stream)) throw invalidArgType("stream", "an instance of ReadableStream, WritableStream, or Stream", stream);
	const wantsRead = options?.readable ?? isReadable(stream);
	const wantsWrite = options?.writable ?? isWritable(stream);
	let readDone = !wantsRead || stream.readable === false && stream.readableEnded !== false || stream.readableEnded === true;
	let writeDone = !wantsWrite || stream.writableFinished === true || (stream.writable === false && stream.writableEnded === undefined);
	let isDone = false;
	const done = (error) => {
		if (isDone) return;
		isDone = true;
		callback.call(stream, error ?? undefined);
	};
	const check = () => { if (readDone && writeDone && !stream._willClose) done(); };
	const onEnd = () => { readDone = true; check(); };
	const onFinish = () => { writeDone = true; check(); };
	const onError = (error) => done(error);
	const onClose = () => {
		if (stream.errored) return done(stream.errored);
		if (!readDone && stream.readableEnded !== true) return done(codeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
		if (!writeDone && stream.writableFinished !== true) return done(codeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
		return done();
	};
	const clean = () => {
		isDone = true;
		stream.removeListener("end", onEnd);
		stream.removeListener("finish", onFinish);
		stream.removeListener("error", onError);
		stream.removeListener("close", onClose);
	};
	stream.on("end", onEnd);
	stream.on("finish", onFinish);
	if (options?.error !== false) stream.on("error", onError);
	stream.on("close", onClose);
	if (stream.closed) later(onClose);
	else if (stream.errored) later(onError, stream.errored);
	else if (readDone && writeDone) later(check);
	const { signal } = options ?? {};
	if (signal !== undefined) {
		const abort = () => done(abortError(signal.reason));
		if (signal.aborted) later(abort);
		else signal.addEventListener("abort", abort, { once: true });
	}
	return clean;
}

function finishedWeb(stream, callback) {
	require("pi:web-streams").closedOf(stream).then(() => callback(), callback);
	return () => {};
}

/** Destroys a stream when a signal is aborted. */
function addAbortSignal(signal, stream) {
	const abort = () => stream.destroy(abortError(signal.reason));
	if (signal.aborted) abort();
	else {
		signal.addEventListener("abort", abort, { once: true });
		stream.once("close", () => signal.removeEventListener("abort", abort));
	}
	return stream;
}

/** Creates a readable from anything that can be iterated. */
function from(Readable, iterable, options) {
	if (typeof iterable === "string" || iterable instanceof Uint8Array) {
		return new Readable({ objectMode: true, ...options, read() { this.push(iterable); this.push(null); } });
	}
	const iterator = iterable?.[Symbol.asyncIterator]?.() ?? iterable?.[Symbol.iterator]?.();
	if (iterator === undefined) throw invalidArgType("iterable", "an instance of Iterable", iterable);
	let isBusy = false;
	const stream = new Readable({ objectMode: true, highWaterMark: 1, ...options });
	stream._read = () => {
		if (isBusy) return;
		isBusy = true;
		next();
	};
	const next = async () => {
		try {
			for (;;) {
				const { value, done } = await iterator.next();
				if (done) return void stream.push(null);
				const chunk = await value;
				if (chunk === null) throw codeError(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
				if (stream.push(chunk)) continue;
				isBusy = false;
				return undefined;
			}
		} catch (error) {
			stream.destroy(error);
			return undefined;
		}
	};
	stream._destroy = (error, callback) => {
		Promise.resolve(iterator.return?.()).then(() => later(callback, error), (failure) => later(callback, error ?? failure));
	};
	return stream;
}

/** Creates a duplex from a stream, an iterable, a promise or a pair. */
function duplexFrom(Duplex, source) {
	if (source instanceof Duplex) return source;
	const { Readable } = require("node:stream");
	const body = typeof source === "function" ? undefined : source;
	if (body?.readable !== undefined && body?.writable !== undefined && !isStream(body)) return join(Duplex, body.writable, body.readable);
	if (isWritable(body)) return join(Duplex, body, undefined);
	if (typeof source === "function") {
		const input = new (require("node:stream").PassThrough)({ objectMode: true });
		return join(Duplex, input, from(Readable, source(input)));
	}
	const readable = isReadable(body) ? body : from(Readable, typeof body?.then === "function" ? [body] : body);
	return join(Duplex, undefined, readable);
}

/** Joins two streams to one. */
function join(Duplex, writable, readable) {
	const duplex = new Duplex({
		objectMode: true, readable: readable !== undefined, writable: writable !== undefined,
		write(chunk, encoding, callback) {
			if (writable.write(chunk, encoding)) callback();
			else writable.once("drain", callback);
		},
		final(callback) { writable.end(callback); },
		read() { readable?.resume(); },
		destroy(error, callback) {
			readable?.destroy(error);
			writable?.destroy(error);
			callback(error);
		},
	});
	readable?.on("data", (chunk) => { if (!duplex.push(chunk)) readable.pause(); });
	readable?.on("end", () => duplex.push(null));
	readable?.pause();
	for (const one of [readable, writable]) one?.on("error", (error) => duplex.destroy(error));
	return duplex;
}

/** Turns a part of a pipeline into a stream; the last one may be an async function. */
function stage(part, previous, isLast) {
	const { Readable, PassThrough, Duplex } = require("node:stream");
	if (typeof part !== "function") {
		if (isStream(part)) return { stream: part };
		if (part instanceof ReadableStream) return { stream: Readable.fromWeb(part) };
		if (part instanceof WritableStream) return { stream: require("node:stream").Writable.fromWeb(part) };
		if (part?.readable instanceof ReadableStream) return { stream: Duplex.fromWeb(part) };
		return { stream: from(Readable, part) };
	}
	const result = part(previous ?? {}, {});
	if (isLast && typeof result?.then === "function") {
		const sink = new PassThrough({ objectMode: true });
		return { stream: sink, promise: result };
	}
	return { stream: isStream(result) ? result : from(Readable, result), isSource: previous !== undefined };
}

/** Connects streams; calls back when all are done, and destroys all when one fails. */
function pipeline(...parts) {
	const callback = typeof parts.at(-1) === "function" && parts.length > 1 ? parts.pop() : undefined;
	if (callback === undefined) throw invalidArgType("streams[stream.length - 1]", "of type function", parts.at(-1));
	return connect(parts.length === 1 && Array.isArray(parts[0]) ? parts[0] : parts, {}, callback);
}

function connect(parts, options, callback) {
	if (parts.length < 2 && typeof parts[0] !== "object") throw codeError(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
	const streams = [];
	let failure;
	let value;
	let open = 0;
	let isDone = false;
	const settle = (error) => {
		if (error && (failure === undefined || failure.code === "ERR_STREAM_PREMATURE_CLOSE")) failure = error;
		if (error) for (const one of streams) if (!one.destroyed) one.destroy?.(error);
		open--;
		if (open > 0 || isDone) return;
		isDone = true;
		options.signal?.removeEventListener("abort", abort);
		later(() => callback(failure, value));
	};
	const abort = () => { for (const one of streams) one.destroy?.(abortError(options.signal.reason)); };
	let previous;
	for (let at = 0; at < parts.length; at++) {
		const isLast = at === parts.length - 1;
		const { stream, promise, isSource } = stage(parts[at], previous, isLast);
		if (promise !== undefined) {
			open++;
			promise.then((result) => { value = result; settle(); }, (error) => { previous.destroy(error); settle(error); });
			break;
		}
		streams.push(stream);
		open++;
		const mayStayOpen = isLast && options.end === false;
		if (mayStayOpen) previous.once("end", () => settle());
		const settleOnce = once(settle);
		finished(stream, { readable: isLast ? false : isReadable(stream), writable: at > 0 && !isSource && !mayStayOpen && isWritable(stream) }, settleOnce);
		if (previous !== undefined && !isSource) previous.pipe(stream, { end: !(isLast && options.end === false) });
		previous = stream;
	}
	if (options.signal?.aborted) abort();
	else options.signal?.addEventListener("abort", abort, { once: true });
	return streams.at(-1);
}

function once(callback) {
	let wasCalled = false;
	return (...args) => {
		if (wasCalled) return;
		wasCalled = true;
		callback(...args);
	};
}

/** Joins streams to one duplex. */
function compose(...parts) {
	const { Duplex } = require("node:stream");
	const streams = parts.map((part) => (typeof part === "function" ? duplexFrom(Duplex, part) : stage(part).stream));
	for (let at = 1; at < streams.length; at++) pipeline(streams[at - 1], streams[at], () => {});
	return join(Duplex, isWritable(streams[0]) ? streams[0] : undefined, isReadable(streams.at(-1)) ? streams.at(-1) : undefined);
}

module.exports = { finished, pipeline, connect, from, duplexFrom, compose, addAbortSignal, isReadable, isWritable, isStream };
