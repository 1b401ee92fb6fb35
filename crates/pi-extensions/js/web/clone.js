// structuredClone, MessageChannel and BroadcastChannel.

const { Event, EventTarget, defineHandler } = require("pi:event");

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function refuse(value) {
	let text;
	try {
		text = typeof value === "symbol" || typeof value === "function" ? String(value) : Object.prototype.toString.call(value);
	} catch {
		text = "#<Object>";
	}
	return new DOMException(`${text} could not be cloned.`, "DataCloneError");
}

function cloneValue(value, seen) {
	if (typeof value === "function" || typeof value === "symbol") throw refuse(value);
	if (value === null || typeof value !== "object") return value;
	if (seen.has(value)) return seen.get(value);
	const keep = (copy) => {
		seen.set(value, copy);
		return copy;
	};
	if (Array.isArray(value)) {
		const copy = keep(new Array(value.length));
		for (const key of Object.keys(value)) copy[key] = cloneValue(value[key], seen);
		return copy;
	}
	if (value instanceof Date) return keep(new Date(value.getTime()));
	if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
	if (value instanceof Map) {
		const copy = keep(new Map());
		for (const [key, item] of [...value]) copy.set(cloneValue(key, seen), cloneValue(item, seen));
		return copy;
	}
	if (value instanceof Set) {
		const copy = keep(new Set());
		for (const item of [...value]) copy.add(cloneValue(item, seen));
		return copy;
	}
	if (value instanceof ArrayBuffer) return keep(value.slice(0));
	if (ArrayBuffer.isView(value)) {
		const buffer = cloneValue(value.buffer, seen);
		const Class = value instanceof DataView ? DataView : Object.getPrototypeOf(Uint8Array).prototype[Symbol.toStringTag] === undefined ? globalThis[value[Symbol.toStringTag]] : value.constructor;
		return keep(new Class(buffer, value.byteOffset, value instanceof DataView ? value.byteLength : value.length));
	}
	if (value instanceof Error) return cloneError(value, seen, keep);
	if (value instanceof Boolean || value instanceof Number || value instanceof String) return keep(Object(value.valueOf()));
	if (typeof Blob === "function" && value instanceof Blob) return keep(value);
	if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise) throw refuse(value);
	const copy = keep({});
	for (const key of Object.keys(value)) copy[key] = cloneValue(value[key], seen);
	return copy;
}

function cloneError(error, seen, keep) {
	if (error instanceof DOMException) return keep(new DOMException(error.message, error.name));
	const copy = keep(Object.create((ERRORS[error.name] ?? Error).prototype));
	const real = new (ERRORS[error.name] ?? Error)(error.message);
	seen.set(error, real);
	if (copy !== real && "cause" in error) real.cause = cloneValue(error.cause, seen);
	Object.defineProperty(real, "stack", { value: error.stack, writable: true, configurable: true });
	return real;
}

function structuredClone(value, options = undefined) {
	if (arguments.length === 0) throw new TypeError("The \"value\" argument must be specified");
	const seen = new Map();
	for (const item of options?.transfer ?? []) {
		if (item instanceof ArrayBuffer) seen.set(item, item.transfer());
		else if (item instanceof MessagePort) seen.set(item, item);
	}
	return cloneValue(value, seen);
}

class MessageEvent extends Event {
	constructor(type, { data = null, origin = "", lastEventId = "", source = null, ports = [], ...rest } = {}) {
		super(type, rest);
		Object.assign(this, { data, origin, lastEventId, source, ports });
	}
}

class MessagePort extends EventTarget {
	#other;
	#queue = [];
	#isStarted = false;
	#isClosed = false;
	postMessage(value, transfer = undefined) {
		const data = structuredClone(value, Array.isArray(transfer) ? { transfer } : transfer);
		const other = this.#other;
		if (other === undefined || this.#isClosed || other.#isClosed) return;
		other.#queue.push(data);
		if (other.#isStarted) other.#schedule();
	}
	start() {
		if (this.#isStarted) return;
		this.#isStarted = true;
		this.#schedule();
	}
	close() {
		if (this.#isClosed) return;
		this.#isClosed = true;
		setImmediate(() => this.dispatchEvent(new Event("close")));
		this.#other?.close();
	}
	ref() { return this; }
	unref() { return this; }
	/** Listeners as Node has them: they receive the value. */
	on(name, listener) {
		const wrapper = (event) => listener(name === "message" ? event.data : event);
		wrappers.set(listener, wrapper);
		this.addEventListener(name, wrapper);
		if (name === "message") this.start();
		return this;
	}
	once(name, listener) {
		const wrapper = (event) => listener(name === "message" ? event.data : event);
		this.addEventListener(name, wrapper, { once: true });
		if (name === "message") this.start();
		return this;
	}
	off(name, listener) {
		this.removeEventListener(name, wrappers.get(listener) ?? listener);
		return this;
	}
	#schedule() {
		setImmediate(() => {
			for (const data of this.#queue.splice(0)) {
				if (this.#isClosed) return;
				this.dispatchEvent(new MessageEvent("message", { data }));
			}
		});
	}
	static link(a, b) {
		a.#other = b;
		b.#other = a;
	}
}
const wrappers = new WeakMap();
const { link } = MessagePort;
delete MessagePort.link;
defineHandler(MessagePort.prototype, "message");
defineHandler(MessagePort.prototype, "messageerror");
defineHandler(MessagePort.prototype, "close");
const handler = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
Object.defineProperty(MessagePort.prototype, "onmessage", {
	...handler,
	set(value) {
		handler.set.call(this, value);
		this.start();
	},
});

class MessageChannel {
	constructor() {
		this.port1 = new MessagePort();
		this.port2 = new MessagePort();
		link(this.port1, this.port2);
	}
}

const channels = new Map();

class BroadcastChannel extends EventTarget {
	#name;
	constructor(name) {
		super();
		this.#name = String(name);
		const list = channels.get(this.#name) ?? new Set();
		channels.set(this.#name, list.add(this));
	}
	get name() { return this.#name; }
	postMessage(value) {
		const data = structuredClone(value);
		for (const other of channels.get(this.#name) ?? []) {
			if (other !== this) setImmediate(() => other.dispatchEvent(new MessageEvent("message", { data })));
		}
	}
	close() { channels.get(this.#name)?.delete(this); }
	ref() { return this; }
	unref() { return this; }
}
defineHandler(BroadcastChannel.prototype, "message");
defineHandler(BroadcastChannel.prototype, "messageerror");

module.exports = { structuredClone, MessageEvent, MessagePort, MessageChannel, BroadcastChannel };
