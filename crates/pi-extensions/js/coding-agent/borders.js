// Borders, a loader between two of them, and text cut by visible lines.

const { keyHint, theme } = require("pi:coding-agent/appearance");
const { Container, Spacer } = require("pi:tui/containers");
const { CancellableLoader, Loader } = require("pi:tui/loader");
const { Text } = require("pi:tui/texts");

class DynamicBorder {
	#color;

	constructor(color = (text) => theme().fg("border", text)) {
		this.#color = color;
	}

	invalidate() {}

	render(width) {
		return [this.#color("─".repeat(Math.max(1, width)))];
	}
}
exports.DynamicBorder = DynamicBorder;

class BorderedLoader extends Container {
	#loader;
	#controller;

	constructor(tui, theme, message, options) {
		super();
		const isCancellable = options?.cancellable ?? true;
		const border = (text) => theme.fg("border", text);
		const color = (text) => theme.fg("accent", text);
		const muted = (text) => theme.fg("muted", text);
		this.addChild(new DynamicBorder(border));
		if (isCancellable) {
			this.#loader = new CancellableLoader(tui, color, muted, message);
		} else {
			this.#controller = new AbortController();
			this.#loader = new Loader(tui, color, muted, message);
		}
		this.addChild(this.#loader);
		if (isCancellable) {
			this.addChild(new Spacer(1));
			this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
		}
		this.addChild(new Spacer(1));
		this.addChild(new DynamicBorder(border));
	}

	get signal() {
		return this.#controller?.signal ?? this.#loader.signal;
	}

	set onAbort(handler) {
		this.#loader.onAbort = handler;
	}

	handleInput(data) {
		this.#loader.handleInput?.(data);
	}

	dispose() {
		this.#loader.stop();
	}
}
exports.BorderedLoader = BorderedLoader;

/** Returns the first or the last lines of a text as it is shown in a width. */
exports.truncateToVisualLines = function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0, keep = "end") {
	if (!text) return { visualLines: [], skippedCount: 0 };
	const lines = new Text(text, paddingX, 0).render(width);
	if (lines.length <= maxVisualLines) return { visualLines: lines, skippedCount: 0 };
	const visualLines = keep === "start" ? lines.slice(0, maxVisualLines) : lines.slice(-maxVisualLines);
	return { visualLines, skippedCount: lines.length - maxVisualLines };
};
