// A tool call with its result.

const { keyHint, keyText, theme } = require("pi:coding-agent/appearance");
const { Box, Container, Spacer } = require("pi:tui/containers");
const { Image, getImageDimensions, imageFallback } = require("pi:tui/image");
const { getCapabilities } = require("pi:tui/terminal");
const { stripTerminalSequences } = require("pi:tui/text");
const { Text } = require("pi:tui/texts");

class ToolExecutionComponent extends Container {
	#name;
	#id;
	#args;
	#definition;
	#ui;
	#cwd;
	#showImages;
	#imageWidth;
	#outputPad;
	#isExpanded = false;
	#isStarted = false;
	#isArgsComplete = false;
	#isPartial = true;
	#result;
	#state = {};
	#call;
	#output;

	constructor(toolName, toolCallId, args, options, toolDefinition, ui, cwd) {
		super();
		this.#name = toolName;
		this.#id = toolCallId;
		this.#args = args;
		this.#definition = toolDefinition;
		this.#ui = ui;
		this.#cwd = cwd;
		this.#showImages = options?.showImages ?? true;
		this.#imageWidth = options?.imageWidthCells ?? 60;
		this.#outputPad = options?.outputPad ?? 1;
		this.#rebuild();
	}

	updateArgs(args) {
		this.#args = args;
		this.#rebuild();
	}

	markExecutionStarted() {
		this.#isStarted = true;
		this.#rebuild();
	}

	setArgsComplete() {
		this.#isArgsComplete = true;
		this.#rebuild();
	}

	updateResult(result, isPartial = false) {
		this.#result = result;
		this.#isPartial = isPartial;
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

	setShowImages(show) {
		this.#showImages = show;
		this.#rebuild();
	}

	setImageWidthCells(width) {
		this.#imageWidth = width;
		this.#rebuild();
	}

	invalidate() {
		super.invalidate();
		this.#rebuild();
	}

	/** The surroundings of a renderer. */
	#context(lastComponent) {
		return {
			args: this.#args,
			toolCallId: this.#id,
			invalidate: () => {
				this.invalidate();
				this.#ui?.requestRender?.();
			},
			lastComponent,
			state: this.#state,
			cwd: this.#cwd,
			executionStarted: this.#isStarted,
			argsComplete: this.#isArgsComplete,
			isPartial: this.#isPartial,
			expanded: this.#isExpanded,
			showImages: this.#showImages,
			outputPad: this.#outputPad,
			isError: this.#result?.isError ?? false,
			durationMs: this.#result?.durationMs,
			keyText,
			keyHint,
		};
	}

	/** Calls a renderer; one that throws is replaced by the plain form. */
	#render(render, last) {
		try {
			return render(this.#context(last)) ?? undefined;
		} catch {
			return undefined;
		}
	}

	#rebuild() {
		this.clear();
		this.addChild(new Spacer(1));
		const definition = this.#definition;
		const parts = definition === undefined ? this.#plainParts() : this.#definedParts(definition);
		if (definition?.renderShell === "self") {
			for (const part of parts) this.addChild(part);
		} else {
			const color = this.#isPartial ? "toolPendingBg" : this.#result?.isError ? "toolErrorBg" : "toolSuccessBg";
			const box = new Box(this.#outputPad, 1, (text) => theme().bg(color, text));
			for (const part of parts) box.addChild(part);
			this.addChild(box);
		}
		this.#addImages();
	}

	#definedParts(definition) {
		const parts = [];
		const call = definition.renderCall && this.#render((context) => definition.renderCall(this.#args, theme(), context), this.#call);
		this.#call = call;
		parts.push(call ?? new Text(this.#title() + this.#shortArguments(), 0, 0));
		if (this.#result === undefined) return parts;
		const options = { expanded: this.#isExpanded, isPartial: this.#isPartial };
		const result = definition.renderResult && this.#render((context) => definition.renderResult(this.#result, options, theme(), context), this.#output);
		this.#output = result;
		if (result !== undefined) parts.push(result);
		else {
			const text = this.#text();
			if (text !== "") parts.push(new Text(theme().fg("toolOutput", text), 0, 0));
		}
		return parts;
	}

	#title() {
		return theme().fg("toolTitle", theme().bold(this.#name));
	}

	/** Returns arguments as `name=value`, as far as they are short. */
	#shortArguments() {
		const entries = Object.entries(this.#args ?? {});
		if (entries.length === 0) return "";
		const shown = entries.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
		return ` ${theme().fg("muted", shown.join(" "))}`;
	}

	#plainParts() {
		let text = this.#title();
		const args = JSON.stringify(this.#args, null, 2);
		if (args !== undefined) text += `\n\n${args}`;
		const output = this.#text();
		if (output !== "") text += `\n${output}`;
		return [new Text(text, 0, 0)];
	}

	/** Returns the text of the result; images that cannot be shown are named. */
	#text() {
		const content = this.#result?.content ?? [];
		const lines = content.filter((block) => block.type === "text").map((block) => stripTerminalSequences(block.text ?? "").replace(/\r/g, ""));
		if (!this.#drawsImages()) {
			for (const block of content) {
				if (block.type !== "image") continue;
				lines.push(imageFallback(block.mimeType, getImageDimensions(block.data ?? "", block.mimeType) ?? undefined));
			}
		}
		return lines.join("\n");
	}

	#drawsImages() {
		return this.#showImages && Boolean(getCapabilities().images);
	}

	#addImages() {
		if (!this.#drawsImages()) return;
		for (const block of this.#result?.content ?? []) {
			if (block.type !== "image" || !block.data) continue;
			this.addChild(new Spacer(1));
			const fallbackColor = (text) => theme().fg("toolOutput", text);
			this.addChild(new Image(block.data, block.mimeType, { fallbackColor }, { maxWidthCells: this.#imageWidth }));
		}
	}
}
exports.ToolExecutionComponent = ToolExecutionComponent;
