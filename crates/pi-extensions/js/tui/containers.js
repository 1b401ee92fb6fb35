// Components that hold others, and the mouse events that they pass on.

const { visibleWidth } = require("pi:tui/text");

/** Returns true for components that show a caret when they are focused. */
exports.isFocusable = function isFocusable(component) {
	return component !== null && component !== undefined && "focused" in component;
};

/** Passes a mouse event to a component; the result names the component that handled it. */
function dispatchMouse(component, event) {
	const result = component.handleMouse?.(event);
	if (result === undefined || result === null) return undefined;
	if (!(result.handled || result.capture || result.focus)) return undefined;
	if (result.target !== undefined) return result;
	const { x, y, screenX, screenY, width, height } = event;
	const target = { component, originX: screenX - x, originY: screenY - y, width, height };
	return { ...result, handled: true, target };
}
exports.dispatchMouse = dispatchMouse;

/** Passes an event to the child at its row; `heights` are those of the last frame. */
function dispatchToRow(children, heights, event, left, top, width) {
	let row = top;
	for (let at = 0; at < children.length; at++) {
		const height = heights[at] ?? 0;
		if (event.y >= row && event.y < row + height) {
			return dispatchMouse(children[at], { ...event, x: event.x - left, y: event.y - row, width, height });
		}
		row += height;
	}
	return undefined;
}

class Container {
	children = [];
	mouseLayout = undefined;

	addChild(component) {
		this.children.push(component);
	}

	removeChild(component) {
		const at = this.children.indexOf(component);
		if (at >= 0) this.children.splice(at, 1);
	}

	clear() {
		this.children = [];
	}

	invalidate() {
		for (const child of this.children) child.invalidate?.();
	}

	handleMouse(event) {
		const layout = this.mouseLayout;
		if (layout === undefined) return undefined;
		return dispatchToRow(layout.children, layout.heights, event, 0, 0, layout.width);
	}

	render(width) {
		const lines = [];
		const heights = [];
		for (const child of this.children) {
			const part = child.render(width);
			heights.push(part.length);
			for (const line of part) lines.push(line);
		}
		this.mouseLayout = { children: [...this.children], heights, width };
		return lines;
	}
}
exports.Container = Container;

/** A container with padding and a background. */
class Box {
	children = [];
	paddingX;
	paddingY;
	bgFn;
	cache;
	mouseLayout = undefined;

	constructor(paddingX = 1, paddingY = 1, bgFn) {
		this.paddingX = paddingX;
		this.paddingY = paddingY;
		this.bgFn = bgFn;
	}

	addChild(component) {
		this.children.push(component);
		this.cache = undefined;
	}

	removeChild(component) {
		const at = this.children.indexOf(component);
		if (at >= 0) this.children.splice(at, 1);
		this.cache = undefined;
	}

	clear() {
		this.children = [];
		this.cache = undefined;
	}

	setBgFn(bgFn) {
		this.bgFn = bgFn;
	}

	setPaddingX(paddingX) {
		this.paddingX = paddingX;
		this.cache = undefined;
	}

	invalidate() {
		this.cache = undefined;
		for (const child of this.children) child.invalidate?.();
	}

	handleMouse(event) {
		const layout = this.mouseLayout;
		if (layout === undefined) return undefined;
		return dispatchToRow(layout.children, layout.heights, event, this.paddingX, this.paddingY, layout.width);
	}

	render(width) {
		if (this.children.length === 0) return [];
		const inner = Math.max(1, width - 2 * this.paddingX);
		const left = " ".repeat(this.paddingX);
		const content = [];
		const heights = [];
		for (const child of this.children) {
			const part = child.render(inner);
			heights.push(part.length);
			for (const line of part) content.push(left + line);
		}
		this.mouseLayout = { children: [...this.children], heights, width: inner };
		if (content.length === 0) return [];
		// A background may change without notice: a sample of it is a part of the key.
		const sample = this.bgFn?.("test");
		if (this.#isCached(width, sample, content)) return this.cache.lines;
		const lines = [];
		for (let i = 0; i < this.paddingY; i++) lines.push(this.#fill("", width));
		for (const line of content) lines.push(this.#fill(line, width));
		for (let i = 0; i < this.paddingY; i++) lines.push(this.#fill("", width));
		this.cache = { width, sample, content, lines };
		return lines;
	}

	#isCached(width, sample, content) {
		const cache = this.cache;
		return (
			cache !== undefined &&
			cache.width === width &&
			cache.sample === sample &&
			cache.content.length === content.length &&
			cache.content.every((line, at) => line === content[at])
		);
	}

	#fill(line, width) {
		return fillLine(line, width, this.bgFn);
	}
}
exports.Box = Box;

/** Extends a line to a width and sets its background. */
function fillLine(line, width, background) {
	const padded = line + " ".repeat(Math.max(0, width - visibleWidth(line)));
	return background ? background(padded) : padded;
}
exports.fillLine = fillLine;

class Spacer {
	constructor(lines = 1) {
		this.lines = lines;
	}

	setLines(lines) {
		this.lines = lines;
	}

	invalidate() {}

	render() {
		return new Array(Math.max(0, this.lines)).fill("");
	}
}
exports.Spacer = Spacer;

/** Adds a handler of mouse events to a component. */
class MouseRegion {
	constructor(child, onMouse) {
		this.child = child;
		this.onMouse = onMouse;
	}

	render(width) {
		return this.child.render(width);
	}

	handleMouse(event) {
		return dispatchMouse(this.child, event) ?? this.onMouse(event);
	}

	invalidate() {
		this.child.invalidate?.();
	}
}
exports.MouseRegion = MouseRegion;
