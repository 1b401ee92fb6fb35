// Timers as in Node: objects that convert to numbers.

const native = require("native:timers");

const timers = new Map();
let next = 1;

class Timeout {
	#id;
	constructor(id) {
		this.#id = id;
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
	hasRef() {
		return true;
	}
	refresh() {
		const timer = timers.get(this.#id);
		if (timer !== undefined) schedule(this.#id, timer);
		return this;
	}
	close() {
		clear(this);
		return this;
	}
	[Symbol.toPrimitive]() {
		return this.#id;
	}
	[Symbol.dispose]() {
		clear(this);
	}
}

function schedule(id, timer) {
	timer.generation += 1;
	native.start(id, timer.delay);
	timer.pending += 1;
}

function create(callback, delay, args, isRepeating) {
	if (typeof callback !== "function") {
		const error = new TypeError(`The "callback" argument must be of type function. Received ${callback === null ? "null" : typeof callback}`);
		error.code = "ERR_INVALID_ARG_TYPE";
		throw error;
	}
	const id = next++;
	const milliseconds = Number(delay);
	const timer = { callback, args, isRepeating, delay: milliseconds >= 1 && milliseconds <= 2147483647 ? milliseconds : 1, generation: 0, pending: 0 };
	timers.set(id, timer);
	schedule(id, timer);
	return new Timeout(id);
}

function clear(handle) {
	if (handle === undefined || handle === null) return;
	timers.delete(Number(handle));
}

exports.setTimeout = (callback, delay, ...args) => create(callback, delay, args, false);
exports.setInterval = (callback, delay, ...args) => create(callback, delay, args, true);
exports.setImmediate = (callback, ...args) => create(callback, 0, args, false);
exports.clearTimeout = clear;
exports.clearInterval = clear;
exports.clearImmediate = clear;

/** Runs a timer whose time has come. */
exports.fire = function fire(id) {
	const timer = timers.get(id);
	if (timer === undefined) return;
	timer.pending -= 1;
	// A refreshed timer has a later native one.
	if (timer.pending > 0) return;
	if (timer.isRepeating) schedule(id, timer);
	else timers.delete(id);
	timer.callback(...timer.args);
};
