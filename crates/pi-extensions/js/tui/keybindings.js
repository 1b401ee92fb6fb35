// Keybindings: the keys of actions, as the user has set them.

const { matchesKey } = require("pi:tui/keys");

const keys = (defaultKeys, description) => ({ defaultKeys, description });

const TUI_KEYBINDINGS = {
	"tui.editor.cursorUp": keys("up", "Move cursor up"),
	"tui.editor.cursorDown": keys("down", "Move cursor down"),
	"tui.editor.historyPrevious": keys([], "Select previous prompt history entry"),
	"tui.editor.historyNext": keys([], "Select next prompt history entry"),
	"tui.editor.cursorLeft": keys(["left", "ctrl+b"], "Move cursor left"),
	"tui.editor.cursorRight": keys(["right", "ctrl+f"], "Move cursor right"),
	"tui.editor.cursorWordLeft": keys(["alt+left", "ctrl+left", "alt+b"], "Move cursor word left"),
	"tui.editor.cursorWordRight": keys(["alt+right", "ctrl+right", "alt+f"], "Move cursor word right"),
	"tui.editor.cursorLineStart": keys(["home", "ctrl+a"], "Move to line start"),
	"tui.editor.cursorLineEnd": keys(["end", "ctrl+e"], "Move to line end"),
	"tui.editor.jumpForward": keys("ctrl+]", "Jump forward to character"),
	"tui.editor.jumpBackward": keys("ctrl+alt+]", "Jump backward to character"),
	"tui.editor.pageUp": keys(["pageUp", "ctrl+pageUp"], "Page up"),
	"tui.editor.pageDown": keys(["pageDown", "ctrl+pageDown"], "Page down"),
	"tui.editor.deleteCharBackward": keys("backspace", "Delete character backward"),
	"tui.editor.deleteCharForward": keys(["delete", "ctrl+d"], "Delete character forward"),
	"tui.editor.deleteWordBackward": keys(["ctrl+w", "alt+backspace"], "Delete word backward"),
	"tui.editor.deleteWordForward": keys(["alt+d", "alt+delete"], "Delete word forward"),
	"tui.editor.deleteToLineStart": keys("ctrl+u", "Delete to line start"),
	"tui.editor.deleteToLineEnd": keys("ctrl+k", "Delete to line end"),
	"tui.editor.yank": keys("ctrl+y", "Yank"),
	"tui.editor.yankPop": keys("alt+y", "Yank pop"),
	"tui.editor.undo": keys("ctrl+-", "Undo"),
	"tui.input.newLine": keys(["shift+enter", "ctrl+j"], "Insert newline"),
	"tui.input.submit": keys("enter", "Submit input"),
	"tui.input.tab": keys("tab", "Tab / autocomplete"),
	"tui.input.copy": keys("ctrl+c", "Copy selection"),
	"tui.select.up": keys("up", "Move selection up"),
	"tui.select.down": keys("down", "Move selection down"),
	"tui.select.pageUp": keys("pageUp", "Selection page up"),
	"tui.select.pageDown": keys("pageDown", "Selection page down"),
	"tui.select.confirm": keys("enter", "Confirm selection"),
	"tui.select.cancel": keys(["escape", "ctrl+c"], "Cancel selection"),
	"tui.altScreen.pageUp": keys("pageUp", "Scroll viewport up one page"),
	"tui.altScreen.pageDown": keys("pageDown", "Scroll viewport down one page"),
	"tui.altScreen.halfPageUp": keys([], "Scroll viewport up half a page"),
	"tui.altScreen.halfPageDown": keys([], "Scroll viewport down half a page"),
	"tui.altScreen.lineUp": keys([], "Scroll viewport up one line"),
	"tui.altScreen.lineDown": keys([], "Scroll viewport down one line"),
	"tui.altScreen.previousPrompt": keys(["ctrl+shift+up", "ctrl+up"], "Jump to previous semantic prompt"),
	"tui.altScreen.nextPrompt": keys(["ctrl+shift+down", "ctrl+down"], "Jump to next semantic prompt"),
	"tui.altScreen.search": keys("ctrl+shift+f", "Search the primary scroll view"),
	"tui.altScreen.searchNext": keys(["enter", "ctrl+g"], "Select the next search match"),
	"tui.altScreen.searchPrevious": keys(["shift+enter", "ctrl+shift+g"], "Select the previous search match"),
	"tui.altScreen.searchClose": keys("escape", "Close transcript search"),
	"tui.altScreen.top": keys("ctrl+home", "Scroll viewport to top"),
	"tui.altScreen.bottom": keys("ctrl+end", "Scroll viewport to bottom"),
};
exports.TUI_KEYBINDINGS = TUI_KEYBINDINGS;

/** Names of actions in earlier versions. */
const OLDER = {
	newLine: "tui.input.newLine", submit: "tui.input.submit", tab: "tui.input.tab", copy: "tui.input.copy",
	selectUp: "tui.select.up", selectDown: "tui.select.down", selectPageUp: "tui.select.pageUp", selectPageDown: "tui.select.pageDown",
	selectConfirm: "tui.select.confirm", selectCancel: "tui.select.cancel",
};

function listOf(keys) {
	if (keys === undefined) return [];
	return Array.isArray(keys) ? [...new Set(keys)] : [keys];
}

/** Numbers that grow when the user's keys of a manager change. */
const versions = new WeakMap();
exports.versionOf = (keybindings) => versions.get(keybindings) ?? 0;

class KeybindingsManager {
	#definitions;
	#user;
	#keys = new Map();

	constructor(definitions, userBindings = {}) {
		this.#definitions = definitions;
		this.setUserBindings(userBindings);
	}

	/** Returns the present name of an action. */
	#action(keybinding) {
		if (keybinding in this.#definitions) return keybinding;
		const older = OLDER[keybinding] ?? `tui.editor.${keybinding}`;
		return older in this.#definitions ? older : keybinding;
	}

	matches(data, keybinding) {
		return this.getKeys(keybinding).some((key) => matchesKey(data, key));
	}

	getKeys(keybinding) {
		return [...(this.#keys.get(this.#action(keybinding)) ?? [])];
	}

	getDefinition(keybinding) {
		return this.#definitions[this.#action(keybinding)];
	}

	/** Keys that the user has bound to more than one action. */
	getConflicts() {
		const users = new Map();
		for (const [action, keys] of Object.entries(this.#user)) {
			if (!(action in this.#definitions)) continue;
			for (const key of listOf(keys)) users.set(key, [...(users.get(key) ?? []), action]);
		}
		const conflicts = [...users].filter(([, actions]) => actions.length > 1);
		return conflicts.map(([key, keybindings]) => ({ key, keybindings }));
	}

	setUserBindings(userBindings) {
		this.#user = userBindings;
		versions.set(this, exports.versionOf(this) + 1);
		this.#keys.clear();
		for (const [action, definition] of Object.entries(this.#definitions)) {
			this.#keys.set(action, listOf(userBindings[action] ?? definition.defaultKeys));
		}
	}

	getUserBindings() {
		return { ...this.#user };
	}

	getResolvedBindings() {
		const resolved = {};
		for (const [action, keys] of this.#keys) resolved[action] = keys.length === 1 ? keys[0] : [...keys];
		return resolved;
	}
}
exports.KeybindingsManager = KeybindingsManager;

let current;
let defaults;
const ANY = 0xffffffff;

/** Returns the keys of the screen with those of its own actions; undefined without a screen. */
function ofScreen() {
	const keys = require("native:ui").state(ANY, "keybindings", undefined);
	if (!keys || Object.keys(keys).length === 0) return undefined;
	const definitions = { ...TUI_KEYBINDINGS };
	for (const action of Object.keys(keys)) definitions[action] ??= { defaultKeys: [] };
	return new KeybindingsManager(definitions, keys);
}

exports.getKeybindings = function getKeybindings() {
	current ??= ofScreen();
	if (current !== undefined) return current;
	defaults ??= new KeybindingsManager(TUI_KEYBINDINGS);
	return defaults;
};

exports.setKeybindings = function setKeybindings(keybindings) {
	current = keybindings;
};

exports.getEditorKeybindings = exports.getKeybindings;
exports.setEditorKeybindings = exports.setKeybindings;

/** Returns the index after a key that moves by a page, or undefined for other keys. */
exports.getSelectPageIndex = function getSelectPageIndex(keybindings, data, index, count, maxVisible) {
	if (keybindings.matches(data, "tui.select.pageUp")) return Math.max(0, index - maxVisible);
	if (keybindings.matches(data, "tui.select.pageDown")) return Math.max(0, Math.min(count - 1, index + maxVisible));
	return undefined;
};
