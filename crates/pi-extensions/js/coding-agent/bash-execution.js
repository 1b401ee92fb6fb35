// A command that the user runs, with its output.

const { keyHint, keyText, theme } = require("pi:coding-agent/appearance");
const { DynamicBorder, truncateToVisualLines } = require("pi:coding-agent/borders");
const { Container, Spacer } = require("pi:tui/containers");
const { Loader } = require("pi:tui/loader");
const { stripTerminalSequences } = require("pi:tui/text");
const { Text } = require("pi:tui/texts");

/** Lines that are shown unless the output is expanded. */
const PREVIEW_LINES = 20;

class BashExecutionComponent extends Container {
	#command;
	#color;
	#outputPad;
	#lines = [];
	#loader;
	#status = "running";
	#exitCode;
	#truncation;
	#fullPath;
	#isExpanded = false;
	#content = new Container();

	constructor(command, ui, excludeFromContext = false, outputPad = 1) {
		super();
		this.#command = command;
		this.#outputPad = outputPad;
		const name = excludeFromContext ? "dim" : "bashMode";
		this.#color = (text) => theme().fg(name, text);
		const message = `Running... (${keyText("tui.select.cancel")} to cancel)`;
		this.#loader = new Loader(ui, this.#color, (text) => theme().fg("muted", text), message);
		this.addChild(new Spacer(1));
		this.addChild(new DynamicBorder(this.#color));
		this.addChild(this.#content);
		this.addChild(new DynamicBorder(this.#color));
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

	appendOutput(chunk) {
		const [first, ...rest] = stripTerminalSequences(chunk).replace(/\r\n?/g, "\n").split("\n");
		if (this.#lines.length > 0) this.#lines[this.#lines.length - 1] += first;
		else this.#lines.push(first);
		this.#lines.push(...rest);
		this.#rebuild();
	}

	setComplete(exitCode, cancelled, truncationResult, fullOutputPath) {
		this.#exitCode = exitCode;
		this.#status = cancelled ? "cancelled" : exitCode ? "error" : "complete";
		this.#truncation = truncationResult;
		this.#fullPath = fullOutputPath;
		this.#loader.stop();
		this.#rebuild();
	}

	getOutput() {
		return this.#lines.join("\n");
	}

	getCommand() {
		return this.#command;
	}

	#rebuild() {
		const content = this.#content;
		content.clear();
		content.addChild(new Text(this.#color(theme().bold(`$ ${this.#command}`)), this.#outputPad, 0));
		const hidden = Math.max(0, this.#lines.length - PREVIEW_LINES);
		const muted = (text) => theme().fg("muted", text);
		if (this.#lines.length > 0) {
			if (this.#isExpanded || hidden === 0) {
				content.addChild(new Text(`\n${this.#lines.map(muted).join("\n")}`, this.#outputPad, 0));
			} else {
				const text = this.#lines.slice(-PREVIEW_LINES).map(muted).join("\n");
				const padding = this.#outputPad;
				content.addChild({ render: (width) => truncateToVisualLines(text, PREVIEW_LINES, width, padding).visualLines, invalidate() {} });
			}
		}
		if (this.#status === "running") {
			content.addChild(this.#loader);
			return;
		}
		const status = this.#statusLines(hidden);
		if (status.length > 0) content.addChild(new Text(`\n${status.join("\n")}`, this.#outputPad, 0));
	}

	#statusLines(hidden) {
		const muted = (text) => theme().fg("muted", text);
		const lines = [];
		if (hidden > 0) {
			const hint = keyHint("app.tools.expand", this.#isExpanded ? "to collapse" : "to expand");
			lines.push(this.#isExpanded ? `${muted("(")}${hint}${muted(")")}` : `${muted(`... ${hidden} more lines (`)}${hint}${muted(")")}`);
		}
		if (this.#status === "cancelled") lines.push(theme().fg("warning", "(cancelled)"));
		else if (this.#status === "error") lines.push(theme().fg("error", `(exit ${this.#exitCode})`));
		if (this.#truncation?.truncated && this.#fullPath) lines.push(theme().fg("warning", `Output truncated. Full output: ${this.#fullPath}`));
		return lines;
	}
}
exports.BashExecutionComponent = BashExecutionComponent;
