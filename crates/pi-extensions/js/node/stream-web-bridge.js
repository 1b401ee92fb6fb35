// Streams of Node as streams of the web, and back.

const { codeError, abortError } = require("pi:node-errors");

/** Creates a readable of Node over a stream of the web. */
function readableFromWeb(Readable, stream, options) {
	const reader = stream.getReader();
	let isDone = false;
	return new Readable({
		objectMode: false, ...options,
		read() {
			reader.read().then(
				({ done, value }) => {
					isDone = done;
					this.push(done ? null : value);
				},
				(error) => { isDone = true; this.destroy(error); },
			);
		},
		destroy(error, callback) {
			if (isDone) return callback(error);
			return reader.cancel(error ?? undefined).then(() => callback(error), () => callback(error));
		},
	});
}

/** Creates a stream of the web over a readable of Node. */
function readableToWeb(stream) {
	const isObjectMode = stream.readableObjectMode;
	return new ReadableStream({
		start(controller) {
			stream.pause();
			stream.on("data", (chunk) => {
				controller.enqueue(isObjectMode || typeof chunk === "string" ? chunk : new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
				if (controller.desiredSize <= 0) stream.pause();
			});
			stream.pause();
			require("pi:stream-tools").finished(stream, { writable: false }, (error) => {
				try {
					if (error) controller.error(error.code === "ERR_STREAM_PREMATURE_CLOSE" ? abortError() : error);
					else controller.close();
				} catch {
					// The stream was canceled.
				}
			});
		},
		pull() { stream.resume(); },
		cancel(reason) { stream.destroy(reason); },
	}, isObjectMode ? { highWaterMark: stream.readableHighWaterMark } : { highWaterMark: stream.readableHighWaterMark, size: (chunk) => chunk.length });
}

function writableFromWeb(Writable, stream, options) {
	const writer = stream.getWriter();
	return new Writable({
		...options,
		write(chunk, _encoding, callback) { writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback); },
		final(callback) { writer.close().then(() => callback(), callback); },
		destroy(error, callback) {
			if (error === null) return callback(null);
			return writer.abort(error).then(() => callback(error), () => callback(error));
		},
	});
}

function writableToWeb(stream) {
	return new WritableStream({
		start(controller) {
			stream.on("error", (error) => controller.error(error));
			stream.on("close", () => {
				if (!stream.writableFinished) controller.error(codeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
			});
		},
		write(chunk) {
			if (stream.write(chunk)) return undefined;
			return new Promise((resolve) => stream.once("drain", resolve));
		},
		close() { return new Promise((resolve, reject) => stream.end((error) => (error ? reject(error) : resolve()))); },
		abort(reason) { stream.destroy(reason); },
	});
}

function duplexFromWeb(Duplex, pair, options) {
	const { Readable, Writable } = require("node:stream");
	return Duplex.from({
		readable: readableFromWeb(Readable, pair.readable, options),
		writable: writableFromWeb(Writable, pair.writable, options),
	});
}

module.exports = {
	readableFromWeb, readableToWeb, writableFromWeb, writableToWeb, duplexFromWeb,
	duplexToWeb: (stream) => ({ readable: readableToWeb(stream), writable: writableToWeb(stream) }),
};
