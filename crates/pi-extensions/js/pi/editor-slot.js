// An editor of an extension in place of the built-in one.

const native = require("native:ui");
const { currentTheme, keybindingsOf, tuiOf } = require("pi:screen");

/** The editor that is shown: { binding, factory, editor, number, text }. */
let current;

/** The actions of the application that an editor passes on. */
const ACTIONS = [
	"app.clear", "app.suspend", "app.editor.external", "app.message.copy", "app.message.followUp", "app.message.dequeue",
	"app.thinking.cycle", "app.thinking.toggle", "app.model.select", "app.model.cycleForward", "app.model.cycleBackward",
	"app.tools.expand", "app.session.new", "app.session.tree", "app.session.fork", "app.session.resume",
];

/** Returns the colors of an editor. */
function editorTheme(theme) {
	return {
		borderColor: (text) => theme.fg("borderMuted", text),
		selectList: {
			selectedPrefix: (text) => theme.fg("accent", text),
			selectedText: (text) => theme.fg("accent", text),
			description: (text) => theme.fg("muted", text),
			scrollInfo: (text) => theme.fg("muted", text),
			noMatch: (text) => theme.fg("muted", text),
		},
	};
}

/** Shows an editor; without a factory the built-in one. */
function mountEditor(binding, factory) {
	const components = require("pi:components");
	if (typeof factory !== "function") {
		current = undefined;
		components.mount(binding, "editor", undefined);
		return;
	}
	const theme = currentTheme(binding.id);
	let editor;
	const entry = components.mount(binding, "editor", () => {
		editor = factory(tuiOf(binding), editorTheme(theme), keybindingsOf());
		return editor;
	});
	const slot = { binding, factory, editor, number: entry.number, text: editor.getText?.() ?? "" };
	current = slot;
	connect(slot);
	entry.afterInput = () => reportText(slot);
	entry.wasClosed = () => {
		if (current === slot) current = undefined;
	};
}

/** Sets what the application sets for its own editor. */
function connect(slot) {
	const { editor, number, binding } = slot;
	const act = (action) => () => native.send(number, "action", action);
	editor.onSubmit = (text) => {
		slot.text = "";
		if (text.trim() !== "") editor.addToHistory?.(text);
		native.send(number, "submit", String(text));
	};
	const onChange = editor.onChange;
	editor.onChange = (text) => {
		onChange?.(text);
		reportText(slot);
	};
	editor.setAutocompleteProvider?.(require("pi:autocomplete").currentProvider(binding));
	if ("focused" in editor) editor.focused = true;
	// Editors that handle the keys of the application.
	if (editor.actionHandlers instanceof Map) {
		editor.onEscape ??= act("app.interrupt");
		editor.onCtrlD ??= act("app.exit");
		editor.onPasteImage ??= act("app.clipboard.pasteImage");
		for (const action of ACTIONS) if (!editor.actionHandlers.has(action)) editor.onAction(action, act(action));
	}
}

/** Tells the screen the text, if it changed. */
function reportText(slot) {
	const text = slot.editor.getExpandedText?.() ?? slot.editor.getText?.() ?? "";
	if (text === slot.text) return;
	slot.text = text;
	native.send(slot.number, "text", text);
}

/** Gives the editor the completions of an added provider. */
function providerChanged(binding) {
	current?.editor.setAutocompleteProvider?.(require("pi:autocomplete").currentProvider(binding));
}

module.exports = { mountEditor, providerChanged, editorFactory: () => current?.factory };
