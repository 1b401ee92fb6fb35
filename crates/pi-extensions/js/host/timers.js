// Timers as in Node: objects that convert to numbers, in one list with one native timer.

const native = require("native:timers");

/** Timers by their numbers. */
const timers = new Map();
/** Delays in use: delay → timers in the order of their times. */
const lists = new Map();
let nextId = 1;
/** Time at which the native timer fires; Infinity without one. */
let scheduled = Infinity;
let generation = 0;
const MAX_DELAY = 2147483647;

class Timeout {
	#id;
	#hasRef = true;
	constructor(id) { this.#id = id; }
	ref() { this.#hasRef = true; return this; }
	unref() { this.#hasRef = false; return this; }
	hasRef() { return this.#hasRef; }
	refresh() {
		const timer = timers.get(this.#id);
		if (timer !== undefined) start(timer);
		return this;
	}
	close() {
		clear(this);
		return this;
	}
	[Symbol.toPrimitive]() { return this.#id; }
	[Symbol.dispose]() { clear(this); }
}

class Immediate {
	#id;
	#hasRef = true;
	constructor(id) { this.#id = id; }
	ref() { this.#hasRef = true; return this; }
	unref() { this.#hasRef = false; return this; }
	hasRef() { return this.#hasRef; }
	/** The number, for clearImmediate. */
	static idOf(immediate) { return immediate.#id; }
	[Symbol.dispose]() { clearImmediate(this); }
}
const { idOf } = Immediate;
delete Immediate.idOf;

function checkCallback(callback) {
	if (typeof callback === "function") return;
	const { invalidArgType } = require("pi:node-errors");
	throw invalidArgType("callback", "of type function", callback);
}

/** Puts a timer at the end of the list of its delay. */
function start(timer) {
	timer.time = performance.now() + timer.delay;
	timer.turn = ++generation;
	let list = lists.get(timer.delay);
	if (list === undefined) lists.set(timer.delay, (list = []));
	list.push({ timer, turn: timer.turn });
	wake(timer.time);
}

/** Makes the native timer fire at `time`, or earlier. */
function wake(time) {
	if (time >= scheduled) return;
	scheduled = time;
	native.start(0, Math.max(0, time - performance.now()));
}

function create(callback, delay, args, isRepeating) {
	checkCallback(callback);
	const milliseconds = Number(delay);
	const id = nextId++;
	const timer = {
		id, callback, args, isRepeating, time: 0, turn: 0,
		delay: milliseconds >= 1 && milliseconds <= MAX_DELAY ? Math.trunc(milliseconds) : 1,
	};
	timers.set(id, timer);
	start(timer);
	return new Timeout(id);
}

function clear(handle) {
	if (handle === undefined || handle === null) return;
	if (handle instanceof Immediate) return clearImmediate(handle);
	timers.delete(Number(handle));
}

/** Returns the first timer of a list that is still wanted. */
function firstOf(list) {
	while (list.length > 0 && (timers.get(list[0].timer.id) !== list[0].timer || list[0].timer.turn !== list[0].turn)) list.shift();
	return list[0]?.timer;
}

/** Runs the timer that is due first; Rust calls this until it returns false. */
function runNext(now) {
	let due;
	for (const [delay, list] of lists) {
		const timer = firstOf(list);
		if (timer === undefined) lists.delete(delay);
		else if (timer.time <= now && (due === undefined || timer.time < due.time || (timer.time === due.time && timer.turn < due.turn))) due = timer;
	}
	if (due === undefined) return false;
	lists.get(due.delay).shift();
	if (due.isRepeating) start(due);
	else timers.delete(due.id);
	due.callback(...due.args);
	return true;
}

/** Runs one due timer and asks for the next call. An error of a timer concerns only that timer. */
function fire() {
	scheduled = Infinity;
	try {
		runNext(performance.now() + 0.5);
	} finally {
		let next = Infinity;
		for (const list of lists.values()) next = Math.min(next, firstOf(list)?.time ?? Infinity);
		if (next !== Infinity) wake(next);
	}
}

let immediates = new Map();
let nextImmediate = 1;
let isImmediateScheduled = false;

function setImmediate(callback, ...args) {
	checkCallback(callback);
	const id = nextImmediate++;
	immediates.set(id, { callback, args });
	if (!isImmediateScheduled) {
		isImmediateScheduled = true;
		native.start(1, 0);
	}
	return new Immediate(id);
}

function clearImmediate(handle) {
	if (handle instanceof Immediate) immediates.delete(idOf(handle));
}

/** Runs the oldest immediate; the rest in tasks of their own. */
function fireImmediate() {
	isImmediateScheduled = false;
	const [first] = immediates;
	if (first === undefined) return;
	immediates.delete(first[0]);
	if (immediates.size > 0) {
		isImmediateScheduled = true;
		native.start(1, 0);
	}
	first[1].callback(...first[1].args);
}

const ticks = [];

/** process.nextTick: after the running code, before the next microtask or task. */
function nextTick(callback, ...args) {
	checkCallback(callback);
	if (ticks.length === 0) native.requestTicks();
	ticks.push({ callback, args });
}

/** Called by Rust. An error concerns its callback; the rest runs. */
function runTicks() {
	try {
		for (let tick = ticks.shift(); tick !== undefined; tick = ticks.shift()) tick.callback(...tick.args);
	} finally {
		if (ticks.length > 0) native.requestTicks();
	}
}

exports.nextTick = nextTick;
exports.runTicks = runTicks;
/** Called by Rust: 0 for timers, 1 for immediates. */
exports.fire = (kind) => (kind === 1 ? fireImmediate() : fire());
exports.Timeout = Timeout;
exports.Immediate = Immediate;
exports.setTimeout = (callback, delay, ...args) => create(callback, delay, args, false);
exports.setInterval = (callback, delay, ...args) => create(callback, delay, args, true);
exports.setImmediate = setImmediate;
exports.clearTimeout = clear;
exports.clearInterval = clear;
exports.clearImmediate = clearImmediate;
for (const name of ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"]) {
	Object.defineProperty(exports[name], "name", { value: name });
}
/** util.promisify(setTimeout) and its relatives. */
for (const name of ["setTimeout", "setImmediate"]) {
	Object.defineProperty(exports[name], Symbol.for("nodejs.util.promisify.custom"), {
		configurable: true,
		get: () => require("node:timers/promises")[name],
	});
}
