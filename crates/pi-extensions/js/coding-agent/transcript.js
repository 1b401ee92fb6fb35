// The messages of a transcript.

const { getMarkdownTheme, keyHint, keyText, theme } = require("pi:coding-agent/appearance");
const { Box, Container, Spacer } = require("pi:tui/containers");
const { Markdown } = require("pi:tui/markdown");
const { Text } = require("pi:tui/texts");

/** Marks of a prompt for the terminal, which jumps between them. */
const PROMPT_START = "\x1b]133;A\x07";
const PROMPT_END = "\x1b]133;B\x07\x1b]133;C\x07";

function marked(lines) {
	if (lines.length === 0) return lines;
	const copy = [...lines];
	copy[0] = PROMPT_START + copy[0];
	copy[copy.length - 1] = PROMPT_END + copy[copy.length - 1];
	return copy;
}

const bold = (text) => `\x1b[1m${text}\x1b[22m`;
const labelOf = (name) => theme().fg("customMessageLabel", bold(`[${name}]`));
const customBg = (text) => theme().bg("customMessageBg", text);
const customText = (text) => theme().fg("customMessageText", text);

class UserMessageComponent extends Container {
	#text;
	#markdownTheme;
	#outputPad;

	constructor(text, markdownTheme = getMarkdownTheme(), outputPad = 1) {
		super();
		this.#text = text;
		this.#markdownTheme = markdownTheme;
		this.setOutputPad(outputPad);
	}

	setOutputPad(padding) {
		this.#outputPad = padding;
		this.clear();
		const box = new Box(padding, 1, (text) => theme().bg("userMessageBg", text));
		const style = { color: (text) => theme().fg("userMessageText", text) };
		const options = { preserveOrderedListMarkers: true, preserveBackslashEscapes: true };
		box.addChild(new Markdown(this.#text, 0, 0, this.#markdownTheme, style, options));
		this.addChild(box);
	}

	render(width) {
		return marked(super.render(width));
	}
}
exports.UserMessageComponent = UserMessageComponent;

class AssistantMessageComponent extends Container {
	#message;
	#hidesThinking;
	#markdownTheme;
	#hiddenLabel;
	#outputPad;
	#hasToolCalls = false;

	constructor(message, hideThinkingBlock = false, markdownTheme = getMarkdownTheme(), hiddenThinkingLabel = "Thinking...", outputPad = 1) {
		super();
		this.#hidesThinking = hideThinkingBlock;
		this.#markdownTheme = markdownTheme;
		this.#hiddenLabel = hiddenThinkingLabel;
		this.#outputPad = outputPad;
		if (message) this.updateContent(message);
	}

	invalidate() {
		super.invalidate();
		this.#rebuild();
	}

	setHideThinkingBlock(hide) {
		this.#hidesThinking = hide;
		this.#rebuild();
	}

	setHiddenThinkingLabel(label) {
		this.#hiddenLabel = label;
		this.#rebuild();
	}

	setOutputPad(padding) {
		this.#outputPad = padding;
		this.#rebuild();
	}

	updateContent(message) {
		this.#message = message;
		this.#rebuild();
	}

	render(width) {
		const lines = super.render(width);
		return this.#hasToolCalls ? lines : marked(lines);
	}

	#rebuild() {
		this.clear();
		const message = this.#message;
		if (message === undefined) return;
		const isShown = (block) => (block.type === "text" && block.text.trim() !== "") || (block.type === "thinking" && block.thinking.trim() !== "");
		const blocks = message.content.filter(isShown);
		if (blocks.length > 0) this.addChild(new Spacer(1));
		blocks.forEach((block, at) => {
			if (block.type === "text") {
				this.addChild(new Markdown(block.text.trim(), this.#outputPad, 0, this.#markdownTheme));
				return;
			}
			const color = (text) => theme().fg("thinkingText", text);
			if (this.#hidesThinking) {
				this.addChild(new Text(theme().italic(color(this.#hiddenLabel)), this.#outputPad, 0));
			} else {
				const style = { color, italic: true };
				this.addChild(new Markdown(block.thinking.trim(), this.#outputPad, 0, this.#markdownTheme, style));
			}
			if (at + 1 < blocks.length) this.addChild(new Spacer(1));
		});
		this.#hasToolCalls = message.content.some((block) => block.type === "toolCall");
		const problem = this.#hasToolCalls && message.stopReason !== "length" ? undefined : problemOf(message);
		if (problem !== undefined) {
			this.addChild(new Spacer(1));
			this.addChild(new Text(theme().fg("error", problem), this.#outputPad, 0));
		}
	}
}
exports.AssistantMessageComponent = AssistantMessageComponent;

/** Returns why an answer ended early. */
function problemOf(message) {
	if (message.stopReason === "aborted") {
		const isOwn = message.errorMessage && message.errorMessage !== "Request was aborted";
		return isOwn ? message.errorMessage : "Operation aborted";
	}
	if (message.stopReason === "error") return `Error: ${message.errorMessage || "Unknown error"}`;
	if (message.stopReason === "length") return "Response was truncated before completion.";
	return undefined;
}

class CustomMessageComponent extends Container {
	#message;
	#renderer;
	#markdownTheme;
	#outputPad;
	#isExpanded = false;

	constructor(message, customRenderer, markdownTheme = getMarkdownTheme(), outputPad = 1) {
		super();
		this.#message = message;
		this.#renderer = customRenderer;
		this.#markdownTheme = markdownTheme;
		this.#outputPad = outputPad;
		this.#rebuild();
	}

	setExpanded(expanded) {
		this.#isExpanded = expanded;
		this.#rebuild();
	}

	setOutputPad(outputPad) {
		this.#outputPad = outputPad;
		this.#rebuild();
	}

	invalidate() {
		super.invalidate();
		this.#rebuild();
	}

	#rebuild() {
		this.clear();
		this.addChild(new Spacer(1));
		const own = this.#render();
		if (own !== undefined && own !== null) {
			this.addChild(own);
			return;
		}
		const { customType, content } = this.#message;
		const box = new Box(this.#outputPad, 1, customBg);
		box.addChild(new Text(labelOf(customType), 0, 0));
		box.addChild(new Spacer(1));
		const text = typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
		box.addChild(new Markdown(text, 0, 0, this.#markdownTheme, { color: customText }));
		this.addChild(box);
	}

	/** A renderer that throws is replaced by the plain form. */
	#render() {
		try {
			const options = { expanded: this.#isExpanded, outputPad: this.#outputPad, keyText, keyHint };
			return this.#renderer?.(this.#message, options, theme());
		} catch {
			return undefined;
		}
	}
}
exports.CustomMessageComponent = CustomMessageComponent;

/** A box that shows one line, or all of a text when it is expanded. */
class SummaryBox extends Box {
	#isExpanded = false;

	constructor(outputPad) {
		super(outputPad, 1, customBg);
	}

	setExpanded(expanded) {
		this.#isExpanded = expanded;
		this.rebuild();
	}

	setOutputPad(outputPad) {
		this.setPaddingX(outputPad);
		this.rebuild();
	}

	invalidate() {
		super.invalidate();
		this.rebuild();
	}

	rebuild() {
		this.clear();
		for (const child of this.parts(this.#isExpanded)) this.addChild(child);
	}
}

/** Returns a line with the key that expands it. */
const expandable = (text) => customText(`${text} (`) + theme().fg("dim", keyText("app.tools.expand")) + customText(" to expand)");

class BranchSummaryMessageComponent extends SummaryBox {
	#message;
	#markdownTheme;

	constructor(message, markdownTheme = getMarkdownTheme(), outputPad = 1) {
		super(outputPad);
		this.#message = message;
		this.#markdownTheme = markdownTheme;
		this.rebuild();
	}

	parts(isExpanded) {
		const head = [new Text(labelOf("branch"), 0, 0), new Spacer(1)];
		if (!isExpanded) return [...head, new Text(expandable("Branch summary"), 0, 0)];
		const text = `**Branch Summary**\n\n${this.#message.summary}`;
		return [...head, new Markdown(text, 0, 0, this.#markdownTheme, { color: customText })];
	}
}
exports.BranchSummaryMessageComponent = BranchSummaryMessageComponent;

class CompactionSummaryMessageComponent extends SummaryBox {
	#message;
	#markdownTheme;

	constructor(message, markdownTheme = getMarkdownTheme(), outputPad = 1) {
		super(outputPad);
		this.#message = message;
		this.#markdownTheme = markdownTheme;
		this.rebuild();
	}

	parts(isExpanded) {
		const head = [new Text(labelOf("compaction"), 0, 0), new Spacer(1)];
		const tokens = String(this.#message.tokensBefore).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
		const line = `Compacted from ${tokens} tokens`;
		if (!isExpanded) return [...head, new Text(expandable(line), 0, 0)];
		return [...head, new Markdown(`**${line}**\n\n${this.#message.summary}`, 0, 0, this.#markdownTheme, { color: customText })];
	}
}
exports.CompactionSummaryMessageComponent = CompactionSummaryMessageComponent;

class SkillInvocationMessageComponent extends SummaryBox {
	#block;
	#markdownTheme;

	constructor(skillBlock, markdownTheme = getMarkdownTheme(), outputPad = 1) {
		super(outputPad);
		this.#block = skillBlock;
		this.#markdownTheme = markdownTheme;
		this.rebuild();
	}

	parts(isExpanded) {
		const { name, content } = this.#block;
		if (isExpanded) {
			const text = `**${name}**\n\n${content}`;
			return [new Text(labelOf("skill"), 0, 0), new Markdown(text, 0, 0, this.#markdownTheme, { color: customText })];
		}
		const label = theme().fg("customMessageLabel", `${bold("[skill]")} `);
		return [new Text(label + customText(name) + theme().fg("dim", ` (${keyText("app.tools.expand")} to expand)`), 0, 0)];
	}
}
exports.SkillInvocationMessageComponent = SkillInvocationMessageComponent;
