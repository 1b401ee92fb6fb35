// The screen as components see it: `tui`, theme and key bindings.

const native = require("native:ui");

const data = new Map();

/** Returns the data of the current theme, read again when the theme changed. */
function themeData(id) {
	const generation = native.state(id, "themeGeneration", undefined);
	const known = data.get(id);
	if (known?.generation === generation) return known.theme;
	const theme = themeOf(native.state(id, "theme", undefined));
	data.set(id, { generation, theme });
	return theme;
}

/** Returns a theme object for escape sequences by name. */
function themeOf(values) {
	const { themeFrom } = require("pi:theme");
	return themeFrom(values);
}

const themes = new Map();

/** Returns the theme in use. It follows the user, so an extension may keep it. */
function currentTheme(id) {
	let theme = themes.get(id);
	if (theme === undefined) {
		const { Theme } = require("pi:theme");
		theme = new Proxy(Object.create(Theme.prototype), {
			get(target, name) {
				const current = themeData(id);
				const value = Reflect.get(current, name, current);
				return typeof value === "function" ? value.bind(current) : value;
			},
			has: (target, name) => name in themeData(id),
			ownKeys: () => Reflect.ownKeys(target),
		});
		themes.set(id, theme);
	}
	return theme;
}

/** The `tui` of components. It draws nothing itself: the program's screen does. */
function createTui(binding) {
	const { TUI, HOOKS } = require("pi:tui/tui");
	const components = () => require("pi:components");
	const size = () => {
		const [columns, rows] = native.state(binding.id, "size", undefined) ?? [0, 0];
		return columns > 0 ? [columns, rows] : [80, 24];
	};
	const terminal = {
		get columns() {
			return size()[0];
		},
		get rows() {
			return size()[1];
		},
		kittyProtocolActive: false,
		// Only the screen writes to the terminal.
		write() {},
		hideCursor() {},
		showCursor() {},
		setTitle(title) {
			native.update(binding.id, "setTitle", { title: String(title) });
		},
	};
	const tui = new TUI(terminal);
	tui[HOOKS] = {
		requestRender: () => native.requestRender(),
		setFocus: (component) => components().setFocus(component),
		showOverlay: (component, options) => components().showOverlay(binding, component, options),
		hideOverlay: () => components().hideTopOverlay(),
		hasOverlay: () => components().hasOverlay(),
		addInputListener: (listener) => components().onTerminalInput(binding, listener),
		removeInputListener: (listener) => components().removeInputListener(listener),
		start: () => native.suspend(binding.id, false),
		stop: () => native.suspend(binding.id, true),
	};
	return tui;
}

/** Returns the `tui` of a binding. */
function tuiOf(binding) {
	binding.tui ??= createTui(binding);
	return binding.tui;
}

/** Returns the key bindings of the user. */
function keybindingsOf() {
	return require("pi:tui/keybindings").getKeybindings();
}

module.exports = { currentTheme, themeOf, tuiOf, keybindingsOf };
