// AbortController and AbortSignal.

const { Event, EventTarget, defineHandler } = require("pi:event");

/** Only this module creates signals. */
const KEY = Symbol("signal");

function abortReason() {
	return new DOMException("This operation was aborted", "AbortError");
}

class AbortSignal extends EventTarget {
	#aborted = false;
	#reason;
	/** Signals that follow this one, held only as long as they are used. */
	#dependents = new Set();
	#sources = [];

	constructor(key) {
		if (key !== KEY) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_ILLEGAL_CONSTRUCTOR" });
		super();
	}

	get aborted() { return this.#aborted; }
	get reason() { return this.#reason; }

	throwIfAborted() {
		if (this.#aborted) throw this.#reason;
	}

	static abort(reason = abortReason()) {
		const signal = new AbortSignal(KEY);
		signal.#aborted = true;
		signal.#reason = reason;
		return signal;
	}

	static timeout(milliseconds) {
		const signal = new AbortSignal(KEY);
		const timer = setTimeout(() => {
			AbortSignal.#trigger(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
		}, milliseconds);
		timer.unref?.();
		return signal;
	}

	static any(signals) {
		const result = new AbortSignal(KEY);
		const sources = [...signals];
		for (const source of sources) {
			if (source.aborted) return AbortSignal.abort(source.reason);
		}
		for (const source of sources) source.#dependents.add(result);
		result.#sources = sources;
		return result;
	}

	static #trigger(signal, reason) {
		if (signal.#aborted) return;
		signal.#aborted = true;
		signal.#reason = reason;
		for (const source of signal.#sources) source.#dependents.delete(signal);
		signal.#sources = [];
		const dependents = [...signal.#dependents];
		signal.#dependents.clear();
		signal.dispatchEvent(new Event("abort"));
		for (const dependent of dependents) AbortSignal.#trigger(dependent, reason);
	}

	static create() {
		return [new AbortSignal(KEY), AbortSignal.#trigger];
	}
}
const create = AbortSignal.create;
delete AbortSignal.create;
defineHandler(AbortSignal.prototype, "abort");
Object.defineProperty(AbortSignal.prototype, "aborted", { enumerable: true });
Object.defineProperty(AbortSignal.prototype, Symbol.toStringTag, { value: "AbortSignal", configurable: true });

class AbortController {
	#signal;
	#trigger;
	constructor() {
		[this.#signal, this.#trigger] = create();
	}
	get signal() { return this.#signal; }
	abort(reason = abortReason()) {
		this.#trigger(this.#signal, reason);
	}
}
Object.defineProperty(AbortController.prototype, "signal", { enumerable: true });
Object.defineProperty(AbortController.prototype, Symbol.toStringTag, { value: "AbortController", configurable: true });

module.exports = { AbortController, AbortSignal };
