// `ctx.ui`: dialogs, updates and components, over whatever user interface the program has.

const native = require("native:ui");

/** Components are loaded when the first one is shown. */
const components = () => require("pi:components");

let nextDialog = 1;

/** Returns a value of the interface, or undefined. */
function read(binding, name, argument) {
	return native.state(binding.id, name, argument) ?? undefined;
}

/** Shows a dialog; an aborted signal closes it, and `otherwise` is the result of a closed one. */
async function ask(binding, request, options, otherwise) {
	const signal = options?.signal;
	if (signal?.aborted) return otherwise;
	const number = nextDialog++;
	const close = () => native.closeDialog(number);
	signal?.addEventListener("abort", close);
	try {
		const timeout = typeof options?.timeout === "number" ? options.timeout : undefined;
		return (await native.dialog(binding.id, number, { ...request, timeout })) ?? otherwise;
	} finally {
		signal?.removeEventListener("abort", close);
		close();
	}
}

const text = (value) => (value === undefined || value === null ? undefined : String(value));

/** Returns lines as texts without line breaks and lone surrogates. */
function linesOf(lines) {
	return lines.map((line) => String(line).toWellFormed());
}

/** Creates the user interface of one run of a factory. */
function createUi(binding) {
	const update = (name, fields) => native.update(binding.id, name, fields);
	const hasScreen = () => native.state(binding.id, "hasScreen", undefined) === true;
	let theme;
	const ui = {
		select(title, options, opts) {
			const request = { kind: "select", title: text(title) ?? "", options: linesOf([...options]) };
			return ask(binding, request, opts, undefined);
		},
		confirm(title, message, opts) {
			const request = { kind: "confirm", title: text(title) ?? "", message: text(message) ?? "" };
			return ask(binding, request, opts, false);
		},
		input(title, placeholder, opts) {
			const request = { kind: "input", title: text(title) ?? "", placeholder: text(placeholder) };
			return ask(binding, request, opts, undefined);
		},
		editor(title, prefill, opts) {
			const request = { kind: "editor", title: text(title) ?? "", prefill: text(prefill) };
			return ask(binding, request, { signal: opts?.signal }, undefined);
		},
		notify(message, kind) {
			update("notify", { message: text(message) ?? "", kind: text(kind) });
		},
		setStatus(key, value) {
			update("setStatus", { key: String(key), text: text(value) });
		},
		setWidget(key, content, options) {
			const placement = text(options?.placement);
			if (typeof content === "function") {
				if (hasScreen()) components().mountWidget(binding, String(key), content, placement);
				return;
			}
			if (hasScreen()) components().forgetSlot(binding, `widget:${key}`);
			const lines = Array.isArray(content) ? linesOf(content) : undefined;
			update("setWidget", { key: String(key), lines, placement });
		},
		setTitle(title) {
			update("setTitle", { title: text(title) ?? "" });
		},
		setEditorText(value) {
			update("setEditorText", { text: text(value) ?? "" });
		},
		getEditorText() {
			return read(binding, "editorText") ?? "";
		},
		pasteToEditor(value) {
			update("pasteToEditor", { text: text(value) ?? "" });
		},
		custom(factory, options) {
			if (!hasScreen()) return Promise.resolve(undefined);
			return components().showCustom(binding, factory, options ?? {});
		},
		setFooter(factory) {
			if (hasScreen()) components().mountFooter(binding, factory);
		},
		setHeader(factory) {
			if (hasScreen()) components().mountHeader(binding, factory);
		},
		setEditorComponent(factory) {
			if (hasScreen()) require("pi:editor-slot").mountEditor(binding, factory);
		},
		getEditorComponent() {
			return hasScreen() ? require("pi:editor-slot").editorFactory() : undefined;
		},
		addAutocompleteProvider(factory) {
			if (hasScreen()) require("pi:autocomplete").addProvider(binding, factory);
		},
		onTerminalInput(handler) {
			return hasScreen() ? components().onTerminalInput(binding, handler) : () => {};
		},
		setWorkingMessage(message) {
			update("setWorkingMessage", { message: text(message) });
		},
		setWorkingVisible(visible) {
			update("setWorkingVisible", { visible: Boolean(visible) });
		},
		setWorkingIndicator(options) {
			const frames = Array.isArray(options?.frames) ? linesOf(options.frames) : undefined;
			update("setWorkingIndicator", { frames, intervalMs: options?.intervalMs });
		},
		setHiddenThinkingLabel(label) {
			update("setHiddenThinkingLabel", { label: text(label) });
		},
		get theme() {
			theme ??= require("pi:screen").currentTheme(binding.id);
			return theme;
		},
		getAllThemes() {
			const themes = read(binding, "themes") ?? [];
			return themes.map(({ name, path }) => ({ name, path: path ?? undefined }));
		},
		getTheme(name) {
			const data = read(binding, "findTheme", String(name));
			return data === undefined ? undefined : require("pi:screen").themeOf(data);
		},
		setTheme(chosen) {
			return native.state(binding.id, "setTheme", String(typeof chosen === "object" && chosen !== null ? chosen.name : chosen));
		},
		getToolsExpanded() {
			return read(binding, "toolsExpanded") === true;
		},
		setToolsExpanded(expanded) {
			update("setToolsExpanded", { expanded: Boolean(expanded) });
		},
	};
	return ui;
}

/** Returns the user interface of a binding; it is made on first use. */
exports.uiOf = function uiOf(binding) {
	binding.ui ??= createUi(binding);
	return binding.ui;
};
