// Abort signals of calls that Rust can cancel, by the number of the call.

const controllers = new Map();
let lastRun;

/** Returns the signal of a call. */
function open(number) {
	let controller = controllers.get(number);
	if (controller === undefined) {
		controller = new (require("pi:abort").AbortController)();
		controllers.set(number, controller);
	}
	return controller.signal;
}

function close(number) {
	controllers.delete(number);
}

/** Returns the signal of the current run; the number is negative once the run is aborted. */
function ofRun(token) {
	if (token === undefined || token === null) return undefined;
	const number = Math.abs(token);
	if (lastRun !== undefined && lastRun !== number) close(lastRun);
	lastRun = number;
	const signal = open(number);
	if (token < 0) abort(number);
	return signal;
}

function abort(number) {
	controllers.get(number)?.abort();
}

/** Waits for `{ promise, cancel }` of a native function, and cancels when the signal is aborted. */
async function withSignal(work, signal) {
	if (signal === undefined || signal === null) return work.promise;
	const cancel = () => work.cancel();
	if (signal.aborted) cancel();
	signal.addEventListener("abort", cancel, { once: true });
	try {
		return await work.promise;
	} finally {
		signal.removeEventListener("abort", cancel);
	}
}

module.exports = { open, close, ofRun, abort, withSignal };
