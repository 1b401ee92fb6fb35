// What all streams of Node share: an emitter that can be destroyed, and `pipe` of old streams.

const EventEmitter = require("node:events");
const { codeError } = require("pi:node-errors");

/** Keys of the state of a stream: both sides, reading, writing. Subclasses use all plain names. */
const STATE = Symbol("state");
const READ = Symbol("read");
const WRITE = Symbol("write");

/** Runs a function after the current operation, as process.nextTick does. */
const later = (callback, ...args) => queueMicrotask(() => callback(...args));

class Stream extends EventEmitter {
	pipe(target, options) {
		this.on("data", (chunk) => {
			if (target.writable && target.write(chunk) === false) this.pause?.();
		});
		target.on("drain", () => this.resume?.());
		if (!target._isStdio && options?.end !== false) {
			this.on("end", () => target.end());
			this.on("close", () => target.destroy?.());
		}
		target.emit("pipe", this);
		return target;
	}
}

/** Ends a stream: `_destroy`, then `error` and `close`. The state is in `stream[STATE]`. */
function destroy(stream, error, callback) {
	const state = stream[STATE];
	if (state.isDestroyed) {
		if (typeof callback === "function") callback(null);
		return stream;
	}
	state.isDestroyed = true;
	if (error) state.error ??= error;
	const finish = (failure) => {
		if (state.isClosed) return;
		state.isClosed = true;
		if (failure) state.error ??= failure;
		if (typeof callback === "function") callback(failure ?? null);
		later(() => {
			if (failure) emitError(stream, failure);
			if (state.emitClose) {
				state.closeEmitted = true;
				stream.emit("close");
			}
		});
	};
	const run = () => {
		try {
			const result = stream._destroy(error ?? null, finish);
			if (typeof result?.then === "function") result.then(() => finish(error), finish);
		} catch (failure) {
			finish(failure);
		}
	};
	if (state.isConstructing) stream.once("pi:constructed", run);
	else run();
	return stream;
}

/** Emits `error` once. */
function emitError(stream, error) {
	const state = stream[STATE];
	if (state.errorEmitted) return;
	state.errorEmitted = true;
	state.error ??= error;
	stream.emit("error", error);
}

/** Reports an error of an operation: destroys the stream, or only emits it. */
function fail(stream, error) {
	if (stream[STATE].autoDestroy) destroy(stream, error);
	else later(() => emitError(stream, error));
}

/** Calls `_construct` before anything else happens, if a stream has one. */
function construct(stream, ready) {
	if (typeof stream._construct !== "function") return;
	const state = stream[STATE];
	state.isConstructing = true;
	later(() => {
		const done = (error) => {
			state.isConstructing = false;
			stream.emit("pi:constructed");
			if (error) fail(stream, error);
			else ready();
		};
		try {
			stream._construct(done);
		} catch (error) {
			done(error);
		}
	});
}

/** Adds what follows from the shared state to the prototype of a stream class. */
function addState(prototype) {
	Object.defineProperties(prototype, {
		destroyed: {
			configurable: true,
			get() { return this[STATE]?.isDestroyed ?? false; },
			set(value) { if (this[STATE]) this[STATE].isDestroyed = Boolean(value); },
		},
		closed: { configurable: true, get() { return this[STATE]?.closeEmitted ?? false; } },
		errored: { configurable: true, get() { return this[STATE]?.error ?? null; } },
	});
	prototype.destroy = function (error, callback) { return destroy(this, error, callback); };
	prototype._destroy = function (error, callback) { callback(error); };
	prototype._undestroy = function () { this[STATE].isDestroyed = false; };
	prototype[Symbol.asyncDispose] = async function () {
		if (this.destroyed) return;
		this.destroy();
		await new Promise((resolve) => this.once("close", resolve));
	};
}

function createState(options) {
	return {
		isDestroyed: false, isClosed: false, closeEmitted: false, errorEmitted: false, error: null,
		isConstructing: false,
		autoDestroy: options?.autoDestroy !== false,
		emitClose: options?.emitClose !== false,
	};
}

let defaultBytes = 65536;
let defaultObjects = 16;

/** Returns the high-water mark of one side. */
function highWaterMark(options, side, isObjectMode) {
	const value = options?.[`${side}HighWaterMark`] ?? options?.highWaterMark;
	if (value === undefined || value === null) return isObjectMode ? defaultObjects : defaultBytes;
	if (typeof value !== "number" || Number.isNaN(value) || value < 0) {
		throw codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.highWaterMark' is invalid. Received ${String(value)}`);
	}
	return Math.floor(value);
}

module.exports = {
	STATE, READ, WRITE, Stream, later, destroy, fail, emitError, construct, addState, createState, highWaterMark,
	getDefaultHighWaterMark: (isObjectMode) => (isObjectMode ? defaultObjects : defaultBytes),
	setDefaultHighWaterMark(isObjectMode, value) {
		if (isObjectMode) defaultObjects = value;
		else defaultBytes = value;
	},
};
