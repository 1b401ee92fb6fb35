// node:readline/promises: questions that return promises.

const readline = require("node:readline");
const { abortError } = require("pi:node-errors");

class Interface extends readline.Interface {
	question(text, options) {
		return new Promise((resolve, reject) => {
			const signal = options?.signal;
			if (signal?.aborted) return reject(abortError(signal.reason));
			signal?.addEventListener("abort", () => reject(abortError(signal.reason)), { once: true });
			super.question(text, options ?? {}, resolve);
		});
	}
}

/** Collects terminal sequences, and writes them together. */
class Readline {
	#stream;
	#text = "";
	constructor(stream) {
		this.#stream = stream;
	}
	#add(method, ...args) {
		readline[method]({ write: (text) => { this.#text += text; } }, ...args);
		return this;
	}
	clearLine(direction) {
		return this.#add("clearLine", direction);
	}
	clearScreenDown() {
		return this.#add("clearScreenDown");
	}
	cursorTo(column, row) {
		return this.#add("cursorTo", column, row);
	}
	moveCursor(columns, rows) {
		return this.#add("moveCursor", columns, rows);
	}
	rollback() {
		this.#text = "";
		return this;
	}
	async commit() {
		this.#stream.write(this.#text);
		this.#text = "";
	}
}

module.exports = { Interface, Readline, createInterface: (...args) => new Interface(...args) };
