// Input of a terminal, cut into sequences.

const { EventEmitter } = require("node:events");

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A sequence that is complete; what begins like one and is not waits for more. */
const COMPLETE = /^\x1b(?:\[M[^]{3}|\[<[\d;]*[mM]|\[\[[A-E]|\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|O[^]|[P_\]][^]*?(?:\x1b\\|\x07)|[^[OP_\]\x1b])/;

/** Cuts input into sequences and emits them as `data`, pastes as `paste`. */
class StdinBuffer extends EventEmitter {
	#buffer = "";
	#paste;
	#timer;
	#timeout;
	#escapeTimeout;

	constructor(options = {}) {
		super();
		this.#timeout = options.timeout ?? 50;
		this.#escapeTimeout = options.escapeTimeout ?? 10;
	}

	process(data) {
		clearTimeout(this.#timer);
		this.#buffer += typeof data === "string" ? data : new TextDecoder().decode(data);
		while (this.#buffer !== "") {
			const before = this.#buffer.length;
			this.#take();
			if (this.#buffer.length === before) break;
		}
		if (this.#buffer === "" || this.#paste !== undefined) return;
		const wait = this.#buffer === "\x1b" ? this.#escapeTimeout : this.#timeout;
		this.#timer = setTimeout(() => this.flush().forEach((sequence) => this.emit("data", sequence)), wait);
	}

	#take() {
		if (this.#paste !== undefined) {
			this.#paste += this.#buffer;
			this.#buffer = "";
			const end = this.#paste.indexOf(PASTE_END);
			if (end < 0) return;
			const text = this.#paste.slice(0, end);
			this.#buffer = this.#paste.slice(end + PASTE_END.length);
			this.#paste = undefined;
			this.emit("paste", text);
		} else if (this.#buffer.startsWith(PASTE_START)) {
			this.#paste = "";
			this.#buffer = this.#buffer.slice(PASTE_START.length);
		} else if (this.#buffer.startsWith("\x1b")) {
			const sequence = COMPLETE.exec(this.#buffer)?.[0];
			if (sequence !== undefined) this.#emitFirst(sequence.length);
		} else {
			this.#emitFirst(String.fromCodePoint(this.#buffer.codePointAt(0)).length);
		}
	}

	#emitFirst(length) {
		const sequence = this.#buffer.slice(0, length);
		this.#buffer = this.#buffer.slice(length);
		this.emit("data", sequence);
	}

	flush() {
		clearTimeout(this.#timer);
		const rest = this.#buffer;
		this.#buffer = "";
		return rest === "" ? [] : [rest];
	}

	clear() {
		clearTimeout(this.#timer);
		this.#buffer = "";
		this.#paste = undefined;
	}

	getBuffer() {
		return this.#buffer;
	}

	destroy() {
		this.clear();
		this.removeAllListeners();
	}
}
exports.StdinBuffer = StdinBuffer;
