// Event, CustomEvent and EventTarget.

class Event {
	#type;
	#cancelable;
	#bubbles;
	#composed;
	#prevented = false;
	#stopped = false;
	#target = null;
	#time = performance.now();
	#dispatching = false;
	constructor(type, options = undefined) {
		if (arguments.length === 0) throw new TypeError('The "type" argument must be specified');
		this.#type = String(type);
		this.#bubbles = Boolean(options?.bubbles);
		this.#cancelable = Boolean(options?.cancelable);
		this.#composed = Boolean(options?.composed);
	}
	get type() { return this.#type; }
	get bubbles() { return this.#bubbles; }
	get cancelable() { return this.#cancelable; }
	get composed() { return this.#composed; }
	get defaultPrevented() { return this.#prevented; }
	get returnValue() { return !this.#prevented; }
	get target() { return this.#target; }
	get currentTarget() { return this.#dispatching ? this.#target : null; }
	get srcElement() { return this.#target; }
	get eventPhase() { return this.#dispatching ? 2 : 0; }
	get timeStamp() { return this.#time; }
	get isTrusted() { return false; }
	get cancelBubble() { return this.#stopped; }
	composedPath() { return this.#dispatching ? [this.#target] : []; }
	preventDefault() { if (this.#cancelable) this.#prevented = true; }
	stopPropagation() {}
	stopImmediatePropagation() { this.#stopped = true; }

	/** Runs the listeners of a target; for EventTarget only. */
	static dispatch(event, target, listeners) {
		event.#target = target;
		event.#dispatching = true;
		for (const listener of [...listeners]) {
			if (listener.isRemoved) continue;
			if (listener.once) listener.remove();
			try {
				const { callback } = listener;
				const result = typeof callback === "function" ? callback.call(target, event) : callback.handleEvent(event);
				if (typeof result?.then === "function") result.then(undefined, reportError);
			} catch (error) {
				reportError(error);
			}
			if (event.#stopped) break;
		}
		event.#dispatching = false;
		return !event.#prevented;
	}
}
const dispatch = Event.dispatch;
delete Event.dispatch;
Object.assign(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });
for (const key of ["type", "target", "cancelable", "defaultPrevented", "bubbles", "timeStamp"]) {
	Object.defineProperty(Event.prototype, key, { enumerable: true });
}
Object.defineProperty(Event.prototype, Symbol.toStringTag, { value: "Event", configurable: true });

class CustomEvent extends Event {
	#detail;
	constructor(type, options = undefined) {
		super(type, options);
		this.#detail = options?.detail ?? null;
	}
	get detail() { return this.#detail; }
}

/** Reports an error of a listener as uncaught; the other listeners still run. */
function reportError(error) {
	setTimeout(() => { throw error; }, 0);
}

class EventTarget {
	#listeners = new Map();

	addEventListener(type, callback, options = undefined) {
		if (callback === null || callback === undefined) return;
		if (typeof callback !== "function" && typeof callback !== "object") {
			throw new TypeError('The "listener" argument must be an instance of EventListener');
		}
		const settings = typeof options === "object" && options !== null ? options : { capture: Boolean(options) };
		const capture = Boolean(settings.capture);
		const { signal } = settings;
		if (signal?.aborted) return;
		const name = String(type);
		let list = this.#listeners.get(name);
		if (list === undefined) this.#listeners.set(name, (list = []));
		if (list.some((one) => one.callback === callback && one.capture === capture)) return;
		const listener = {
			callback, capture, once: Boolean(settings.once), isRemoved: false,
			remove: () => {
				listener.isRemoved = true;
				const at = list.indexOf(listener);
				if (at >= 0) list.splice(at, 1);
			},
		};
		list.push(listener);
		signal?.addEventListener("abort", listener.remove, { once: true });
	}

	removeEventListener(type, callback, options = undefined) {
		const capture = typeof options === "object" && options !== null ? Boolean(options.capture) : Boolean(options);
		const list = this.#listeners.get(String(type)) ?? [];
		list.find((one) => one.callback === callback && one.capture === capture)?.remove();
	}

	dispatchEvent(event) {
		if (!(event instanceof Event)) throw new TypeError('The "event" argument must be an instance of Event');
		return dispatch(event, this, this.#listeners.get(event.type) ?? []);
	}

	/** Returns the number of listeners of a type; for modules of the host. */
	static count(target, type) {
		return target.#listeners.get(type)?.length ?? 0;
	}
}
const countListeners = EventTarget.count;
delete EventTarget.count;
Object.defineProperty(EventTarget.prototype, Symbol.toStringTag, { value: "EventTarget", configurable: true });

/** Defines an `onNAME` property: a listener at the place of its first assignment. */
function defineHandler(prototype, type) {
	const handlers = new WeakMap();
	Object.defineProperty(prototype, `on${type}`, {
		configurable: true, enumerable: true,
		get() { return handlers.get(this)?.handler ?? null; },
		set(handler) {
			let entry = handlers.get(this);
			if (entry === undefined) {
				entry = { handler: null };
				entry.listener = (event) => entry.handler?.call(this, event);
				handlers.set(this, entry);
			}
			const isNew = entry.handler === null;
			entry.handler = typeof handler === "function" ? handler : null;
			if (entry.handler === null) this.removeEventListener(type, entry.listener);
			else if (isNew) this.addEventListener(type, entry.listener);
		},
	});
}

module.exports = { Event, CustomEvent, EventTarget, countListeners, defineHandler };
