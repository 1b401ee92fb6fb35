// pipeTo: from a ReadableStream to a WritableStream.

/** Returns true for a WritableStream, without loading its module for other values. */
function isWritableStream(value) {
	return value !== null && typeof value === "object" && value instanceof WritableStream;
}

/** Copies all chunks; closes, aborts and cancels as the options say. */
async function pipeTo(source, target, { preventClose, preventAbort, preventCancel, signal } = {}) {
	const reader = source.getReader();
	const writer = target.getWriter();
	let stop;
	const stopped = new Promise((_, reject) => {
		stop = () => reject(signal.reason);
		if (signal?.aborted) stop();
		else signal?.addEventListener("abort", stop, { once: true });
	});
	stopped.catch(() => {});
	try {
		for (;;) {
			const failed = writer.closed.then(() => { throw new TypeError("Invalid state: Destination WritableStream is closed"); }).catch((error) => { throw { writing: error }; });
			failed.catch(() => {});
			await Promise.race([writer.ready.catch((error) => { throw { writing: error }; }), stopped, failed]);
			const { value, done } = await Promise.race([reader.read().catch((error) => { throw { reading: error }; }), stopped, failed]);
			if (done) break;
			writer.write(value).catch(() => {});
		}
		if (!preventClose) await writer.close();
		else await writer.ready;
	} catch (thrown) {
		if (thrown !== null && typeof thrown === "object" && "reading" in thrown) {
			if (!preventAbort) await writer.abort(thrown.reading).catch(() => {});
			throw thrown.reading;
		}
		if (thrown !== null && typeof thrown === "object" && "writing" in thrown) {
			if (!preventCancel) await reader.cancel(thrown.writing).catch(() => {});
			throw thrown.writing;
		}
		if (signal?.aborted) {
			const ends = [];
			if (!preventAbort) ends.push(writer.abort(thrown));
			if (!preventCancel) ends.push(reader.cancel(thrown));
			await Promise.allSettled(ends);
		}
		throw thrown;
	} finally {
		signal?.removeEventListener("abort", stop);
		reader.releaseLock();
		writer.releaseLock();
	}
}

module.exports = { isWritableStream, pipeTo };
