// node:diagnostics_channel: named channels of messages within the realm.

const channels = new Map();

class Channel {
	#subscribers = [];
	constructor(name) {
		this.name = name;
	}
	get hasSubscribers() {
		return this.#subscribers.length > 0;
	}
	subscribe(subscriber) {
		this.#subscribers = [...this.#subscribers, subscriber];
	}
	unsubscribe(subscriber) {
		const had = this.#subscribers.includes(subscriber);
		this.#subscribers = this.#subscribers.filter((other) => other !== subscriber);
		return had;
	}
	publish(message) {
		for (const subscriber of this.#subscribers) subscriber(message, this.name);
	}
	runStores(message, callback, thisArg, ...args) {
		this.publish(message);
		return callback.apply(thisArg, args);
	}
}

function channel(name) {
	let found = channels.get(name);
	if (found === undefined) {
		found = new Channel(name);
		channels.set(name, found);
	}
	return found;
}

const STEPS = ["start", "end", "asyncStart", "asyncEnd", "error"];

/** Five channels that report the steps of an operation. */
class TracingChannel {
	constructor(channels) {
		for (const step of STEPS) this[step] = channels[step];
	}
	get hasSubscribers() {
		return STEPS.some((step) => this[step]?.hasSubscribers);
	}
	subscribe(handlers) {
		for (const step of STEPS) if (handlers[step] !== undefined) this[step].subscribe(handlers[step]);
	}
	unsubscribe(handlers) {
		const removed = STEPS.filter((step) => handlers[step] !== undefined).map((step) => this[step].unsubscribe(handlers[step]));
		return removed.every(Boolean);
	}
	traceSync(callback, context = {}, thisArg, ...args) {
		this.start.publish(context);
		try {
			context.result = callback.apply(thisArg, args);
			return context.result;
		} catch (error) {
			context.error = error;
			this.error.publish(context);
			throw error;
		} finally {
			this.end.publish(context);
		}
	}
	tracePromise(callback, context = {}, thisArg, ...args) {
		this.start.publish(context);
		const settle = (name, value) => {
			context[name] = value;
			if (name === "error") this.error.publish(context);
			this.asyncStart.publish(context);
			this.asyncEnd.publish(context);
		};
		try {
			return Promise.resolve(callback.apply(thisArg, args)).then(
				(value) => {
					settle("result", value);
					return value;
				},
				(error) => {
					settle("error", error);
					throw error;
				},
			);
		} catch (error) {
			context.error = error;
			this.error.publish(context);
			throw error;
		} finally {
			this.end.publish(context);
		}
	}
	traceCallback(callback, position = -1, context = {}, thisArg, ...args) {
		const done = args.at(position);
		const traced = (...results) => {
			const [error, result] = results;
			if (error) Object.assign(context, { error });
			else context.result = result;
			if (error) this.error.publish(context);
			this.asyncStart.publish(context);
			try {
				return done(...results);
			} finally {
				this.asyncEnd.publish(context);
			}
		};
		args.splice(position, 1, traced);
		return this.traceSync(callback, context, thisArg, ...args);
	}
}

function tracingChannel(name) {
	if (typeof name !== "string") return new TracingChannel(name);
	return new TracingChannel(Object.fromEntries(STEPS.map((step) => [step, channel(`tracing:${name}:${step}`)])));
}

module.exports = {
	Channel,
	TracingChannel,
	channel,
	hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
	subscribe: (name, subscriber) => channel(name).subscribe(subscriber),
	unsubscribe: (name, subscriber) => channel(name).unsubscribe(subscriber),
	tracingChannel,
};
