// Themes: the colors that an extension writes its text with.

const FAINT = "\x1b[2m";

const BACKGROUNDS = new Set([
	"selectedBg", "searchMatchBg", "userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg",
]);

const ATTRIBUTES = {
	bold: ["\x1b[1m", "\x1b[22m"],
	italic: ["\x1b[3m", "\x1b[23m"],
	underline: ["\x1b[4m", "\x1b[24m"],
	inverse: ["\x1b[7m", "\x1b[27m"],
	strikethrough: ["\x1b[9m", "\x1b[29m"],
	dim: [FAINT, "\x1b[22m"],
};

/** A theme: escape sequences by the name of a color. */
class Theme {
	#fg;
	#bg;
	#isPlain;
	#mode;
	constructor(fg, bg, mode, options = {}) {
		this.#fg = fg;
		this.#bg = bg;
		this.#mode = mode;
		this.#isPlain = options.isPlain === true;
		this.name = options.name;
		this.sourcePath = options.sourcePath;
		this.sourceInfo = options.sourceInfo;
		this.appearance = options.appearance ?? "dark";
	}

	fg(color, text) {
		const open = this.getFgAnsi(color);
		return `${open}${text}${open.endsWith(FAINT) ? "\x1b[22;39m" : "\x1b[39m"}`;
	}

	bg(color, text) {
		return `${this.getBgAnsi(color)}${text}\x1b[49m`;
	}

	getFgAnsi(color) {
		const open = BACKGROUNDS.has(color) ? undefined : this.#fg[color];
		if (open === undefined) throw new Error(`Unknown theme color: ${color}`);
		return open;
	}

	getBgAnsi(color) {
		const open = BACKGROUNDS.has(color) ? this.#bg[color] : undefined;
		if (open === undefined) throw new Error(`Unknown theme color: ${color}`);
		return open;
	}

	#attribute(name, text) {
		if (this.#isPlain) return String(text);
		const [open, close] = ATTRIBUTES[name];
		return `${open}${text}${close}`;
	}

	bold(text) {
		return this.#attribute("bold", text);
	}

	italic(text) {
		return this.#attribute("italic", text);
	}

	underline(text) {
		return this.#attribute("underline", text);
	}

	inverse(text) {
		return this.#attribute("inverse", text);
	}

	strikethrough(text) {
		return this.#attribute("strikethrough", text);
	}

	/** Applies colors and attributes at once. Colors are names of tokens. */
	style(text, options) {
		let open = "";
		let close = "";
		const add = (begin, end) => {
			open += begin;
			close = end + close;
		};
		if (options.bg !== undefined) add(this.#colorOf(options.bg, "bg"), "\x1b[49m");
		if (options.fg !== undefined) add(this.#colorOf(options.fg, "fg"), "\x1b[39m");
		for (const name of Object.keys(ATTRIBUTES)) if (options[name]) add(...ATTRIBUTES[name]);
		return `${open}${text}${close}`;
	}

	#colorOf(color, ground) {
		if (typeof color === "string") return ground === "fg" ? this.getFgAnsi(color) : this.getBgAnsi(color);
		const { r, g, b } = color;
		return `\x1b[${ground === "fg" ? 38 : 48};2;${r};${g};${b}m`;
	}

	getColorMode() {
		return this.#mode;
	}

	getThinkingBorderColor(level) {
		const name = `thinking${level.charAt(0).toUpperCase()}${level.slice(1)}`;
		const color = name in this.#fg ? name : "thinkingOff";
		return (text) => this.fg(color, text);
	}

	getBashModeBorderColor() {
		return (text) => this.fg("bashMode", text);
	}
}

/** Creates a theme from the data of the interface. */
function themeFrom(data) {
	const isTrueColor = Object.values(data.fg).some((open) => open.includes(";2;"));
	return new Theme(data.fg, data.bg, isTrueColor ? "truecolor" : "256color", {
		name: data.name,
		sourcePath: data.path ?? undefined,
		appearance: data.isLight ? "light" : "dark",
		isPlain: data.isPlain,
	});
}

module.exports = { Theme, themeFrom };
