// A single line of input.

const { decodeKittyPrintable } = require("pi:tui/keys");
const { getKeybindings } = require("pi:tui/keybindings");
const { CURSOR_MARKER, graphemes, renderFakeCursor, sliceByColumn, truncateToWidth, visibleWidth } = require("pi:tui/text");

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
const WORD_BEFORE = /(?:[\p{Alphabetic}\p{M}\p{N}_]+|[^\s\p{Alphabetic}\p{M}\p{N}_]+)?\s*$/u;
const WORD_AFTER = /^\s*(?:[\p{Alphabetic}\p{M}\p{N}_]+|[^\s\p{Alphabetic}\p{M}\p{N}_]+)?/u;

class Input {
	value = "";
	cursor = 0;
	focused = false;
	onSubmit;
	onEscape;
	#prompt;
	#placeholder;
	#placeholderStyle;
	#paste;
	#kills = [];
	#undo = [];
	/** The last edit, which the next one may continue: "kill", "yank" or "type". */
	#last = null;
	#start = 0;

	constructor(options = {}) {
		this.#prompt = options.prompt ?? "> ";
		this.#placeholder = options.placeholder ?? "";
		this.#placeholderStyle = options.placeholderStyle ?? ((text) => text);
	}

	getValue() {
		return this.value;
	}

	setValue(value) {
		this.value = value;
		this.cursor = Math.min(this.cursor, value.length);
	}

	invalidate() {}

	handleInput(data) {
		if (this.#handlePaste(data)) return;
		const keys = getKeybindings();
		const is = (action) => keys.matches(data, action);
		if (is("tui.select.cancel")) this.onEscape?.();
		else if (is("tui.editor.undo")) this.#takeBack();
		else if (is("tui.input.submit") || data === "\n") this.onSubmit?.(this.value);
		else if (is("tui.editor.deleteCharBackward")) this.#delete(this.#left(), this.cursor);
		else if (is("tui.editor.deleteCharForward")) this.#delete(this.cursor, this.#right());
		else if (is("tui.editor.deleteWordBackward")) this.#kill(this.#wordLeft(), this.cursor, true);
		else if (is("tui.editor.deleteWordForward")) this.#kill(this.cursor, this.#wordRight(), false);
		else if (is("tui.editor.deleteToLineStart")) this.#kill(0, this.cursor, true);
		else if (is("tui.editor.deleteToLineEnd")) this.#kill(this.cursor, this.value.length, false);
		else if (is("tui.editor.yank")) this.#yank();
		else if (is("tui.editor.yankPop")) this.#yankPop();
		else if (is("tui.editor.cursorLeft")) this.#move(this.#left());
		else if (is("tui.editor.cursorRight")) this.#move(this.#right());
		else if (is("tui.editor.cursorLineStart")) this.#move(0);
		else if (is("tui.editor.cursorLineEnd")) this.#move(this.value.length);
		else if (is("tui.editor.cursorWordLeft")) this.#move(this.#wordLeft());
		else if (is("tui.editor.cursorWordRight")) this.#move(this.#wordRight());
		else {
			const text = decodeKittyPrintable(data) ?? data;
			if (!/[\x00-\x1f\x7f-\x9f]/.test(text)) this.#type(text);
		}
	}

	/** Collects a paste, which may arrive in parts. Returns false for other input. */
	#handlePaste(data) {
		if (this.#paste === undefined) {
			const at = data.indexOf(PASTE_START);
			if (at < 0) return false;
			this.#paste = "";
			data = data.slice(0, at) + data.slice(at + PASTE_START.length);
		}
		this.#paste += data;
		const end = this.#paste.indexOf(PASTE_END);
		if (end < 0) return true;
		const text = this.#paste.slice(0, end);
		const rest = this.#paste.slice(end + PASTE_END.length);
		this.#paste = undefined;
		this.#last = null;
		this.#save();
		this.#insert(text.replace(/[\r\n]/g, "").replace(/\t/g, "    "));
		if (rest !== "") this.handleInput(rest);
		return true;
	}

	#save() {
		this.#undo.push([this.value, this.cursor]);
	}

	#takeBack() {
		const saved = this.#undo.pop();
		if (saved !== undefined) [this.value, this.cursor] = saved;
		this.#last = null;
	}

	/** Letters of one word are taken back together. */
	#type(text) {
		if (/^\s/.test(text) || this.#last !== "type") this.#save();
		this.#last = "type";
		this.#insert(text);
	}

	#insert(text) {
		this.value = this.value.slice(0, this.cursor) + text + this.value.slice(this.cursor);
		this.cursor += text.length;
	}

	#remove(start, end) {
		this.value = this.value.slice(0, start) + this.value.slice(end);
		this.cursor = start;
	}

	#delete(start, end) {
		this.#last = null;
		if (start >= end) return;
		this.#save();
		this.#remove(start, end);
	}

	#kill(start, end, isBackward) {
		if (start >= end) return;
		this.#save();
		const text = this.value.slice(start, end);
		if (this.#last === "kill" && this.#kills.length > 0) {
			const before = this.#kills.pop();
			this.#kills.push(isBackward ? text + before : before + text);
		} else {
			this.#kills.push(text);
		}
		this.#last = "kill";
		this.#remove(start, end);
	}

	#yank() {
		const text = this.#kills.at(-1);
		if (text === undefined) return;
		this.#save();
		this.#insert(text);
		this.#last = "yank";
	}

	#yankPop() {
		if (this.#last !== "yank" || this.#kills.length < 2) return;
		this.#save();
		const length = this.#kills.at(-1).length;
		this.#remove(this.cursor - length, this.cursor);
		this.#kills.unshift(this.#kills.pop());
		this.#insert(this.#kills.at(-1));
	}

	#move(to) {
		this.cursor = to;
		this.#last = null;
	}

	#left() {
		const before = graphemes(this.value.slice(0, this.cursor));
		return this.cursor - (before.at(-1)?.length ?? 0);
	}

	#right() {
		return this.cursor + (graphemes(this.value.slice(this.cursor))[0]?.length ?? 0);
	}

	#wordLeft() {
		return this.value.slice(0, this.cursor).search(WORD_BEFORE);
	}

	#wordRight() {
		return this.cursor + WORD_AFTER.exec(this.value.slice(this.cursor))[0].length;
	}

	/** A click moves the caret. */
	handleMouse(event) {
		if (event.type !== "press" || event.button !== "left") return undefined;
		let column = this.#start - visibleWidth(this.#prompt);
		let at = 0;
		for (const cluster of graphemes(this.value)) {
			column += visibleWidth(cluster);
			if (column > event.x) break;
			at += cluster.length;
		}
		this.#move(at);
		return { handled: true, focus: true };
	}

	render(width) {
		const room = width - visibleWidth(this.#prompt);
		if (room <= 0) return [truncateToWidth(this.#prompt, width, "")];
		const marker = this.focused ? CURSOR_MARKER : "";
		if (this.value === "" && this.#placeholder !== "") {
			const [first = "", ...rest] = graphemes(this.#placeholder);
			const cut = truncateToWidth(rest.join(""), Math.max(0, room - visibleWidth(first)), "");
			const shown = renderFakeCursor(this.#placeholderStyle(first)) + (cut === "" ? "" : this.#placeholderStyle(cut));
			return [this.#padded(this.#prompt + marker + shown, width)];
		}
		const [before, at, after] = this.#visible(room);
		return [this.#padded(this.#prompt + before + marker + renderFakeCursor(at) + after, width)];
	}

	#padded(line, width) {
		return line + " ".repeat(Math.max(0, width - visibleWidth(line)));
	}

	/** Returns the visible part before, at and after the caret; a long text scrolls. */
	#visible(room) {
		const total = visibleWidth(this.value);
		let visible = this.value;
		let caret = this.cursor;
		this.#start = 0;
		if (total >= room) {
			// The caret behind the text needs a column, too.
			const columns = this.cursor === this.value.length ? room - 1 : room;
			const column = visibleWidth(this.value.slice(0, this.cursor));
			const half = Math.floor(columns / 2);
			if (columns <= 0) {
				return ["", " ", ""];
			}
			if (column < half) this.#start = 0;
			else if (column > total - half) this.#start = Math.max(0, total - columns);
			else this.#start = Math.max(0, column - half);
			visible = sliceByColumn(this.value, this.#start, columns, true);
			const before = sliceByColumn(this.value, this.#start, Math.max(0, column - this.#start), true);
			caret = before.length;
		}
		const rest = visible.slice(caret);
		const at = graphemes(rest)[0] ?? " ";
		return [visible.slice(0, caret), at, rest.slice(at.length)];
	}
}
exports.Input = Input;
