// node:async_hooks: AsyncLocalStorage that follows promises, timers and microtasks.
//
// The engine has no hook for `await`. While code runs with a store, its promises pretend to be of
// another class, so that `await` asks them for `then`; the answer remembers the store. Code that
// runs without a store is not affected. An `await` of a value that is no promise asks nothing: the
// store is lost there.

const { missing } = require("pi:missing");

/** The stores of the running code; replaced, never changed. */
let current = new Map();
let isInstalled = false;

/** Returns a function that runs with the given stores. */
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

const queueNative = globalThis.queueMicrotask;

/**
 * Binds a function by which `await` goes on: what it enqueues, which is the rest of an async
 * function, runs between two microtasks that set and restore the stores.
 */
function bindAwait(settle, stores) {
	return (value) => {
		let before;
		queueNative(() => {
			before = current;
			current = stores;
		});
		const result = settle(value);
		queueNative(() => { current = before; });
		return result;
	};
}

/** Wraps what schedules code for later. */
function install() {
	if (isInstalled) return;
	isInstalled = true;
	const { then } = Promise.prototype;
	/** Not the class itself, so that `await` does not take a promise as it is. */
	const Other = Object.defineProperties(() => {}, { name: { value: "Promise" }, [Symbol.species]: { value: Promise } });
	/** The promise that was asked for its class last: `await` asks for the class, then for `then`. */
	let asked;
	Object.defineProperty(Promise.prototype, "then", {
		configurable: true,
		get() {
			const stores = current;
			const wrap = asked === this ? bindAwait : bind;
			asked = undefined;
			if (stores.size === 0) return then;
			return function (resolved, rejected) {
				const result = then.call(this, wrap(resolved, stores), wrap(rejected, stores));
				asked = undefined;
				return result;
			};
		},
		set(value) { Object.defineProperty(this, "then", { value, writable: true, configurable: true }); },
	});
	Object.defineProperty(Promise.prototype, "constructor", {
		configurable: true,
		get() {
			if (current.size === 0) return Promise;
			asked = this;
			return Other;
		},
		set(value) { Object.defineProperty(this, "constructor", { value, writable: true, configurable: true }); },
	});
	for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]) {
		const original = globalThis[name];
		const wrapper = (callback, ...args) => original(current.size === 0 ? callback : bind(callback), ...args);
		globalThis[name] = Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(original));
	}
	const { nextTick } = process;
	process.nextTick = (callback, ...args) => nextTick.call(process, current.size === 0 ? callback : bind(callback), ...args);
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
		return bind(callback, new Map(current).set(this, store))(...args);
	}
	exit(callback, ...args) {
		const stores = new Map(current);
		stores.delete(this);
		return bind(callback, stores)(...args);
	}
	/** For the rest of the running code, and what it awaits. */
	enterWith(store) {
		install();
		const before = current;
		current = new Map(current).set(this, store);
		queueNative(() => { current = before; });
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
