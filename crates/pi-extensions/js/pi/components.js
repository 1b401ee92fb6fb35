// Components of extensions on the screen. The screen knows them by number.

const native = require("native:ui");
const { currentTheme, keybindingsOf, tuiOf } = require("pi:screen");

/** Shown components: { component, binding, close(error?), slot?, handle?, evaluate? } by number. */
const shown = new Map();
/** Numbers of components in slots, by extension and slot. */
const slots = new Map();
/** Listeners of raw input: { handler, subscription }. */
const listeners = [];
let next = 1;

function isFocusable(component) {
	return component !== null && typeof component === "object" && "focused" in component;
}

/** Puts a component into the table. */
function register(entry) {
	const number = next++;
	entry.number = number;
	shown.set(number, entry);
	return number;
}

/** Takes a component out of the table and lets it clean up. */
function unregister(number) {
	const entry = shown.get(number);
	if (entry === undefined) return undefined;
	shown.delete(number);
	native.forget(number);
	try {
		entry.component.dispose?.();
	} catch (error) {
		native.report(entry.binding.id, error);
	}
	return entry;
}

/** Closes a component that threw. */
function fail(entry, error) {
	if (entry.fail !== undefined) entry.fail(error);
	else {
		native.report(entry.binding.id, error);
		native.send(entry.number, "done", undefined);
		entry.restore?.();
	}
}

/** Shows a component that takes the keyboard until it is done. */
function showCustom(binding, factory, options) {
	return new Promise((resolve, reject) => {
		let number;
		let isClosed = false;
		const close = (settle) => (value) => {
			if (isClosed) return;
			isClosed = true;
			if (number !== undefined) {
				native.send(number, "done", undefined);
				unregister(number);
			}
			settle(value);
		};
		const done = close(resolve);
		const failed = close(reject);
		const show = (component) => {
			if (isClosed) {
				component?.dispose?.();
				return;
			}
			if (typeof component?.render !== "function") throw new TypeError("the factory of a custom component must return a component");
			if (isFocusable(component)) component.focused = true;
			const entry = { component, binding, fail: failed, wasClosed: () => done(undefined) };
			number = register(entry);
			const overlayOptions = options.overlay ? dynamicOptions(entry, options.overlayOptions) : undefined;
			native.showCustom(binding.id, number, { overlay: options.overlay === true, overlayOptions }).then(() => done(undefined));
			if (options.overlay) options.onHandle?.(handleOf(entry, done));
		};
		try {
			const made = factory(tuiOf(binding), currentTheme(binding.id), keybindingsOf(), done);
			if (typeof made?.then === "function") made.then(show).catch(failed);
			else show(made);
		} catch (error) {
			failed(error);
		}
	});
}

/** Shows a component above the screen, without an end of its own. */
function showOverlay(binding, component, options) {
	let handle;
	showCustom(binding, () => component, { overlay: true, overlayOptions: options, onHandle: (given) => (handle = given) }).catch((error) =>
		native.report(binding.id, error),
	);
	return handle;
}

/** Returns the options of an overlay, and keeps the function that computes them. */
function dynamicOptions(entry, options) {
	entry.isHidden = false;
	const { width } = entry.component;
	const otherwise = typeof width === "number" && width > 0 ? { width } : {};
	entry.overlayOptions = () => (typeof options === "function" ? options() : options) ?? otherwise;
	const { visible, ...plain } = entry.overlayOptions();
	entry.last = JSON.stringify(plain);
	applyVisibility(entry, visible);
	return plain;
}

function applyVisibility(entry, visible) {
	if (typeof visible !== "function") return;
	const [columns, rows] = native.state(entry.binding.id, "size", undefined) ?? [80, 24];
	const isOut = !visible(columns, rows);
	if (isOut === (entry.isOut ?? false)) return;
	entry.isOut = isOut;
	if (entry.number !== undefined) native.send(entry.number, "hidden", isOut || entry.isHidden);
}

/** Sends options that changed since the last frame. */
function refreshOptions(entry) {
	if (entry.overlayOptions === undefined) return;
	const { visible, ...plain } = entry.overlayOptions();
	const json = JSON.stringify(plain);
	if (json !== entry.last) {
		entry.last = json;
		native.send(entry.number, "options", plain);
	}
	applyVisibility(entry, visible);
}

/** Overlays in the order in which they were shown. */
function overlays() {
	return [...shown.values()].filter((entry) => entry.handle !== undefined);
}

function handleOf(entry, done) {
	entry.isFocused = JSON.parse(entry.last).nonCapturing !== true;
	const setFocused = (isFocused) => {
		if (isFocused) for (const other of overlays()) other.isFocused = false;
		entry.isFocused = isFocused;
		if (isFocusable(entry.component)) entry.component.focused = isFocused;
		native.send(entry.number, "focused", isFocused);
	};
	entry.handle = {
		hide: () => done(undefined),
		setHidden(isHidden) {
			entry.isHidden = Boolean(isHidden);
			native.send(entry.number, "hidden", entry.isHidden || entry.isOut === true);
		},
		isHidden: () => entry.isHidden,
		focus: () => setFocused(true),
		unfocus: () => setFocused(false),
		isFocused: () => entry.isFocused && !entry.isHidden && shown.has(entry.number),
	};
	return entry.handle;
}

/** Gives the focus to the component of an overlay. */
function setFocus(component) {
	const entry = overlays().find((one) => one.component === component);
	if (entry !== undefined) entry.handle.focus();
	else if (component === null) for (const one of overlays()) one.handle.unfocus();
}

/** Puts a component into a slot; without a factory the slot is restored. */
function mount(binding, slot, make, key, placement) {
	const place = key === undefined ? slot : `${slot}:${key}`;
	forgetSlot(binding, place);
	if (make === undefined || make === null) {
		native.mount(binding.id, slot, undefined, key, placement);
		return undefined;
	}
	const component = make();
	if (typeof component?.render !== "function") throw new TypeError(`the factory of the ${slot} must return a component`);
	const restore = () => native.mount(binding.id, slot, undefined, key, placement);
	const entry = { component, binding, slot, restore };
	const number = register(entry);
	slots.set(`${binding.id}:${place}`, number);
	native.mount(binding.id, slot, number, key, placement);
	return entry;
}

/** Forgets the component of a slot, which is about to be replaced. */
function forgetSlot(binding, place) {
	const name = `${binding.id}:${place}`;
	const number = slots.get(name);
	if (number === undefined) return;
	slots.delete(name);
	unregister(number);
}

function mountWidget(binding, key, factory, placement) {
	mount(binding, "widget", () => factory(tuiOf(binding), currentTheme(binding.id)), key, placement);
}

function mountHeader(binding, factory) {
	mount(binding, "header", factory && (() => factory(tuiOf(binding), currentTheme(binding.id))));
}

function mountFooter(binding, factory) {
	if (typeof factory !== "function") {
		mount(binding, "footer", undefined);
		return;
	}
	const footer = footerData(binding);
	const entry = mount(binding, "footer", () => factory(tuiOf(binding), currentTheme(binding.id), footer.data));
	entry.beforeRender = footer.check;
}

/** What a footer may show besides the session. Changes of the branch are noticed per frame. */
function footerData(binding) {
	const callbacks = new Set();
	const read = () => native.state(binding.id, "footer", undefined);
	let branch = read().branch;
	const data = {
		getGitBranch: () => read().branch ?? null,
		getExtensionStatuses: () => new Map(Object.entries(read().statuses)),
		getAvailableProviderCount: () => read().providers,
		onBranchChange(callback) {
			callbacks.add(callback);
			return () => callbacks.delete(callback);
		},
	};
	const check = () => {
		if (callbacks.size === 0) return;
		const now = read().branch;
		if (now === branch) return;
		branch = now;
		for (const callback of [...callbacks]) callback();
	};
	return { data, check };
}

/** Calls a handler with raw input before the screen sees it. Returns a function that ends that. */
function onTerminalInput(binding, handler) {
	const listener = { handler, binding, isActive: true };
	listeners.push(listener);
	if (listeners.length === 1) native.listenToInput(binding.id, true);
	return () => removeListener(listener);
}

function removeListener(listener) {
	const at = listeners.indexOf(listener);
	if (at < 0) return;
	listeners.splice(at, 1);
	if (listeners.length === 0) native.listenToInput(listener.binding.id, false);
}

function removeInputListener(handler) {
	const listener = listeners.find((one) => one.handler === handler);
	if (listener !== undefined) removeListener(listener);
}

/** Shows input to the listeners. Returns the input as they left it; undefined if one consumed it. */
function terminalInput(data) {
	let current = data;
	for (const listener of [...listeners]) {
		if (listener.binding.isStale) {
			removeListener(listener);
			continue;
		}
		try {
			const result = listener.handler(current);
			if (result?.consume) return undefined;
			if (typeof result?.data === "string") current = result.data;
		} catch (error) {
			native.report(listener.binding.id, error);
		}
	}
	return current;
}

/** Draws a component. */
function render(number, width) {
	const entry = shown.get(number);
	if (entry === undefined) return [];
	try {
		refreshOptions(entry);
		entry.beforeRender?.();
		return entry.component.render(width).map((line) => String(line).toWellFormed());
	} catch (error) {
		fail(entry, error);
		return [];
	}
}

/** Passes input to a component. */
function input(number, data) {
	const entry = shown.get(number);
	if (entry === undefined) return;
	try {
		entry.component.handleInput?.(data);
		entry.afterInput?.();
	} catch (error) {
		fail(entry, error);
	}
}

/** Drops cached lines: the theme or the size changed. */
function invalidate(number) {
	const entry = shown.get(number);
	if (entry === undefined) return;
	try {
		entry.component.invalidate?.();
		refreshOptions(entry);
	} catch (error) {
		fail(entry, error);
	}
}

/** Sets the text of an editor. */
function setText(number, text) {
	shown.get(number)?.component.setText?.(text);
}

/** The screen closed a component. */
function closed(number) {
	const entry = unregister(number);
	for (const [name, slot] of slots) if (slot === number) slots.delete(name);
	entry?.wasClosed?.();
}

module.exports = {
	showCustom,
	showOverlay,
	hideTopOverlay: () => overlays().at(-1)?.handle.hide(),
	hasOverlay: () => overlays().some((entry) => !entry.isHidden),
	setFocus,
	mount,
	forgetSlot,
	mountWidget,
	mountHeader,
	mountFooter,
	onTerminalInput,
	removeInputListener,
	calls: { render, input, invalidate, setText, closed, terminalInput },
};
