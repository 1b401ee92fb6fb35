// The event bus that all extensions of a thread share. Values are passed as they are.

const { assertActive } = require("pi:active");

/** Subscriptions by channel: { binding, handler }. */
const channels = new Map();

function report(channel, error) {
	const text = error instanceof Error ? error.stack : String(error);
	console.error(`Event handler error (${channel}): ${text}`);
}

/** Creates the bus as one run of a factory sees it. Its subscriptions end with it. */
exports.createBus = function createBus(binding) {
	return {
		emit(channel, data) {
			assertActive(binding);
			const subscriptions = channels.get(channel);
			if (subscriptions === undefined) return;
			for (const subscription of [...subscriptions]) {
				if (subscription.binding.isStale) {
					subscriptions.delete(subscription);
					continue;
				}
				try {
					const result = subscription.handler(data);
					if (typeof result?.then === "function") result.then(undefined, (error) => report(channel, error));
				} catch (error) {
					report(channel, error);
				}
			}
		},
		on(channel, handler) {
			assertActive(binding);
			let subscriptions = channels.get(channel);
			if (subscriptions === undefined) {
				subscriptions = new Set();
				channels.set(channel, subscriptions);
			}
			for (const old of subscriptions) if (old.binding.isStale) subscriptions.delete(old);
			const subscription = { binding, handler };
			subscriptions.add(subscription);
			return () => {
				subscriptions.delete(subscription);
			};
		},
	};
};
