// node:stream/promises.

const tools = require("pi:stream-tools");

/** Options are a plain object after the streams. */
function isOptions(value) {
	return value !== null && typeof value === "object" && !tools.isStream(value) && ("signal" in value || "end" in value) && value[Symbol.asyncIterator] === undefined;
}

module.exports = {
	pipeline(...parts) {
		const options = isOptions(parts.at(-1)) ? parts.pop() : {};
		return new Promise((resolve, reject) => {
			tools.connect(parts.length === 1 && Array.isArray(parts[0]) ? parts[0] : parts, options, (error, value) => (error ? reject(error) : resolve(value)));
		});
	},
	finished(stream, options) {
		return new Promise((resolve, reject) => {
			tools.finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()));
		});
	},
};
