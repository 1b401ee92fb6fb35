// Text that is wrapped, and text that is cut.

const { fillLine } = require("pi:tui/containers");
const { truncateToWidth, visibleWidth, wrapTextWithAnsi } = require("pi:tui/text");

class Text {
	text;
	paddingX;
	paddingY;
	customBgFn;
	cachedText;
	cachedWidth;
	cachedLines;

	constructor(text = "", paddingX = 1, paddingY = 1, customBgFn) {
		this.text = text;
		this.paddingX = paddingX;
		this.paddingY = paddingY;
		this.customBgFn = customBgFn;
	}

	setText(text) {
		this.text = text;
		Text.prototype.invalidate.call(this);
	}

	setCustomBgFn(customBgFn) {
		this.customBgFn = customBgFn;
		Text.prototype.invalidate.call(this);
	}

	setPaddingX(paddingX) {
		this.paddingX = paddingX;
		Text.prototype.invalidate.call(this);
	}

	invalidate() {
		this.cachedText = undefined;
		this.cachedWidth = undefined;
		this.cachedLines = undefined;
	}

	render(width) {
		if (this.cachedLines !== undefined && this.cachedText === this.text && this.cachedWidth === width) {
			return this.cachedLines;
		}
		const lines = this.#lines(width);
		this.cachedText = this.text;
		this.cachedWidth = width;
		this.cachedLines = lines;
		return lines;
	}

	#lines(width) {
		if (!this.text || String(this.text).trim() === "") return [];
		// One column is left for the text.
		const padding = Math.max(0, Math.min(this.paddingX, Math.floor((width - 1) / 2)));
		const margin = " ".repeat(padding);
		const parts = wrapTextWithAnsi(String(this.text).replace(/\t/g, "   "), Math.max(1, width - 2 * padding));
		const lines = [];
		const empty = fillLine("", width, this.customBgFn);
		for (let i = 0; i < this.paddingY; i++) lines.push(empty);
		for (const part of parts) lines.push(fillLine(margin + part + margin, width, this.customBgFn));
		for (let i = 0; i < this.paddingY; i++) lines.push(empty);
		return lines;
	}
}
exports.Text = Text;

class TruncatedText {
	constructor(text, paddingX = 0, paddingY = 0) {
		this.text = text;
		this.paddingX = paddingX;
		this.paddingY = paddingY;
	}

	invalidate() {}

	render(width) {
		const empty = " ".repeat(Math.max(0, width));
		const margin = " ".repeat(this.paddingX);
		const first = String(this.text ?? "").split("\n", 1)[0];
		const cut = truncateToWidth(first, Math.max(1, width - 2 * this.paddingX));
		const line = margin + cut + margin;
		const lines = [];
		for (let i = 0; i < this.paddingY; i++) lines.push(empty);
		lines.push(line + " ".repeat(Math.max(0, width - visibleWidth(line))));
		for (let i = 0; i < this.paddingY; i++) lines.push(empty);
		return lines;
	}
}
exports.TruncatedText = TruncatedText;
