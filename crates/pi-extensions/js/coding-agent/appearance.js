// The theme and the keys of the screen, as functions that components take.

const code = require("native:markdown");
const ui = require("native:ui");
const { getKeybindings } = require("pi:tui/keybindings");
const { Theme, themeFrom } = require("pi:theme");

exports.Theme = Theme;

/** Reads the screen of any extension: they share it. */
const ANY = 0xffffffff;

let known;
let chosen;

/** Returns the theme in use. */
function theme() {
	if (chosen !== undefined) return chosen;
	const generation = ui.state(ANY, "themeGeneration", undefined);
	if (known?.generation !== generation) known = { generation, theme: themeFrom(ui.state(ANY, "theme", undefined)) };
	return known.theme;
}
exports.theme = theme;

/** Selects a theme by name for components; without a name that of the screen. */
exports.initTheme = function initTheme(name) {
	chosen = undefined;
	if (name === undefined) return;
	const found = ui.state(ANY, "findTheme", name) ?? ui.state(ANY, "builtinTheme", name);
	if (found !== null && found !== undefined) chosen = themeFrom(found);
};

const fg = (color) => (text) => theme().fg(color, text);

exports.getMarkdownTheme = function getMarkdownTheme() {
	return {
		heading: fg("mdHeading"),
		link: fg("mdLink"),
		linkUrl: fg("mdLinkUrl"),
		code: fg("mdCode"),
		codeBlock: fg("mdCodeBlock"),
		codeBlockBorder: fg("mdCodeBlockBorder"),
		quote: fg("mdQuote"),
		quoteBorder: fg("mdQuoteBorder"),
		hr: fg("mdHr"),
		listBullet: fg("mdListBullet"),
		bold: (text) => theme().bold(text),
		italic: (text) => theme().italic(text),
		underline: (text) => theme().underline(text),
		strikethrough: (text) => theme().strikethrough(text),
		highlightCode,
	};
};

exports.getSelectListTheme = function getSelectListTheme() {
	return {
		selectedPrefix: fg("accent"),
		selectedText: fg("accent"),
		description: fg("muted"),
		scrollInfo: fg("muted"),
		noMatch: fg("muted"),
	};
};

exports.getEditorTheme = function getEditorTheme() {
	return { borderColor: fg("borderMuted"), selectList: exports.getSelectListTheme() };
};

exports.getSettingsListTheme = function getSettingsListTheme() {
	return {
		label: (text, isSelected) => (isSelected ? theme().fg("accent", text) : text),
		value: (text, isSelected) => theme().fg(isSelected ? "accent" : "muted", text),
		description: fg("dim"),
		cursor: theme().fg("accent", "→ "),
		hint: fg("dim"),
	};
};

/** Returns lines of code in the colors of the theme. */
function highlightCode(text, lang) {
	const lines = lang ? code.highlight(text, lang) : undefined;
	if (lines === null || lines === undefined) return text.split("\n").map((line) => theme().fg("mdCodeBlock", line));
	// The grammar does not count an empty line at the end.
	const missing = text.split("\n").length - lines.length;
	for (let i = 0; i < missing; i++) lines.push([]);
	return lines.map((spans) => refined(spans, lang.toLowerCase()).map(([token, part]) => colored(token, part)).join(""));
}

/** Colors a part of a line; the spaces around it have no color. */
function colored(token, part) {
	if (token === null || token === undefined || part.trim() === "") return part;
	const [, before, text, after] = /^(\s*)([^]*?)(\s*)$/.exec(part);
	return before + theme().fg(token, text) + after;
}

const SCRIPTS = new Set(["js", "javascript", "jsx", "mjs", "cjs", "ts", "typescript", "tsx", "mts", "cts"]);

/** Adapts the grammar's tokens to those of the transcript: names in scripts are plain, keys of JSON are not texts. */
function refined(spans, lang) {
	if (SCRIPTS.has(lang)) return spans.map(([token, part]) => [token === "syntaxVariable" ? null : token, part]);
	if (lang !== "json" && lang !== "jsonc") return spans;
	const rest = spans.map(([, part]) => part);
	return spans.map(([token, part], at) => {
		const isKey = token === "syntaxString" && /^\s*:/.test(rest.slice(at + 1).join(""));
		return [isKey ? "syntaxVariable" : token, part];
	});
}
exports.highlightCode = highlightCode;

/** Returns the keys of an action: `escape/ctrl+c`. */
function keyText(keybinding) {
	return getKeybindings().getKeys(keybinding).join("/");
}
exports.keyText = keyText;

exports.keyHint = function keyHint(keybinding, description) {
	return exports.rawKeyHint(keyText(keybinding), description);
};

exports.rawKeyHint = function rawKeyHint(key, description) {
	return theme().fg("dim", key) + theme().fg("muted", ` ${description}`);
};

/** Colors the lines of a diff: `+12 added`, `-12 removed`, ` 12 same`. */
exports.renderDiff = function renderDiff(diffText) {
	const color = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };
	return diffText
		.split("\n")
		.map((line) => theme().fg(color[line[0]] ?? "toolDiffContext", line.replace(/\t/g, "   ")))
		.join("\n");
};
