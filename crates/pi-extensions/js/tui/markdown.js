// Markdown as lines. The tree comes from Rust; the theme's functions color its parts.

const native = require("native:markdown");
const { missing } = require("pi:missing");
const { fillLine } = require("pi:tui/containers");
const { table } = require("pi:tui/markdown-table");
const { inlineText, stylePrefix } = require("pi:tui/markdown-inline");
const { visibleWidth, wrapTextWithAnsi } = require("pi:tui/text");

/** Columns of a rule at most. */
const RULE_WIDTH = 80;
const LIST_INDENT = "    ";
/** Columns that are left for text in nested elements. */
const MIN_WIDTH = 1;

class Markdown {
	#text;
	#paddingX;
	#paddingY;
	#theme;
	#style;
	#options;
	#cached;

	constructor(text, paddingX, paddingY, theme, defaultTextStyle, options = {}) {
		this.#text = text;
		this.#paddingX = paddingX;
		this.#paddingY = paddingY;
		this.#theme = theme;
		this.#style = defaultTextStyle;
		this.#options = options;
	}

	setText(text) {
		this.#text = text;
		this.#cached = undefined;
	}

	invalidate() {
		this.#cached = undefined;
	}

	render(width) {
		if (this.#cached !== undefined && this.#cached.width === width && this.#cached.text === this.#text) return this.#cached.lines;
		const lines = this.#lines(width);
		this.#cached = { width, text: this.#text, lines };
		return lines;
	}

	#lines(width) {
		const source = this.#text ?? "";
		if (source.trim() === "") return [];
		const inner = Math.max(1, width - 2 * this.#paddingX);
		const transformed = this.#options.transform?.(source, inner) ?? source;
		const tokens = native.tree(transformed.replace(/\t/g, "   "), this.#options.renderLatex !== false);
		const blocks = new Blocks(this.#theme, this.#options, this.#defaultStyle());
		const background = this.#style?.bgColor;
		const margin = " ".repeat(this.#paddingX);
		const lines = [];
		for (const line of blocks.lines(tokens, inner)) {
			for (const part of wrapTextWithAnsi(line, inner)) lines.push(fillLine(margin + part + margin, width, background));
		}
		const empty = new Array(this.#paddingY).fill(fillLine("", width, background));
		return [...empty, ...lines, ...empty];
	}

	/** Returns the function that sets the color and attributes of ordinary text. */
	#defaultStyle() {
		const style = this.#style;
		if (style === undefined) return (text) => text;
		return (text) => {
			let styled = style.color ? style.color(text) : text;
			for (const name of ["bold", "italic", "strikethrough", "underline"]) {
				if (style[name]) styled = this.#theme[name](styled);
			}
			return styled;
		};
	}
}
exports.Markdown = Markdown;

/** Renders blocks with one theme. */
class Blocks {
	constructor(theme, options, style) {
		this.theme = theme;
		this.options = options;
		this.style = style;
	}

	inline(tokens, style = this.style) {
		return inlineText(tokens, { theme: this.theme, options: this.options, style });
	}

	lines(tokens, width, style = this.style) {
		const lines = [];
		for (let at = 0; at < tokens.length; at++) lines.push(...this.block(tokens[at], width, tokens[at + 1]?.type, style));
		return lines;
	}

	/** Returns the lines of a block, and the blank line that separates it from the next one. */
	block(token, width, next, style) {
		const isFollowed = next !== undefined && next !== "space";
		switch (token.type) {
			case "heading":
				return [this.heading(token), ...(isFollowed ? [""] : [])];
			case "paragraph":
				return [this.inline(token.tokens, style), ...(isFollowed && next !== "list" ? [""] : [])];
			case "text":
				return [this.inline(token.tokens ?? [token], style)];
			case "code":
				return [...this.code(token), ...(isFollowed ? [""] : [])];
			case "list":
				return this.list(token, 0, width, style);
			case "table":
				return [...table(token, width, this, next, style), ...(isFollowed ? [""] : [])];
			case "blockquote":
				return [...this.quote(token, width), ...(isFollowed ? [""] : [])];
			case "hr":
				return [this.theme.hr("─".repeat(Math.min(width, RULE_WIDTH))), ...(isFollowed ? [""] : [])];
			case "html":
				return [style(token.raw.trim())];
			case "space":
				return [""];
			default:
				return typeof token.text === "string" ? [style(token.text)] : [];
		}
	}

	heading(token) {
		const { theme } = this;
		const style = token.depth === 1 ? (text) => theme.heading(theme.bold(theme.underline(text))) : (text) => theme.heading(theme.bold(text));
		const text = this.inline(token.tokens, style);
		return token.depth >= 3 ? style(`${"#".repeat(token.depth)} `) + text : text;
	}

	code(token) {
		const { theme } = this;
		const indent = theme.codeBlockIndent ?? "  ";
		const lines = theme.highlightCode
			? theme.highlightCode(token.text, token.lang || undefined)
			: token.text.split("\n").map((line) => theme.codeBlock(line));
		return [theme.codeBlockBorder(`\`\`\`${token.lang || ""}`), ...lines.map((line) => indent + line), theme.codeBlockBorder("```")];
	}

	quote(token, width) {
		const { theme } = this;
		const style = (text) => theme.quote(theme.italic(text));
		const prefix = stylePrefix(style);
		// Resets within a line end the quote's own style: it is set again.
		const again = (line) => (prefix === "" ? line : line.replace(/\x1b\[0m/g, `\x1b[0m${prefix}`));
		const inner = Math.max(MIN_WIDTH, width - 2);
		// The style is set for whole lines; within them it is restored after other elements.
		const content = new Blocks(theme, this.options, Object.assign((text) => text, { prefix })).lines(token.tokens, inner);
		while (content.length > 0 && content.at(-1) === "") content.pop();
		const lines = [];
		for (const line of content) {
			for (const part of wrapTextWithAnsi(style(again(line)), inner)) lines.push(theme.quoteBorder("│ ") + part);
		}
		return lines;
	}

	list(token, depth, width, style) {
		const lines = [];
		const indent = LIST_INDENT.repeat(depth);
		token.items.forEach((item, at) => {
			const marker = this.marker(token, item, at);
			const bullet = this.theme.listBullet(marker);
			const rest = " ".repeat(visibleWidth(marker));
			const inner = Math.max(MIN_WIDTH, width - visibleWidth(indent) - visibleWidth(bullet));
			let isFirst = true;
			const put = (line) => {
				lines.push(indent + (isFirst ? bullet : rest) + line);
				isFirst = false;
			};
			for (let n = 0; n < item.tokens.length; n++) {
				const child = item.tokens[n];
				if (child.type === "list") {
					if (isFirst) put("");
					lines.push(...this.list(child, depth + 1, width, style));
					continue;
				}
				if (child.type === "space") {
					lines.push("");
					continue;
				}
				for (const line of this.block(child, inner, item.tokens[n + 1]?.type, style)) {
					if (line === "" && !isFirst) lines.push("");
					else for (const part of wrapTextWithAnsi(line, inner)) put(part);
				}
			}
			if (isFirst) put("");
			if (token.loose && at + 1 < token.items.length) lines.push("");
		});
		return lines;
	}

	marker(token, item, at) {
		const typed = this.options.preserveOrderedListMarkers ? /^\s*(?:\d+[.)]|[-*+])/.exec(item.raw)?.[0].trim() : undefined;
		const mark = typed ?? (token.ordered ? `${(token.start ?? 1) + at}.` : "-");
		const task = item.task ? `[${item.checked ? "x" : " "}] ` : "";
		return `${mark} ${task}`;
	}
}

/** Reads Markdown; the other functions of the library are not offered. */
class Marked {
	lexer(source) {
		return native.tree(source, false);
	}
}
for (const name of ["parse", "parser", "parseInline", "use", "setOptions", "walkTokens", "parseMarkdown"]) {
	Object.defineProperty(Marked.prototype, name, { value: missing(`Marked.${name}`), configurable: true, writable: true });
}
exports.Marked = Marked;

exports.renderLatex = function renderLatex(text, options = {}) {
	return native.latex(text, options.display === true) ?? undefined;
};
