// The streams of the web platform in one place.

const readable = require("pi:readable-stream");
const writable = require("pi:writable-stream");

module.exports = {
	...readable,
	...writable,
	/** Resolves when a stream has ended, rejects when it failed. */
	closedOf: (stream) => (stream instanceof readable.ReadableStream ? readable : writable).finishedOf(stream),
};
