// node:events.

const { codeError, validateFunction, abortError, invalidArgType } = require("pi:node-errors");

const CAPTURE = Symbol.for("nodejs.rejection");
const ERROR_MONITOR = Symbol("events.errorMonitor");

/** Listeners of an emitter by event, in arrays that are replaced, never changed. */
function listenersOf(emitter) {
	if (emitter._events === undefined || emitter._events === Object.getPrototypeOf(emitter)._events) {
		emitter._events = Object.create(null);
		emitter._eventsCount = 0;
	}
	return emitter._events;
}

function EventEmitter(options) {
	EventEmitter.init.call(this, options);
}

EventEmitter.init = function init(options) {
	listenersOf(this);
	if (options?.captureRejections) this[Symbol.for("nodejs.captures")] = true;
};

EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;

function add(emitter, type, listener, isFirst) {
	validateFunction(listener, "listener");
	const events = listenersOf(emitter);
	if (events.newListener !== undefined) emitter.emit("newListener", type, listener.listener ?? listener);
	const list = events[type];
	if (list === undefined) {
		events[type] = [listener];
		emitter._eventsCount++;
	} else {
		events[type] = isFirst ? [listener, ...list] : [...list, listener];
		warnOfLeak(emitter, type, events[type]);
	}
	return emitter;
}

function warnOfLeak(emitter, type, list) {
	const limit = emitter.getMaxListeners();
	if (limit <= 0 || list.length <= limit || list.warned) return;
	if (list.length > limit + 1) return;
	globalThis.process?.emitWarning?.(
		`Possible EventEmitter memory leak detected. ${list.length} ${String(type)} listeners added to ${emitter.constructor?.name}. MaxListeners is ${limit}. Use emitter.setMaxListeners() to increase limit`,
		"MaxListenersExceededWarning",
	);
}

function wrapOnce(emitter, type, listener) {
	validateFunction(listener, "listener");
	let fired = false;
	const wrapper = function (...args) {
		if (fired) return undefined;
		fired = true;
		emitter.removeListener(type, wrapper);
		return listener.apply(emitter, args);
	};
	wrapper.listener = listener;
	return wrapper;
}

const methods = {
	setMaxListeners(count) {
		if (typeof count !== "number" || count < 0 || Number.isNaN(count)) {
			throw codeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "n" is out of range. It must be a non-negative number. Received ${count}`);
		}
		this._maxListeners = count;
		return this;
	},
	getMaxListeners() {
		return this._maxListeners ?? EventEmitter.defaultMaxListeners;
	},
	emit(type, ...args) {
		const events = this._events;
		if (type === "error") {
			if (events?.[ERROR_MONITOR] !== undefined) this.emit(ERROR_MONITOR, ...args);
			if (events?.error === undefined) throw unhandled(args[0]);
		}
		const list = events?.[type];
		if (list === undefined) return false;
		for (const listener of list) {
			const result = args.length === 0 ? listener.call(this) : listener.apply(this, args);
			if (result !== undefined && this[Symbol.for("nodejs.captures")] && typeof result?.then === "function") {
				result.then(undefined, (error) => {
					if (typeof this[CAPTURE] === "function") this[CAPTURE](error, type, ...args);
					else this.emit("error", error);
				});
			}
		}
		return true;
	},
	on(type, listener) { return add(this, type, listener, false); },
	prependListener(type, listener) { return add(this, type, listener, true); },
	once(type, listener) { return this.on(type, wrapOnce(this, type, listener)); },
	prependOnceListener(type, listener) { return this.prependListener(type, wrapOnce(this, type, listener)); },
	removeListener(type, listener) {
		validateFunction(listener, "listener");
		const events = listenersOf(this);
		const list = events[type];
		if (list === undefined) return this;
		const at = list.findLastIndex((one) => one === listener || one.listener === listener);
		if (at < 0) return this;
		const left = list.toSpliced(at, 1);
		if (left.length === 0) {
			delete events[type];
			this._eventsCount--;
		} else events[type] = left;
		if (events.removeListener !== undefined) this.emit("removeListener", type, list[at].listener ?? list[at]);
		return this;
	},
	removeAllListeners(type) {
		const events = listenersOf(this);
		if (events.removeListener === undefined) {
			if (arguments.length === 0) {
				this._events = Object.create(null);
				this._eventsCount = 0;
			} else if (events[type] !== undefined) {
				delete events[type];
				this._eventsCount--;
			}
			return this;
		}
		const types = arguments.length === 0 ? Reflect.ownKeys(events).filter((one) => one !== "removeListener") : [type];
		for (const one of types) for (const listener of [...(events[one] ?? [])].reverse()) this.removeListener(one, listener);
		if (arguments.length === 0) this.removeAllListeners("removeListener");
		return this;
	},
	listeners(type) { return (this._events?.[type] ?? []).map((one) => one.listener ?? one); },
	rawListeners(type) { return [...(this._events?.[type] ?? [])]; },
	listenerCount(type, listener) {
		const list = this._events?.[type] ?? [];
		return listener === undefined ? list.length : list.filter((one) => one === listener || one.listener === listener).length;
	},
	eventNames() { return this._events === undefined ? [] : Reflect.ownKeys(this._events); },
};
for (const name of Object.keys(methods)) EventEmitter.prototype[name] = methods[name];
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;

function unhandled(value) {
	if (value instanceof Error) return value;
	const error = codeError(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${value === undefined ? "undefined" : typeof value === "string" ? `'${value}'` : String(value)})`);
	error.context = value;
	return error;
}

/** Resolves with the arguments of the next event. */
function once(emitter, name, { signal } = {}) {
	return new Promise((resolve, reject) => {
		if (signal?.aborted) return reject(abortError(signal.reason));
		if (typeof emitter?.addEventListener === "function" && typeof emitter.on !== "function") {
			const listener = (...args) => { signal?.removeEventListener("abort", stop); resolve(args); };
			const stop = () => { emitter.removeEventListener(name, listener); reject(abortError(signal.reason)); };
			emitter.addEventListener(name, listener, { once: true });
			signal?.addEventListener("abort", stop, { once: true });
			return undefined;
		}
		if (typeof emitter?.once !== "function") throw invalidArgType("emitter", "an instance of EventEmitter", emitter);
		const clean = () => {
			emitter.removeListener(name, resolved);
			emitter.removeListener("error", failed);
			signal?.removeEventListener("abort", aborted);
		};
		const resolved = (...args) => { clean(); resolve(args); };
		const failed = (error) => { clean(); reject(error); };
		const aborted = () => { clean(); reject(abortError(signal.reason)); };
		emitter.once(name, resolved);
		if (name !== "error") emitter.once("error", failed);
		signal?.addEventListener("abort", aborted, { once: true });
		return undefined;
	});
}

/** Iterates over the arguments of each event. */
function on(emitter, name, { signal, close = [] } = {}) {
	if (signal?.aborted) throw abortError(signal.reason);
	const values = [];
	const waiting = [];
	let failure;
	let isDone = false;
	const received = (...args) => {
		const next = waiting.shift();
		if (next === undefined) values.push(args);
		else next.resolve({ value: args, done: false });
	};
	const fail = (error) => {
		const next = waiting.shift();
		if (next === undefined) failure = error;
		else next.reject(error);
		finish();
	};
	const finish = () => {
		isDone = true;
		emitter.removeListener(name, received);
		emitter.removeListener("error", fail);
		for (const event of close) emitter.removeListener(event, finish);
		for (const next of waiting.splice(0)) next.resolve({ value: undefined, done: true });
		return Promise.resolve({ value: undefined, done: true });
	};
	emitter.on(name, received);
	if (name !== "error") emitter.on("error", fail);
	for (const event of close) emitter.on(event, finish);
	signal?.addEventListener("abort", () => fail(abortError(signal.reason)), { once: true });
	return {
		next() {
			if (values.length > 0) return Promise.resolve({ value: values.shift(), done: false });
			if (failure !== undefined) {
				const error = failure;
				failure = undefined;
				return Promise.reject(error);
			}
			if (isDone) return Promise.resolve({ value: undefined, done: true });
			return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
		},
		return: finish,
		throw(error) { fail(error); return Promise.reject(error); },
		[Symbol.asyncIterator]() { return this; },
	};
}

module.exports = EventEmitter;
Object.assign(EventEmitter, {
	EventEmitter, once, on,
	defaultMaxListeners: 10,
	captureRejectionSymbol: CAPTURE,
	errorMonitor: ERROR_MONITOR,
	captureRejections: false,
	usingDomains: false,
	getEventListeners: (emitter, type) => emitter.listeners?.(type) ?? [],
	listenerCount: (emitter, type) => emitter.listenerCount(type),
	getMaxListeners: (emitter) => emitter.getMaxListeners?.() ?? 10,
	setMaxListeners(count, ...targets) {
		if (targets.length === 0) EventEmitter.defaultMaxListeners = count;
		for (const target of targets) target.setMaxListeners?.(count);
	},
	addAbortListener(signal, listener) {
		if (signal.aborted) queueMicrotask(() => listener());
		else signal.addEventListener("abort", listener, { once: true });
		return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
	},
	EventEmitterAsyncResource: class EventEmitterAsyncResource extends EventEmitter {},
});
