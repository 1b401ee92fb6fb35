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

module.exports = {
	Channel,
	channel,
	hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
	subscribe: (name, subscriber) => channel(name).subscribe(subscriber),
	unsubscribe: (name, subscriber) => channel(name).unsubscribe(subscriber),
	tracingChannel: require("pi:missing").missing("diagnostics_channel.tracingChannel"),
};
