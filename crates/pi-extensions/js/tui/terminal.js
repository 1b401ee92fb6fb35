// The terminal: its abilities, and the classes by which extensions know it.

const { missing } = require("pi:missing");

let cached;
let overrides = {};
let cell = { widthPx: 9, heightPx: 18 };

/** Returns the abilities of the terminal that the environment names. */
function detectCapabilities() {
	const env = globalThis.process?.env ?? {};
	const stdout = globalThis.process?.stdout;
	const program = (env.TERM_PROGRAM ?? "").toLowerCase();
	const term = (env.TERM ?? "").toLowerCase();
	const trueColor = env.COLORTERM === "truecolor" || env.COLORTERM === "24bit";
	// A multiplexer shows neither images nor links of the terminal around it.
	if (env.TMUX || term.startsWith("tmux") || term.startsWith("screen")) return { images: null, trueColor, hyperlinks: false };
	if (env.KITTY_WINDOW_ID || program === "kitty" || term.includes("kitty")) return { images: "kitty", trueColor: true, hyperlinks: true };
	if (program === "ghostty" || term.includes("ghostty") || env.GHOSTTY_RESOURCES_DIR) return { images: "kitty", trueColor: true, hyperlinks: true };
	if (env.WEZTERM_PANE || program === "wezterm") return { images: "kitty", trueColor: true, hyperlinks: true };
	if (env.ITERM_SESSION_ID || program === "iterm.app") return { images: "iterm2", trueColor: true, hyperlinks: true };
	if (program === "vscode" || program === "alacritty") return { images: null, trueColor: true, hyperlinks: true };
	return { images: null, trueColor, hyperlinks: Boolean(stdout?.isTTY) && Boolean(env.WT_SESSION) };
}
exports.detectCapabilities = detectCapabilities;

exports.getCapabilities = function getCapabilities() {
	cached ??= { ...detectCapabilities(), ...overrides };
	return cached;
};

exports.resetCapabilitiesCache = function resetCapabilitiesCache() {
	cached = undefined;
};

exports.setCapabilities = function setCapabilities(capabilities) {
	cached = capabilities;
};

exports.setCapabilityOverrides = function setCapabilityOverrides(values) {
	overrides = { ...values };
	cached = undefined;
};

exports.getCellDimensions = function getCellDimensions() {
	return cell;
};

exports.setCellDimensions = function setCellDimensions(dimensions) {
	cell = dimensions;
};

exports.isAppleTerminalSession = function isAppleTerminalSession() {
	return globalThis.process?.env?.TERM_PROGRAM === "Apple_Terminal";
};

exports.getNativeClipboard = function getNativeClipboard() {
	return null;
};

exports.parseTerminalColorSchemeReport = function parseTerminalColorSchemeReport(data) {
	const kind = /\x1b\[\?997;([12])n/.exec(data)?.[1];
	return kind === undefined ? undefined : kind === "1" ? "dark" : "light";
};

/** Returns the sequence that tells the terminal what the program does. */
exports.formatProgramStatus = function formatProgramStatus(status) {
	const fields = [`state=${status.state}`];
	if (status.kind) fields.push(`kind=${status.kind}`);
	if (status.message) {
		const line = status.message.replace(/[\x00-\x1f\x7f]+/g, " ");
		const bytes = new TextEncoder().encode(line);
		fields.push(`msg=${btoa(String.fromCharCode(...bytes))}`);
	}
	return `\x1b]7501;${fields.join(":")}\x1b\\`;
};

/** The screen belongs to the program: an extension can ask for its size and write nothing to it. */
class ProcessTerminal {
	get columns() {
		return globalThis.process?.stdout?.columns ?? 80;
	}
	get rows() {
		return globalThis.process?.stdout?.rows ?? 24;
	}
	get kittyProtocolActive() {
		return require("pi:tui/keys").isKittyProtocolActive();
	}
}
const ACTIONS = ["start", "stop", "drainInput", "write", "moveBy", "hideCursor", "showCursor", "clearLine", "clearFromCursor", "clearScreen", "setTitle", "setProgress", "setProgramStatus"];
for (const name of ACTIONS) {
	Object.defineProperty(ProcessTerminal.prototype, name, { value: missing(`ProcessTerminal.${name}`), configurable: true, writable: true });
}
exports.ProcessTerminal = ProcessTerminal;

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A sequence that is complete; what begins like one and is not waits for more. */
const COMPLETE = /^\x1b(?:\[M[^]{3}|\[<[\d;]*[mM]|\[\[[A-E]|\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|O[^]|[P_\]][^]*?(?:\x1b\\|\x07)|[^[OP_\]\x1b])/;

/** Cuts input into sequences and emits them as `data`, pastes as `paste`. */
class StdinBuffer {
	#buffer = "";
	#paste;
	#timer;
	#timeout;
	#escapeTimeout;
	#listeners = new Map();

	constructor(options = {}) {
		this.#timeout = options.timeout ?? 50;
		this.#escapeTimeout = options.escapeTimeout ?? 10;
	}

	on(event, listener) {
		this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
		return this;
	}

	off(event, listener) {
		this.#listeners.set(event, (this.#listeners.get(event) ?? []).filter((one) => one !== listener));
		return this;
	}

	emit(event, ...values) {
		const listeners = this.#listeners.get(event) ?? [];
		for (const listener of listeners) listener.apply(this, values);
		return listeners.length > 0;
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
		this.#listeners.clear();
	}
}
exports.StdinBuffer = StdinBuffer;
