// Components beside and below each other.

const { Container } = require("pi:tui/containers");
const { compositeTuiLine, sliceByColumn, visibleWidth } = require("pi:tui/text");

class Stack extends Container {
	entries = [];

	constructor(children = [], options = {}) {
		super();
		this.gap = Math.max(0, options.gap ?? 0);
		this.align = options.align ?? "stretch";
		for (const child of children) {
			if (typeof child.render === "function") this.addChild(child);
			else this.addChild(child.component, child);
		}
	}

	addChild(component, options = {}) {
		super.addChild(component);
		this.entries.push({ ...options, component });
	}

	removeChild(component) {
		super.removeChild(component);
		this.entries = this.entries.filter((entry) => entry.component !== component);
	}

	clear() {
		super.clear();
		this.entries = [];
	}

	/** Returns the entries that are shown in a viewport. */
	visibleEntries(width, height) {
		return this.entries.filter((entry) => entry.visible?.({ width, height }) ?? true);
	}
}

/** Returns the size of each entry: its own, grown or shrunk to fill the room. */
function allocate(entries, intrinsic, room) {
	const least = (entry) => Math.max(0, entry.minSize ?? 0);
	const most = (entry) => Math.max(least(entry), entry.maxSize ?? Number.POSITIVE_INFINITY);
	const sizes = entries.map((entry, at) => {
		const size = entry.basis === undefined || entry.basis === "auto" ? intrinsic[at] : entry.basis;
		return Math.min(most(entry), Math.max(least(entry), Math.floor(size)));
	});
	let rest = room - sizes.reduce((sum, size) => sum + size, 0);
	// One cell at a time, to the entry that has received least for its weight.
	const moved = sizes.map(() => 0);
	while (rest !== 0) {
		const step = Math.sign(rest);
		let best = -1;
		for (let at = 0; at < entries.length; at++) {
			const weight = step > 0 ? (entries[at].grow ?? 0) : (entries[at].shrink ?? 1);
			const isFixed = step > 0 ? sizes[at] >= most(entries[at]) : sizes[at] <= least(entries[at]);
			if (weight <= 0 || isFixed) continue;
			if (best < 0 || moved[at] / weight < moved[best] / (step > 0 ? entries[best].grow : (entries[best].shrink ?? 1))) best = at;
		}
		if (best < 0) break;
		sizes[best] += step;
		moved[best] += 1;
		rest -= step;
	}
	return sizes;
}

class HStack extends Stack {
	layoutType = "hstack";

	render(width) {
		const entries = this.visibleEntries(width, Number.POSITIVE_INFINITY);
		if (entries.length === 0) return [];
		const room = Math.max(0, width - this.gap * (entries.length - 1));
		const intrinsic = entries.map((entry) => {
			if (typeof entry.basis === "number") return 0;
			return Math.max(0, ...entry.component.render(Math.max(1, room)).map(visibleWidth));
		});
		const sizes = allocate(entries, intrinsic, room);
		const parts = entries.map((entry, at) => (sizes[at] > 0 ? entry.component.render(sizes[at]) : []));
		const height = Math.max(0, ...parts.map((part) => part.length));
		const lines = new Array(height).fill(" ".repeat(width));
		let x = 0;
		for (let at = 0; at < entries.length; at++) {
			const part = parts[at];
			const free = height - part.length;
			const top = this.align === "end" ? free : this.align === "center" ? Math.floor(free / 2) : 0;
			for (let row = 0; row < part.length && x < width; row++) {
				const line = compositeTuiLine(lines[top + row], part[row], x, sizes[at], width);
				lines[top + row] = visibleWidth(line) > width ? sliceByColumn(line, 0, width, true) : line;
			}
			x += sizes[at] + this.gap;
		}
		return lines;
	}
}
exports.HStack = HStack;

class VStack extends Stack {
	layoutType = "vstack";

	render(width) {
		const lines = [];
		let isFirst = true;
		for (const entry of this.visibleEntries(width, Number.POSITIVE_INFINITY)) {
			if (!isFirst) for (let i = 0; i < this.gap; i++) lines.push("");
			isFirst = false;
			for (const line of entry.component.render(width)) lines.push(line);
		}
		return lines;
	}
}
exports.VStack = VStack;
