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

/** Returns the sequence of a color; an empty one is the terminal's own. */
function sequence(color, ground, mode) {
	if (typeof color === "string" && color.startsWith("\x1b")) return color;
	if (color === "") return `\x1b[${ground}9m`;
	const { backgroundAnsi, foregroundAnsi, parseColor } = require("pi:tui/colors");
	const value = typeof color === "object" ? color : parseColor(color);
	return ground === 3 ? foregroundAnsi(value, mode) : backgroundAnsi(value, mode);
}

/** Returns the sequences of colors by name. Those of the screen are sequences already. */
function sequences(colors, ground, mode) {
	if (Object.values(colors).every((color) => typeof color === "string" && color.startsWith("\x1b"))) return colors;
	return Object.fromEntries(Object.entries(colors).map(([name, color]) => [name, sequence(color, ground, mode)]));
}

/** Returns the color that a sequence sets. */
function colorOf(open, isBackground, appearance) {
	const [, index] = /\x1b\[[34]8;5;(\d+)m/.exec(open) ?? [];
	if (index !== undefined) return { kind: "indexed", index: Number(index) };
	const [, r, g, b] = /\x1b\[[34]8;2;(\d+);(\d+);(\d+)m/.exec(open) ?? [];
	if (r !== undefined) return { kind: "rgb", r: Number(r), g: Number(g), b: Number(b) };
	const part = isBackground === (appearance === "light") ? 255 : 0;
	return { kind: "rgb", r: part, g: part, b: part };
}

/** A theme: escape sequences by the name of a color. */
class Theme {
	#fg;
	#bg;
	#isPlain;
	#mode;
	constructor(fg, bg, mode, options = {}) {
		this.#fg = sequences(fg, 3, mode);
		this.#bg = sequences(bg, 4, mode);
		this.#mode = mode;
		this.#isPlain = options.isPlain;
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
		// Without a screen, text has no attributes.
		this.#isPlain ??= require("native:ui").state(0xffffffff, "hasScreen", undefined) !== true;
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

	/** Applies colors, which are names of tokens or color values, and attributes. */
	style(text, options) {
		const { styleTextWithAnsi } = require("pi:tui/colors");
		const fg = options.fg === undefined ? undefined : this.#colorOf(options.fg, 3);
		const bg = options.bg === undefined ? undefined : this.#colorOf(options.bg, 4);
		return styleTextWithAnsi(text, fg, bg, options);
	}

	#colorOf(color, ground) {
		if (typeof color !== "string") return sequence(color, ground, this.#mode);
		return ground === 3 ? this.getFgAnsi(color) : this.getBgAnsi(color);
	}

	/** The colors of all tokens as values. Where the terminal's own color is used, it is a guess. */
	get colors() {
		const colors = {};
		for (const [name, open] of Object.entries({ ...this.#bg, ...this.#fg })) {
			colors[name] = colorOf(BACKGROUNDS.has(name) ? (this.#bg[name] ?? open) : open, BACKGROUNDS.has(name), this.appearance);
		}
		return colors;
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
