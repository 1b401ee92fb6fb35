// node:worker_threads: the main thread and message channels; workers fail by name.

const { MessageChannel, MessagePort, BroadcastChannel } = require("pi:clone");
const { absent } = require("pi:absent");

module.exports = {
	...absent("worker_threads", ["Worker", "moveMessagePortToContext", "receiveMessageOnPort", "postMessageToThread"]),
	isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: {}, SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
	MessageChannel, MessagePort, BroadcastChannel,
	markAsUntransferable() {}, isMarkedAsUntransferable: () => false,
	getEnvironmentData: () => undefined, setEnvironmentData() {},
};
