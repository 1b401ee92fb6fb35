// node:readline: lines of a stream.

const { EventEmitter } = require("node:events");
const { StringDecoder } = require("node:string_decoder");
const { abortError, codeError } = require("pi:node-errors");

class Interface extends EventEmitter {
	#input;
	#output;
	#decoder = new StringDecoder("utf8");
	#rest = "";
	#question;
	#wasReturn = false;
	#isPaused = false;
	#waiting = [];
	#prompt;
	#listeners;

	constructor(options, output, completer, terminal) {
		super();
		const settings = options !== null && typeof options === "object" && options.input !== undefined ? options : { input: options, output, completer, terminal };
		this.#input = settings.input;
		this.#output = settings.output;
		this.#prompt = settings.prompt ?? "> ";
		this.terminal = settings.terminal ?? false;
		this.closed = false;
		this.history = [];
		this.line = "";
		this.cursor = 0;
		this.crlfDelay = settings.crlfDelay ?? 100;
		if (this.#input === undefined) return;
		this.#listeners = {
			data: (chunk) => this.#receive(typeof chunk === "string" ? chunk : this.#decoder.write(Buffer.from(chunk))),
			end: () => this.#finish(),
			error: (error) => this.emit("error", error),
		};
		for (const name of ["data", "end"]) this.#input.on(name, this.#listeners[name]);
		// A stream that is destroyed does not end.
		this.#listeners.close = this.#listeners.end;
		this.#input.on("close", this.#listeners.close);
		if (settings.signal) {
			if (settings.signal.aborted) queueMicrotask(() => this.close());
			else settings.signal.addEventListener("abort", () => this.close(), { once: true });
		}
		this.#input.resume?.();
	}

	#receive(text) {
		if (this.closed) return;
		let rest = text;
		// A line break of two characters may come in two parts.
		if (this.#wasReturn && rest.startsWith("\n")) rest = rest.slice(1);
		this.#wasReturn = rest === "" ? this.#wasReturn : rest.endsWith("\r");
		const lines = (this.#rest + rest).split(/\r\n|\n|\r|\u2028|\u2029/);
		this.#rest = lines.pop();
		for (const line of lines) this.#emitLine(line);
	}

	#emitLine(line) {
		// Lines that were read with others wait while the interface is paused.
		if (this.#isPaused) {
			this.#waiting.push(line);
			return;
		}
		if (this.#question !== undefined) {
			const answer = this.#question;
			this.#question = undefined;
			answer(line);
		} else this.emit("line", line);
	}

	#finish() {
		if (this.closed) return;
		const rest = this.#rest + this.#decoder.end();
		this.#rest = "";
		if (rest !== "") this.#emitLine(rest);
		if (!this.#isPaused) this.close();
	}

	close() {
		if (this.closed) return;
		this.closed = true;
		this.#input?.pause?.();
		if (this.#listeners !== undefined) {
			for (const name of ["data", "end", "close"]) this.#input.removeListener(name, this.#listeners[name]);
		}
		this.emit("close");
	}
	pause() {
		if (this.#isPaused) return this;
		this.#isPaused = true;
		this.#input?.pause?.();
		this.emit("pause");
		return this;
	}
	resume() {
		if (!this.#isPaused) return this;
		this.#isPaused = false;
		for (const line of this.#waiting.splice(0)) this.#emitLine(line);
		if (this.#input?.readableEnded || this.#input?.destroyed) this.#finish();
		else this.#input?.resume?.();
		this.emit("resume");
		return this;
	}
	question(text, options, callback = options) {
		if (this.closed) throw codeError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");
		this.#output?.write?.(text);
		this.#question = callback;
		const signal = typeof options === "object" ? options?.signal : undefined;
		signal?.addEventListener("abort", () => {
			if (this.#question === callback) this.#question = undefined;
		}, { once: true });
	}
	setPrompt(prompt) {
		this.#prompt = prompt;
	}
	getPrompt() {
		return this.#prompt;
	}
	prompt() {
		this.resume();
		this.#output?.write?.(this.#prompt);
	}
	write(data) {
		if (data !== undefined && data !== null) this.#receive(String(data));
	}
	getCursorPos() {
		return { rows: 0, cols: this.cursor };
	}
	[Symbol.dispose]() {
		this.close();
	}
	async *[Symbol.asyncIterator]() {
		const lines = [];
		let wake = () => {};
		let failure;
		const onLine = (line) => {
			lines.push(line);
			wake();
		};
		const onClose = () => wake();
		const onError = (error) => {
			failure = error;
			wake();
		};
		this.on("line", onLine);
		this.on("close", onClose);
		this.#input?.on("error", onError);
		try {
			for (;;) {
				if (failure !== undefined) throw failure;
				if (lines.length > 0) {
					yield lines.shift();
					// A reader that is slower than the stream must not collect all of it.
					if (lines.length < 512) this.resume();
				} else if (this.closed) return;
				else await new Promise((resolve) => { wake = resolve; });
				if (lines.length > 1024 && !this.closed) this.pause();
			}
		} finally {
			this.removeListener("line", onLine);
			this.removeListener("close", onClose);
			this.#input?.removeListener("error", onError);
			this.close();
		}
	}
}

function createInterface(...args) {
	return new Interface(...args);
}

const CUSTOM = Symbol.for("nodejs.util.promisify.custom");
Object.defineProperty(Interface.prototype.question, CUSTOM, {
	value(text, options) {
		return new Promise((resolve, reject) => {
			options?.signal?.addEventListener("abort", () => reject(abortError(options.signal.reason)), { once: true });
			this.question(text, options ?? {}, resolve);
		});
	},
});

/** Writes a terminal sequence. */
function sequence(stream, text, callback) {
	if (stream === undefined || stream === null) {
		callback?.();
		return true;
	}
	return stream.write(text, callback);
}

module.exports = {
	Interface,
	createInterface,
	clearLine: (stream, direction, callback) => sequence(stream, `\u001b[${direction < 0 ? 1 : direction > 0 ? 0 : 2}K`, callback),
	clearScreenDown: (stream, callback) => sequence(stream, "\u001b[0J", callback),
	cursorTo: (stream, column, row, callback) => sequence(stream, typeof row === "number" ? `\u001b[${row + 1};${column + 1}H` : `\u001b[${column + 1}G`, typeof row === "function" ? row : callback),
	moveCursor(stream, columns, rows, callback) {
		const move = (count, forward, back) => (count === 0 ? "" : `\u001b[${Math.abs(count)}${count > 0 ? forward : back}`);
		return sequence(stream, move(columns, "C", "D") + move(rows, "B", "A"), callback);
	},
	emitKeypressEvents: require("pi:missing").missing("readline.emitKeypressEvents"),
};
Object.defineProperty(module.exports, "promises", { enumerable: true, get: () => require("node:readline/promises") });
