// Dialogs: a list, a line of input, an editor.

const { getEditorTheme, keyHint, rawKeyHint, theme } = require("pi:coding-agent/appearance");
const { DynamicBorder } = require("pi:coding-agent/borders");
const { Container, Spacer } = require("pi:tui/containers");
const { Editor } = require("pi:tui/editor");
const { Input } = require("pi:tui/input");
const { getKeybindings } = require("pi:tui/keybindings");
const { Text } = require("pi:tui/texts");

/** Counts down in a title and then cancels. */
function countdown(options, title, show, onCancel) {
	if (!(options?.timeout > 0)) return undefined;
	let seconds = Math.ceil(options.timeout / 1000);
	const update = () => {
		show(`${title} (${seconds}s)`);
		options.tui?.requestRender?.();
	};
	update();
	const timer = setInterval(() => {
		seconds -= 1;
		if (seconds > 0) return update();
		clearInterval(timer);
		onCancel();
	}, 1000);
	return timer;
}

/** Adds the frame of a dialog around its content. */
function frame(dialog, title, description, content, hints) {
	const heading = new Text(theme().fg("accent", theme().bold(title)), 1, 0);
	const parts = [new DynamicBorder(), new Spacer(1), heading, new Spacer(1)];
	if (description) parts.push(new Text(theme().fg("muted", description), 1, 0), new Spacer(1));
	parts.push(...content, new Spacer(1), new Text(hints.join("  "), 1, 0), new Spacer(1), new DynamicBorder());
	for (const part of parts) dialog.addChild(part);
	return (text) => heading.setText(theme().fg("accent", theme().bold(text)));
}

class ExtensionSelectorComponent extends Container {
	#options;
	#selected = 0;
	#list = new Container();
	#onSelect;
	#onCancel;
	#onToggle;
	#timer;

	constructor(title, options, onSelect, onCancel, opts) {
		super();
		this.#options = options;
		this.#onSelect = onSelect;
		this.#onCancel = onCancel;
		this.#onToggle = opts?.onToggleToolsExpanded;
		const hints = [rawKeyHint("↑↓", "navigate"), keyHint("tui.select.confirm", "select"), keyHint("tui.select.cancel", "cancel")];
		const setTitle = frame(this, title, opts?.description, [this.#list], hints);
		this.#timer = countdown(opts, title, setTitle, onCancel);
		this.#update();
	}

	#update() {
		this.#list.clear();
		this.#options.forEach((option, at) => {
			const isSelected = at === this.#selected;
			const line = isSelected ? theme().fg("accent", "→ ") + theme().fg("accent", option) : `  ${theme().fg("text", option)}`;
			this.#list.addChild(new Text(line, 1, 0));
		});
	}

	handleInput(data) {
		const keys = getKeybindings();
		const last = this.#options.length - 1;
		if (keys.matches(data, "app.tools.expand") && this.#onToggle) this.#onToggle();
		else if (keys.matches(data, "tui.select.up") || data === "k") this.#selected = Math.max(0, this.#selected - 1);
		else if (keys.matches(data, "tui.select.down") || data === "j") this.#selected = Math.min(last, this.#selected + 1);
		else if (keys.matches(data, "tui.select.confirm") || data === "\n") {
			const option = this.#options[this.#selected];
			if (option !== undefined) this.#onSelect(option);
			return;
		} else if (keys.matches(data, "tui.select.cancel")) {
			this.#onCancel();
			return;
		}
		this.#update();
	}

	dispose() {
		clearInterval(this.#timer);
	}
}
exports.ExtensionSelectorComponent = ExtensionSelectorComponent;

class ExtensionInputComponent extends Container {
	#input = new Input();
	#onSubmit;
	#onCancel;
	#timer;

	constructor(title, _placeholder, onSubmit, onCancel, opts) {
		super();
		this.#onSubmit = onSubmit;
		this.#onCancel = onCancel;
		if (opts?.initialValue) {
			this.#input.setValue(opts.initialValue);
			this.#input.cursor = opts.initialValue.length;
		}
		const hints = [keyHint("tui.select.confirm", "submit"), keyHint("tui.select.cancel", "cancel")];
		const setTitle = frame(this, title, opts?.description, [this.#input], hints);
		this.#timer = countdown(opts, title, setTitle, onCancel);
	}

	get focused() {
		return this.#input.focused;
	}

	set focused(value) {
		this.#input.focused = value;
	}

	handleInput(data) {
		const keys = getKeybindings();
		if (keys.matches(data, "tui.select.confirm") || data === "\n") this.#onSubmit(this.#input.getValue());
		else if (keys.matches(data, "tui.select.cancel")) this.#onCancel();
		else this.#input.handleInput(data);
	}

	dispose() {
		clearInterval(this.#timer);
	}
}
exports.ExtensionInputComponent = ExtensionInputComponent;

class ExtensionEditorComponent extends Container {
	#editor;
	#keybindings;
	#onCancel;

	constructor(tui, keybindings, title, prefill, onSubmit, onCancel, options) {
		super();
		this.#keybindings = keybindings;
		this.#onCancel = onCancel;
		this.#editor = new Editor(tui, getEditorTheme(), options);
		if (prefill) this.#editor.setText(prefill);
		this.#editor.onSubmit = (text) => onSubmit(text);
		const hints = [
			keyHint("tui.input.submit", "submit"),
			keyHint("tui.input.newLine", "newline"),
			keyHint("tui.select.cancel", "cancel"),
			keyHint("app.editor.external", "external editor"),
		];
		frame(this, title, options?.description, [this.#editor], hints);
	}

	get focused() {
		return this.#editor.focused;
	}

	set focused(value) {
		this.#editor.focused = value;
	}

	handleInput(data) {
		const keys = this.#keybindings ?? getKeybindings();
		if (keys.matches(data, "tui.select.cancel")) this.#onCancel();
		else this.#editor.handleInput(data);
	}
}
exports.ExtensionEditorComponent = ExtensionEditorComponent;
