// The editor of the screen, for extensions that replace it.

const { Editor } = require("pi:tui/editor");
const { visibleWidth } = require("pi:tui/text");

class CustomEditor extends Editor {
	embedWorkingStatus;
	actionHandlers = new Map();
	onEscape;
	onCtrlD;
	onPasteImage;
	onExtensionShortcut;
	#keybindings;
	#indicator;

	constructor(tui, theme, keybindings, options = {}) {
		super(tui, theme, options);
		this.#keybindings = keybindings;
		this.embedWorkingStatus = options.embedWorkingStatus ?? false;
	}

	setWorkingStatusIndicator(indicator) {
		this.#indicator = indicator;
	}

	/** The upper border, with the working status in it if there is one and it fits. */
	renderTopBorder(width, hiddenLineCount) {
		const line = super.renderTopBorder(width, hiddenLineCount);
		const status = this.embedWorkingStatus ? this.#indicator?.renderInline?.(Math.max(0, width - 5)) : undefined;
		if (!status || hiddenLineCount > 0) return line;
		const rest = width - 4 - visibleWidth(status);
		return rest < 1 ? line : `${this.borderColor("── ")}${status}${this.borderColor(` ${"─".repeat(rest)}`)}`;
	}

	onAction(action, handler) {
		this.actionHandlers.set(action, handler);
	}

	handleInput(data) {
		const keys = this.#keybindings;
		if (this.onExtensionShortcut?.(data)) return;
		if (keys.matches(data, "app.clipboard.pasteImage")) {
			this.onPasteImage?.();
			return;
		}
		// Escape closes a menu of completions first.
		if (keys.matches(data, "app.interrupt")) {
			if (!this.isShowingAutocomplete()) {
				const handler = this.onEscape ?? this.actionHandlers.get("app.interrupt");
				if (handler) {
					handler();
					return;
				}
			}
			super.handleInput(data);
			return;
		}
		// The key that exits deletes forward while there is text.
		if (keys.matches(data, "app.exit")) {
			if (this.getText() === "") {
				const handler = this.onCtrlD ?? this.actionHandlers.get("app.exit");
				handler?.();
				return;
			}
			super.handleInput(data);
			return;
		}
		for (const [action, handler] of this.actionHandlers) {
			if (action === "app.interrupt" || action === "app.exit" || !keys.matches(data, action)) continue;
			handler();
			return;
		}
		super.handleInput(data);
	}
}
exports.CustomEditor = CustomEditor;
