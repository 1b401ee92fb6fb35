// Completions of an editor: when a provider is asked, and the menu of its answers.

const { getKeybindings } = require("pi:tui/keybindings");
const { SelectList } = require("pi:tui/select-list");

/** Columns of commands in the menu. */
const COMMAND_LAYOUT = { minPrimaryColumnWidth: 12, maxPrimaryColumnWidth: 32 };
/** Time without input before a provider is asked about files and the like. */
const DEBOUNCE = 20;

class Completion {
	#editor;
	#host;
	#provider;
	#triggers = ["@"];
	#list;
	#prefix = "";
	#isForced = false;
	#request;
	#timer;
	#text = "";
	#caret = "";

	constructor(editor, host) {
		this.#editor = editor;
		this.#host = host;
	}

	get isOpen() {
		return this.#list !== undefined;
	}

	setProvider(provider) {
		this.close();
		this.#provider = provider;
		this.#triggers = [...new Set(["@", ...(provider?.triggerCharacters ?? [])])];
	}

	render(width) {
		return this.#list?.render(width) ?? [];
	}

	close() {
		this.#cancel();
		this.#list = undefined;
		this.#prefix = "";
	}

	#cancel() {
		this.#request?.abort();
		this.#request = undefined;
		if (this.#timer !== undefined) clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	/** Handles the keys of an open menu, and Tab. Returns true if nothing is left to do. */
	handleInput(data) {
		const keys = getKeybindings();
		if (this.#list === undefined) {
			if (this.#provider === undefined || !keys.matches(data, "tui.input.tab")) return false;
			this.#complete();
			return true;
		}
		if (keys.matches(data, "tui.select.cancel")) {
			this.close();
			return true;
		}
		const moves = ["tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown"];
		if (moves.some((action) => keys.matches(data, action))) {
			this.#list.handleInput(data);
			return true;
		}
		if (keys.matches(data, "tui.input.tab")) {
			this.#applySelected();
			return true;
		}
		if (keys.matches(data, "tui.select.confirm")) {
			// A command that was completed is submitted at once.
			const isCommand = this.#prefix.startsWith("/") && !this.#isForced;
			this.#applySelected(isCommand);
			return !isCommand;
		}
		return false;
	}

	#applySelected(isSilent = false) {
		const item = this.#list?.getSelectedItem();
		const prefix = this.#prefix;
		this.close();
		if (item === null || item === undefined) return;
		this.#apply(item, prefix, isSilent);
	}

	#apply(item, prefix, isSilent) {
		const lines = this.#editor.getLines();
		const { line, col } = this.#editor.getCursor();
		const result = this.#provider.applyCompletion(lines, line, col, item, prefix);
		this.#host.apply(result.lines, result.cursorLine, result.cursorCol, isSilent);
		this.#remember();
	}

	/** Returns the text of the caret's line before it. */
	#before() {
		const { line, col } = this.#editor.getCursor();
		return { line, col, before: (this.#editor.getLines()[line] ?? "").slice(0, col) };
	}

	/** Returns true if a command is being written: in the first line, after a slash. */
	#isCommand() {
		const { line, before } = this.#before();
		return line === 0 && before.trimStart().startsWith("/");
	}

	#isTriggered() {
		const { before } = this.#before();
		const word = /(?:^|\s)(\S+)$/.exec(before)?.[1];
		return word !== undefined && this.#triggers.some((trigger) => word.startsWith(trigger));
	}

	/** Asks the provider if the text that was typed calls for completions. */
	textChanged(data) {
		this.#remember();
		if (this.#provider === undefined) return;
		if (this.#list !== undefined) {
			this.#ask(this.#isForced, this.#isTriggered() ? DEBOUNCE : 0);
			return;
		}
		const isErased = data === "\x7f" || data === "\b";
		const { before } = this.#before();
		const last = before.at(-1) ?? "";
		if (last === "/" && !isErased && this.#isCommand()) this.#ask(false, 0);
		else if (isErased || /[A-Za-z0-9._\-/]/.test(last) || this.#triggers.includes(last)) {
			if (this.#isTriggered()) this.#ask(false, DEBOUNCE);
			else if (this.#isCommand() && (isErased || /[A-Za-z0-9._\-]/.test(last))) this.#ask(false, 0);
		}
	}

	/** Asks again when the caret moved with the menu open. */
	caretMoved() {
		if (this.#list === undefined) return;
		const { line, col } = this.#editor.getCursor();
		if (this.#caret === `${line}:${col}` || this.#text !== this.#editor.getText()) return;
		this.#remember();
		this.#ask(this.#isForced, 0);
	}

	#remember() {
		const { line, col } = this.#editor.getCursor();
		this.#caret = `${line}:${col}`;
		this.#text = this.#editor.getText();
	}

	/** Tab without a menu: completes a command, or a path. */
	#complete() {
		const { line, col, before } = this.#before();
		if (this.#isCommand() && !before.trimStart().includes(" ")) {
			this.#ask(false, 0, true);
			return;
		}
		const lines = this.#editor.getLines();
		if (this.#provider.shouldTriggerFileCompletion?.(lines, line, col) === false) return;
		this.#ask(true, 0, true);
	}

	#ask(isForced, delay, isTab = false) {
		this.#cancel();
		if (delay > 0) {
			this.#timer = setTimeout(() => this.#start(isForced, isTab), delay);
			this.#timer.unref?.();
		} else {
			this.#start(isForced, isTab);
		}
	}

	async #start(isForced, isTab) {
		const request = new AbortController();
		this.#request = request;
		const { line, col } = this.#editor.getCursor();
		const text = this.#editor.getText();
		let suggestions;
		try {
			suggestions = await this.#provider.getSuggestions(this.#editor.getLines(), line, col, { signal: request.signal, force: isForced });
		} catch {
			suggestions = null;
		}
		if (this.#request !== request || request.signal.aborted) return;
		this.#request = undefined;
		const now = this.#editor.getCursor();
		if (this.#editor.getText() !== text || now.line !== line || now.col !== col) return;
		this.#show(suggestions, isForced, isTab);
	}

	#show(suggestions, isForced, isTab) {
		if (!suggestions?.items?.length) {
			this.close();
		} else if (isForced && isTab && suggestions.items.length === 1) {
			this.close();
			this.#apply(suggestions.items[0], suggestions.prefix, false);
		} else {
			const { items, prefix } = suggestions;
			this.#prefix = prefix;
			this.#isForced = isForced;
			const layout = prefix.startsWith("/") ? COMMAND_LAYOUT : undefined;
			this.#list = new SelectList(items, this.#host.maxVisible(), this.#host.theme(), layout);
			const exact = items.findIndex((item) => item.value === prefix);
			const best = exact >= 0 ? exact : items.findIndex((item) => prefix !== "" && item.value.startsWith(prefix));
			if (best > 0) this.#list.setSelectedIndex(best);
			this.#remember();
		}
		this.#host.requestRender();
	}
}
exports.Completion = Completion;
