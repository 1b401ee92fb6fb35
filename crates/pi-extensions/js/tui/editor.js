// The multi-line editor. Its text is in Rust; borders and completions are here.

const native = require("native:editor");
const { Completion } = require("pi:tui/completion");
const { getKeybindings, versionOf } = require("pi:tui/keybindings");
const { CURSOR_MARKER, renderFakeCursor, stripTerminalSequences, truncateToWidth, visibleWidth } = require("pi:tui/text");

/** Frees the text of editors that were collected. */
const registry = new FinalizationRegistry((id) => native.free(id));

/** The keybindings that Rust knows. */
let known = { keybindings: undefined, version: 0 };

function sendKeybindings() {
	const keybindings = getKeybindings();
	const version = versionOf(keybindings);
	if (known.keybindings === keybindings && known.version === version) return;
	known = { keybindings, version };
	native.setKeys(keybindings.getUserBindings?.() ?? {});
}

class Editor {
	focused = false;
	tui;
	theme;
	borderColor;
	onSubmit;
	onChange;
	disableSubmit = false;
	#id = native.create();
	#paddingX;
	#maxVisible;
	#completion;
	#rowCount = 0;

	constructor(tui, theme, options = {}) {
		registry.register(this, this.#id);
		this.tui = tui;
		this.theme = theme;
		this.borderColor = theme.borderColor;
		this.setPaddingX(options.paddingX ?? 0);
		this.setAutocompleteMaxVisible(options.autocompleteMaxVisible ?? 5);
		this.#completion = new Completion(this, {
			requestRender: () => this.tui?.requestRender?.(),
			apply: (lines, line, column, isSilent) => this.#replace(lines, line, column, isSilent),
			theme: () => this.theme.selectList,
			maxVisible: () => this.#maxVisible,
		});
	}

	/** True while keys that scroll the screen belong to the editor. */
	get capturesViewportInput() {
		return this.isShowingAutocomplete();
	}

	getPaddingX() {
		return this.#paddingX;
	}

	setPaddingX(padding) {
		this.#paddingX = Number.isFinite(padding) ? Math.max(0, Math.floor(padding)) : 0;
	}

	getAutocompleteMaxVisible() {
		return this.#maxVisible;
	}

	setAutocompleteMaxVisible(maxVisible) {
		this.#maxVisible = Number.isFinite(maxVisible) ? Math.max(3, Math.min(20, Math.floor(maxVisible))) : 5;
	}

	setAutocompleteProvider(provider) {
		this.#completion.setProvider(provider);
	}

	isShowingAutocomplete() {
		return this.#completion.isOpen;
	}

	addToHistory(text) {
		native.addHistory(this.#id, text);
	}

	getText() {
		return native.text(this.#id);
	}

	getExpandedText() {
		return native.expanded(this.#id);
	}

	getLines() {
		return this.getText().split("\n");
	}

	getCursor() {
		const [line, col] = native.caret(this.#id);
		return { line, col };
	}

	setText(text) {
		this.#completion.close();
		const before = this.getText();
		native.setText(this.#id, String(text).replace(/\t/g, "    "));
		if (this.getText() !== before) this.#changed();
	}

	insertTextAtCursor(text) {
		if (!text) return;
		this.#completion.close();
		native.insert(this.#id, text);
		this.#changed();
	}

	#replace(lines, line, column, isSilent) {
		native.replace(this.#id, lines.join("\n"), line, column);
		if (!isSilent) this.#changed();
	}

	#changed() {
		this.onChange?.(this.getText());
	}

	invalidate() {}

	handleInput(data) {
		sendKeybindings();
		if (this.#completion.handleInput(data)) return;
		native.setCanSubmit(this.#id, !this.disableSubmit);
		const isSubmit = getKeybindings().matches(data, "tui.input.submit");
		// An empty text is submitted, too.
		if (isSubmit && !this.disableSubmit && this.getText().trim() === "") {
			native.setText(this.#id, "");
			this.#submitted("");
			return;
		}
		// Alt and Enter break the line, as Shift and Enter do.
		for (const effect of native.input(this.#id, data === "\x1b\r" ? "\n" : data)) {
			if (effect.startsWith("submit:")) {
				this.#submitted(effect.slice("submit:".length));
			} else if (effect === "changed") {
				this.#changed();
				this.#completion.textChanged(data);
			}
		}
		this.#completion.caretMoved();
	}

	#submitted(text) {
		this.#completion.close();
		this.onChange?.("");
		this.onSubmit?.(text);
	}

	handleMouse(event) {
		if (event.type !== "press" || event.button !== "left") return undefined;
		if (event.y >= 1 && event.y <= this.#rowCount) native.click(this.#id, event.y, event.x);
		return { handled: true, focus: true };
	}

	renderTopBorder(width, hiddenLineCount) {
		return this.borderColor(rule(width, hiddenLineCount > 0 ? ` ↑ ${hiddenLineCount} more ` : ""));
	}

	renderBottomBorder(width, hiddenLineCount) {
		return this.borderColor(rule(width, hiddenLineCount > 0 ? ` ↓ ${hiddenLineCount} more ` : ""));
	}

	render(width) {
		const padding = Math.min(this.#paddingX, Math.max(0, Math.floor((width - 1) / 2)));
		const rows = native.rows(this.#id, width, this.tui?.terminal?.rows ?? 24, padding);
		const lines = [this.renderTopBorder(width, rows.above)];
		for (const row of rows.lines) lines.push(this.#line(row, width));
		lines.push(this.renderBottomBorder(width, rows.below));
		this.#rowCount = rows.lines.length;
		const menu = this.#completion.render(Math.max(1, width - 2 * padding));
		const margin = " ".repeat(padding);
		for (const line of menu) {
			const rest = " ".repeat(Math.max(0, width - 2 * padding - visibleWidth(line)));
			lines.push(margin + line + rest + margin);
		}
		return lines;
	}

	#line(row, width) {
		let line = row;
		if (Array.isArray(row)) {
			const [before, at, after] = row;
			const marker = this.focused ? CURSOR_MARKER : "";
			line = before + marker + renderFakeCursor(at || " ") + after;
		}
		return line + " ".repeat(Math.max(0, width - visibleWidth(line)));
	}
}
exports.Editor = Editor;

/** Returns a border with a counter in its middle; a narrow one shows the start of it. */
function rule(width, counter) {
	if (counter === "") return "─".repeat(width);
	const columns = visibleWidth(counter);
	if (width < columns + 2) return stripTerminalSequences(truncateToWidth(`───${counter}`, width));
	const start = Math.floor((width - columns) / 2);
	return "─".repeat(start) + counter + "─".repeat(width - start - columns);
}
