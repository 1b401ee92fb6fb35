// Colors: as values, as escape sequences, and mixed.

const native = require("native:colors");
const { missing } = require("pi:missing");
const { getCapabilities } = require("pi:tui/terminal");

/** The first 16 colors of the palette, as most terminals define them. */
const PALETTE = [
	[0, 0, 0], [128, 0, 0], [0, 128, 0], [128, 128, 0], [0, 0, 128], [128, 0, 128], [0, 128, 128], [192, 192, 192],
	[128, 128, 128], [255, 0, 0], [0, 255, 0], [255, 255, 0], [0, 0, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];

function finite(value, name) {
	if (!Number.isFinite(value)) throw new RangeError(`${name} must be finite`);
	return value;
}

const byte = (value) => Math.max(0, Math.min(255, Math.round(value)));

exports.rgbColor = function rgbColor(r, g, b) {
	return { kind: "rgb", r: byte(finite(r, "r")), g: byte(finite(g, "g")), b: byte(finite(b, "b")) };
};

exports.indexedColor = function indexedColor(index) {
	return { kind: "indexed", index: byte(finite(index, "index")) };
};

exports.oklchColor = function oklchColor(l, c, h) {
	return { kind: "oklch", l: finite(l, "l"), c: finite(c, "c"), h: finite(h, "h") };
};

exports.okhslColor = function okhslColor(h, s, l) {
	const [r, g, b] = native.okhsl(finite(h, "h"), finite(s, "s"), finite(l, "l"));
	return { kind: "rgb", r, g, b };
};

const number = (text) => (text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text));

exports.parseColor = function parseColor(value) {
	if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255) return exports.indexedColor(value);
	const invalid = () => new Error(`Invalid color value: ${value}`);
	if (typeof value !== "string") throw invalid();
	const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(value)?.[1];
	if (hex !== undefined) {
		const digits = hex.length === 3 ? [...hex].map((digit) => digit + digit) : hex.match(/../g);
		return exports.rgbColor(...digits.map((part) => Number.parseInt(part, 16)));
	}
	const [, kind, inner] = /^(oklch|okhsl)\(([^)]*)\)$/i.exec(value.trim()) ?? [];
	const parts = inner?.trim().split(/[\s,]+/).map(number);
	if (parts?.length !== 3 || parts.some((part) => !Number.isFinite(part))) throw invalid();
	return kind.toLowerCase() === "oklch" ? exports.oklchColor(...parts) : exports.okhslColor(...parts);
};

function colorToRgb(color) {
	if (color.kind === "rgb") return { r: color.r, g: color.g, b: color.b };
	if (color.kind === "oklch") {
		const [r, g, b] = native.oklch(color.l, color.c, color.h);
		return { r, g, b };
	}
	const { index } = color;
	if (index < 16) {
		const [r, g, b] = PALETTE[index];
		return { r, g, b };
	}
	if (index >= 232) {
		const gray = 8 + (index - 232) * 10;
		return { r: gray, g: gray, b: gray };
	}
	const level = (step) => (step === 0 ? 0 : 55 + step * 40);
	const cube = index - 16;
	return { r: level(Math.floor(cube / 36)), g: level(Math.floor(cube / 6) % 6), b: level(cube % 6) };
}
exports.colorToRgb = colorToRgb;

exports.colorToHex = function colorToHex(color) {
	const { r, g, b } = colorToRgb(color);
	return `#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
};

exports.colorToOklch = function colorToOklch(color) {
	if (color.kind === "oklch") return { l: color.l, c: color.c, h: color.h };
	const { r, g, b } = colorToRgb(color);
	const [red, green, blue] = [r, g, b].map((part) => {
		const value = part / 255;
		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});
	const long = Math.cbrt(0.412221469470763 * red + 0.5363325372617349 * green + 0.0514459932675022 * blue);
	const medium = Math.cbrt(0.2119034958178252 * red + 0.6806995506452344 * green + 0.1073969535369406 * blue);
	const short = Math.cbrt(0.0883024591900564 * red + 0.2817188391361215 * green + 0.6299787016738222 * blue);
	const a = 1.9779985324311684 * long - 2.42859224204858 * medium + 0.450593709617411 * short;
	const bb = 0.0259040424655478 * long + 0.7827717124575296 * medium - 0.8086757549230774 * short;
	const hue = (Math.atan2(bb, a) * 180) / Math.PI;
	return {
		l: 0.210454268309314 * long + 0.7936177747023054 * medium - 0.0040720430116193 * short,
		c: Math.hypot(a, bb),
		h: hue < 0 ? hue + 360 : hue,
	};
};

exports.colorToOkhsl = missing("colorToOkhsl");

exports.oklabToOkhslLightness = function oklabToOkhslLightness(lightness) {
	const [k1, k2] = [0.206, 0.03];
	const k3 = (1 + k1) / (1 + k2);
	const x = k3 * lightness - k1;
	return 0.5 * (x + Math.sqrt(x * x + 4 * k2 * k3 * lightness));
};

/** Mixes two colors; the hue takes the shorter way. */
exports.mixColors = function mixColors(from, to, amount) {
	const part = Math.max(0, Math.min(1, finite(amount, "amount")));
	const a = exports.colorToOklch(from);
	const b = exports.colorToOklch(to);
	const turn = ((b.h - a.h + 540) % 360) - 180;
	const between = (x, y) => x + (y - x) * part;
	return exports.oklchColor(between(a.l, b.l), between(a.c, b.c), (a.h + turn * part + 360) % 360);
};

exports.getTerminalColorMode = function getTerminalColorMode() {
	return getCapabilities().trueColor ? "truecolor" : "256color";
};

function ansi(color, mode, ground) {
	if (color.kind === "indexed") return `\x1b[${ground}8;5;${color.index}m`;
	const { r, g, b } = colorToRgb(color);
	return mode === "truecolor" ? `\x1b[${ground}8;2;${r};${g};${b}m` : `\x1b[${ground}8;5;${native.to256(r, g, b)}m`;
}

exports.foregroundAnsi = function foregroundAnsi(color, mode = exports.getTerminalColorMode()) {
	return ansi(color, mode, 3);
};

exports.backgroundAnsi = function backgroundAnsi(color, mode = exports.getTerminalColorMode()) {
	return ansi(color, mode, 4);
};

/** Attributes in the order in which they are set, with the numbers that set and end them. */
const ATTRIBUTES = [["bold", 1, 22], ["dim", 2, 22], ["italic", 3, 23], ["underline", 4, 24], ["inverse", 7, 27], ["strikethrough", 9, 29]];

/** Sets colors, given as sequences, and attributes. */
exports.styleTextWithAnsi = function styleTextWithAnsi(text, fgAnsi, bgAnsi, style = {}) {
	let start = (fgAnsi ?? "") + (bgAnsi ?? "");
	const ends = [];
	if (fgAnsi) ends.push("\x1b[39m");
	if (bgAnsi) ends.push("\x1b[49m");
	for (const [name, on, off] of ATTRIBUTES) {
		if (!style[name]) continue;
		start += `\x1b[${on}m`;
		const end = `\x1b[${off}m`;
		if (!ends.includes(end)) ends.push(end);
	}
	return start + text + ends.reverse().join("");
};

exports.styleText = function styleText(text, style, mode = exports.getTerminalColorMode()) {
	const fg = style.fg === undefined ? undefined : ansi(style.fg, mode, 3);
	const bg = style.bg === undefined ? undefined : ansi(style.bg, mode, 4);
	return exports.styleTextWithAnsi(text, fg, bg, style);
};
