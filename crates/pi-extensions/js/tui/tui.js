// The screen as components see it. The program draws; this passes requests on to it.

const { missing } = require("pi:missing");
const { Container, isFocusable } = require("pi:tui/containers");

/** The property with the functions of the program behind a screen. */
const HOOKS = Symbol("hooks");
exports.HOOKS = HOOKS;

/**
 * A screen. `hooks` are the functions of the program: requestRender(force), setFocus(component),
 * showOverlay(component, options), hideOverlay(), hasOverlay(), addInputListener(listener), start(),
 * stop(). A screen that an extension creates has none, and cannot be started.
 */
class TUI extends Container {
	terminal;
	onDebug;
	#focused = null;
	#showHardwareCursor;
	#clearOnShrink = false;
	#listeners = new Set();

	constructor(terminal, showHardwareCursor = false) {
		super();
		this.terminal = terminal;
		this.#showHardwareCursor = Boolean(showHardwareCursor);
		Object.defineProperty(this, HOOKS, { value: {}, writable: true });
	}

	#hook(name) {
		return this[HOOKS][name] ?? missing(`TUI.${name}`);
	}

	get fullRedraws() {
		return 0;
	}

	getShowHardwareCursor() {
		return this.#showHardwareCursor;
	}

	setShowHardwareCursor(enabled) {
		this.#showHardwareCursor = Boolean(enabled);
		this[HOOKS].setShowHardwareCursor?.(this.#showHardwareCursor);
	}

	getClearOnShrink() {
		return this.#clearOnShrink;
	}

	setClearOnShrink(enabled) {
		this.#clearOnShrink = Boolean(enabled);
	}

	getFocusedComponent() {
		return this.#focused;
	}

	setFocus(component) {
		if (isFocusable(this.#focused)) this.#focused.focused = false;
		this.#focused = component;
		if (isFocusable(component)) component.focused = true;
		this[HOOKS].setFocus?.(component);
	}

	requestRender(force = false) {
		this[HOOKS].requestRender?.(force);
	}

	renderNow(force = false) {
		this.requestRender(force);
	}

	showOverlay(component, options) {
		return this.#hook("showOverlay")(component, options);
	}

	hideOverlay() {
		this.#hook("hideOverlay")();
	}

	hasOverlay() {
		return this[HOOKS].hasOverlay?.() ?? false;
	}

	addInputListener(listener) {
		this.#listeners.add(listener);
		const remove = this[HOOKS].addInputListener?.(listener);
		return () => {
			this.#listeners.delete(listener);
			remove?.();
		};
	}

	removeInputListener(listener) {
		this.#listeners.delete(listener);
		this[HOOKS].removeInputListener?.(listener);
	}

	start() {
		this.#hook("start")();
	}

	stop(options) {
		this.#hook("stop")(options);
	}

	onTerminalColorSchemeChange(listener) {
		return this[HOOKS].onTerminalColorSchemeChange?.(listener) ?? (() => {});
	}

	setTerminalColorSchemeNotifications() {}

	async queryTerminalBackgroundColor() {
		return undefined;
	}

	async queryTerminalColorScheme() {
		return undefined;
	}
}
exports.TUI = TUI;

class TuiMainScreen extends TUI {
	mode = "regular";
}
exports.TuiMainScreen = TuiMainScreen;

class TuiAltScreen extends TUI {
	mode = "fullscreen";
}
exports.TuiAltScreen = TuiAltScreen;

exports.isViewportTUI = function isViewportTUI(tui) {
	return tui instanceof TuiAltScreen;
};
