// node:timers/promises.

const timers = require("pi:timers");
const { abortError } = require("pi:node-errors");

/** Resolves with a value when `start` calls back, unless the signal stops it first. */
function after(start, stop, value, { signal } = {}) {
	if (signal?.aborted) return Promise.reject(abortError(signal.reason));
	return new Promise((resolve, reject) => {
		const aborted = () => {
			stop(handle);
			reject(abortError(signal.reason));
		};
		const handle = start(() => {
			signal?.removeEventListener("abort", aborted);
			resolve(value);
		});
		signal?.addEventListener("abort", aborted, { once: true });
	});
}

const setTimeout = (delay, value, options) => after((done) => timers.setTimeout(done, delay), timers.clearTimeout, value, options);
const setImmediate = (value, options) => after((done) => timers.setImmediate(done), timers.clearImmediate, value, options);

async function* setInterval(delay, value, options = {}) {
	const { signal } = options;
	if (signal?.aborted) throw abortError(signal.reason);
	let waiting = 0;
	let wake;
	const notify = () => { wake?.(); wake = undefined; };
	const interval = timers.setInterval(() => { waiting++; notify(); }, delay);
	signal?.addEventListener("abort", notify, { once: true });
	try {
		for (;;) {
			if (signal?.aborted) throw abortError(signal.reason);
			if (waiting === 0) await new Promise((resolve) => { wake = resolve; });
			for (; waiting > 0; waiting--) yield value;
		}
	} finally {
		timers.clearInterval(interval);
		signal?.removeEventListener("abort", notify);
	}
}

module.exports = { setTimeout, setImmediate, setInterval, scheduler: { wait: (delay, options) => setTimeout(delay, undefined, options), yield: () => setImmediate() } };
