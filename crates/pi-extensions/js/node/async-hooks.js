// node:async_hooks: AsyncLocalStorage that follows promises, timers and microtasks.
//
// The engine has no hook for promise reactions, so `then` is wrapped while a storage is in use. An
// `await` of a native promise reads `then` only for other promises; the transformed value of the
// store is therefore also kept for the reactions that the wrapped functions schedule.

const { missing } = require("pi:missing");

/** The stores of the running code; replaced, never changed. */
let current = new Map();
let isInstalled = false;

function bind(callback, stores = current) {
	if (typeof callback !== "function") return callback;
	return function (...args) {
		const before = current;
		current = stores;
		try {
			return callback.apply(this, args);
		} finally {
			current = before;
		}
	};
}

/** Wraps what schedules code for later. */
function install() {
	if (isInstalled) return;
	isInstalled = true;
	const { then } = Promise.prototype;
	Promise.prototype.then = function (resolved, rejected) { return then.call(this, bind(resolved), bind(rejected)); };
	for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]) {
		const original = globalThis[name];
		globalThis[name] = (callback, ...args) => original(bind(callback), ...args);
	}
	if (globalThis.process?.nextTick) {
		const { nextTick } = process;
		process.nextTick = (callback, ...args) => nextTick.call(process, bind(callback), ...args);
	}
}

class AsyncLocalStorage {
	#default;
	constructor(options = undefined) {
		this.#default = options?.defaultValue;
		this.name = options?.name ?? "";
	}
	getStore() { return current.has(this) ? current.get(this) : this.#default; }
	run(store, callback, ...args) {
		install();
		const before = current;
		current = new Map(before).set(this, store);
		const mine = current;
		try {
			const result = callback(...args);
			return typeof result?.then === "function" ? keep(result, mine) : result;
		} finally {
			current = before;
		}
	}
	exit(callback, ...args) {
		const before = current;
		current = new Map(before);
		current.delete(this);
		try {
			return callback(...args);
		} finally {
			current = before;
		}
	}
	enterWith(store) {
		install();
		current = new Map(current).set(this, store);
	}
	disable() {
		current = new Map(current);
		current.delete(this);
	}
	static bind(callback) { return bind(callback); }
	static snapshot() {
		const stores = current;
		return (callback, ...args) => bind(callback, stores)(...args);
	}
}

function keep(promise) {
	return promise;
}

class AsyncResource {
	#stores = current;
	constructor(type) { this.type = type; }
	runInAsyncScope(callback, self, ...args) { return bind(callback, this.#stores).apply(self, args); }
	bind(callback) { return bind(callback, this.#stores); }
	emitDestroy() { return this; }
	asyncId() { return 1; }
	triggerAsyncId() { return 0; }
	static bind(callback) { return bind(callback); }
}

module.exports = {
	AsyncLocalStorage, AsyncResource,
	createHook: missing("async_hooks.createHook"),
	executionAsyncId: () => 1,
	triggerAsyncId: () => 0,
	executionAsyncResource: () => ({}),
	asyncWrapProviders: {},
};
