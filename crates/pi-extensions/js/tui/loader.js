// A message with a moving indicator.

const { getKeybindings } = require("pi:tui/keybindings");
const { Text } = require("pi:tui/texts");

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL = 80;

class Loader extends Text {
	frames = FRAMES;
	intervalMs = INTERVAL;
	currentFrame = 0;
	intervalId = null;
	renderIndicatorVerbatim = false;

	constructor(ui, spinnerColorFn, messageColorFn, message = "Loading...", indicator) {
		super("", 1, 0);
		this.ui = ui;
		this.spinnerColorFn = spinnerColorFn;
		this.messageColorFn = messageColorFn;
		this.message = message;
		this.setIndicator(indicator);
	}

	render(width) {
		return ["", ...super.render(width)];
	}

	start() {
		this.updateDisplay();
		this.#animate();
	}

	stop() {
		if (this.intervalId === null) return;
		clearInterval(this.intervalId);
		this.intervalId = null;
	}

	setMessage(message) {
		this.message = message;
		this.updateDisplay();
	}

	invalidate() {
		super.invalidate();
		// The colors may have changed.
		if (this.ui !== undefined) this.#compose();
	}

	/** Sets frames of the caller's own, which are shown as they are; without any, there is no indicator. */
	setIndicator(indicator) {
		this.renderIndicatorVerbatim = indicator !== undefined;
		this.frames = indicator?.frames !== undefined ? [...indicator.frames] : [...FRAMES];
		this.intervalMs = indicator?.intervalMs > 0 ? indicator.intervalMs : INTERVAL;
		this.currentFrame = 0;
		this.start();
	}

	#animate() {
		this.stop();
		if (this.frames.length <= 1) return;
		this.intervalId = setInterval(() => {
			this.currentFrame = (this.currentFrame + 1) % this.frames.length;
			this.updateDisplay();
		}, this.intervalMs);
		this.intervalId.unref?.();
	}

	getRenderedIndicator() {
		const frame = this.frames[this.currentFrame] ?? "";
		return this.renderIndicatorVerbatim ? frame : this.spinnerColorFn(frame);
	}

	#compose() {
		const indicator = this.frames.length > 0 ? `${this.getRenderedIndicator()} ` : "";
		this.setText(indicator + this.messageColorFn(this.message));
	}

	updateDisplay() {
		this.#compose();
		this.ui?.requestRender?.();
	}
}
exports.Loader = Loader;

/** A loader that Escape cancels. */
class CancellableLoader extends Loader {
	#controller = new AbortController();
	onAbort;

	get signal() {
		return this.#controller.signal;
	}

	get aborted() {
		return this.#controller.signal.aborted;
	}

	handleInput(data) {
		if (!getKeybindings().matches(data, "tui.select.cancel")) return;
		this.#controller.abort();
		this.onAbort?.();
	}

	dispose() {
		this.stop();
	}
}
exports.CancellableLoader = CancellableLoader;
