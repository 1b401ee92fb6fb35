// Keys: names, and the names that raw terminal input has.

const native = require("native:keys");

const NAMED = ["escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end", "pageUp", "pageDown", "up", "down", "left", "right", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"];

const SYMBOLS = {
	backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";", quote: "'",
	comma: ",", period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$", percent: "%", caret: "^",
	ampersand: "&", asterisk: "*", leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|", tilde: "~",
	leftbrace: "{", rightbrace: "}", colon: ":", lessthan: "<", greaterthan: ">", question: "?",
};

const MODIFIERS = {
	ctrl: "ctrl", shift: "shift", alt: "alt", super: "super", ctrlShift: "ctrl+shift", shiftCtrl: "shift+ctrl", ctrlAlt: "ctrl+alt",
	altCtrl: "alt+ctrl", shiftAlt: "shift+alt", altShift: "alt+shift", ctrlSuper: "ctrl+super", superCtrl: "super+ctrl",
	shiftSuper: "shift+super", superShift: "super+shift", altSuper: "alt+super", superAlt: "super+alt",
	ctrlShiftAlt: "ctrl+shift+alt", ctrlShiftSuper: "ctrl+shift+super",
};

const Key = {};
for (const name of NAMED) Key[name] = name;
Object.assign(Key, SYMBOLS);
for (const [name, prefix] of Object.entries(MODIFIERS)) Key[name] = (key) => `${prefix}+${key}`;
exports.Key = Key;

/** Input that legacy terminals use for more than one key; the first name is the one that is reported. */
const SHARED = {
	"\r": ["enter", "ctrl+m"],
	"\n": ["enter", "ctrl+j"],
	"\t": ["tab", "ctrl+i"],
	"\b": ["backspace", "ctrl+h"],
	"\x1b": ["escape", "ctrl+["],
	"\x1bb": ["alt+left", "alt+b"],
	"\x1bf": ["alt+right", "alt+f"],
	"\x1bp": ["alt+up", "alt+p"],
	"\x1bn": ["alt+down", "alt+n"],
	"\x1b\b": ["alt+backspace"],
	"\x1b\x1b": ["ctrl+alt+["],
};

/** Input that the kitty protocol leaves to keys with shift. */
const SHARED_KITTY = {
	"\n": ["shift+enter", "ctrl+j"],
	"\x1b\r": ["shift+enter"],
};

let isKitty = false;
exports.setKittyProtocolActive = function setKittyProtocolActive(active) {
	isKitty = Boolean(active);
	parsed.clear();
};
exports.isKittyProtocolActive = function isKittyProtocolActive() {
	return isKitty;
};

const parsed = new Map();
const normalized = new Map();

/** Remembers a few results: the same input is compared with many keys. */
function remember(cache, key, value) {
	if (cache.size > 500) cache.clear();
	cache.set(key, value);
	return value;
}

/** Returns the names of input: `ids` in canonical form, `name` as it is reported. */
function parse(data) {
	const known = parsed.get(data);
	if (known !== undefined) return known;
	return remember(parsed, data, read(String(data)));
}

function read(data) {
	const shared = (isKitty && SHARED_KITTY[data]) || SHARED[data];
	if (shared !== undefined) return { name: shared[0], ids: shared.map(normalize) };
	// Alt with a capital letter has no name, and neither has text beyond ASCII.
	if (/^\x1b[A-Z]$/.test(data)) return { name: undefined, ids: [] };
	const key = native.parse(data);
	if (key === null || key === undefined) return { name: undefined, ids: [] };
	if (/^[A-Z]$/.test(data)) return { name: data, ids: [key.id] };
	if (!/^[\x20-\x7e]+$/.test(key.id)) return { name: undefined, ids: [] };
	return { name: key.id, ids: [key.id] };
}

function normalize(id) {
	const known = normalized.get(id);
	if (known !== undefined) return known;
	return remember(normalized, id, native.normalize(id) ?? null);
}

exports.matchesKey = function matchesKey(data, keyId) {
	const { ids } = parse(data);
	if (ids.length === 0) return false;
	const wanted = normalize(keyId);
	return wanted !== null && ids.includes(wanted);
};

exports.parseKey = function parseKey(data) {
	return parse(data).name;
};

/** Returns the event number of a kitty sequence: 2 for repeat, 3 for release. A paste has none. */
function eventOf(data) {
	if (data.includes("\x1b[200~")) return undefined;
	return /\x1b\[[\d:]*(?:;\d*)?:(\d)[u~A-HPQS]/.exec(data)?.[1];
}

exports.isKeyRelease = function isKeyRelease(data) {
	return eventOf(data) === "3";
};

exports.isKeyRepeat = function isKeyRepeat(data) {
	return eventOf(data) === "2";
};

const KITTY_PRINTABLE = /^\x1b\[(\d+)(?::(\d*))?(?::\d+)?(?:;(\d+))?(?::\d+)?u$/;
/** The digits and signs of a keypad, from code 57399 on. */
const KEYPAD = "0123456789./*-+";

/** Returns the character that a kitty sequence types: a plain key, or one with shift. */
exports.decodeKittyPrintable = function decodeKittyPrintable(data) {
	const match = KITTY_PRINTABLE.exec(data);
	if (match === null) return undefined;
	// Locks are no modifiers.
	const modifiers = ((match[3] === undefined ? 1 : Number(match[3])) - 1) & ~(64 | 128);
	if ((modifiers & ~1) !== 0) return undefined;
	let code = Number(match[1]);
	if (modifiers & 1 && match[2]) code = Number(match[2]);
	if (code >= 57399 && code < 57399 + KEYPAD.length) return KEYPAD[code - 57399];
	if (code < 32 || code === 127 || (code >= 57344 && code <= 63743) || code > 0x10ffff) return undefined;
	return String.fromCodePoint(code);
};
