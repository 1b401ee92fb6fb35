// Array-like methods of readable streams.

const { abortError } = require("pi:node-errors");

/** Yields the results of a function, up to `concurrency` of them computed at once, in order. */
async function* map(stream, callback, options) {
	const limit = options?.concurrency ?? 1;
	const { signal } = options ?? {};
	const running = [];
	for await (const chunk of stream) {
		if (signal?.aborted) throw abortError(signal.reason);
		running.push(Promise.resolve(callback(chunk, { signal })));
		if (running.length >= limit) yield await running.shift();
	}
	while (running.length > 0) yield await running.shift();
}

async function* filter(stream, callback, options) {
	const pairs = map(stream, async (chunk, context) => [chunk, await callback(chunk, context)], options);
	for await (const [chunk, keep] of pairs) if (keep) yield chunk;
}

async function* flatMap(stream, callback, options) {
	for await (const values of map(stream, callback, options)) yield* values;
}

async function* take(stream, count) {
	let left = Number(count);
	if (left <= 0) return;
	for await (const chunk of stream) {
		yield chunk;
		if (--left <= 0) return;
	}
}

async function* drop(stream, count) {
	let left = Number(count);
	for await (const chunk of stream) if (left-- <= 0) yield chunk;
}

const streams = { map, filter, flatMap, take, drop };

const values = {
	async forEach(stream, callback, options) { for await (const _ of map(stream, callback, options)); },
	async toArray(stream) {
		const all = [];
		for await (const chunk of stream) all.push(chunk);
		return all;
	},
	async some(stream, callback, options) {
		for await (const found of map(stream, callback, options)) if (found) return true;
		return false;
	},
	async every(stream, callback, options) {
		for await (const found of map(stream, callback, options)) if (!found) return false;
		return true;
	},
	async find(stream, callback, options) {
		for await (const chunk of filter(stream, callback, options)) return chunk;
		return undefined;
	},
	async reduce(stream, callback, ...initial) {
		let hasValue = initial.length > 0;
		let value = initial[0];
		for await (const chunk of stream) {
			value = hasValue ? await callback(value, chunk) : chunk;
			hasValue = true;
		}
		if (!hasValue) throw new TypeError("Reduce of an empty stream requires an initial value");
		return value;
	},
};

/** Adds the methods to a class. */
exports.install = function install(Readable) {
	for (const name of Object.keys(streams)) {
		Readable.prototype[name] = function (...args) { return Readable.from(streams[name](this, ...args)); };
	}
	for (const name of Object.keys(values)) {
		Readable.prototype[name] = function (...args) { return values[name](this, ...args); };
	}
	Readable.prototype.compose = function (stream) { return require("pi:stream-tools").compose(this, stream); };
};
