// A list of which one item can be chosen.

const { getKeybindings, getSelectPageIndex } = require("pi:tui/keybindings");
const { truncateToWidth, visibleWidth } = require("pi:tui/text");

/** Columns of labels, unless set. */
const PRIMARY_WIDTH = 32;
/** Columns between a label and its description. */
const GAP = 2;
/** Columns that a description needs at least. */
const MIN_DESCRIPTION = 10;
/** Lists in fewer columns show no descriptions. */
const MIN_WIDTH = 40;

/** Returns the first and the last item of a window around the selected one. */
function visibleRange(selected, count, maxVisible) {
	const start = Math.max(0, Math.min(selected - Math.floor(maxVisible / 2), count - maxVisible));
	return { start, end: Math.min(start + maxVisible, count) };
}
exports.visibleRange = visibleRange;

class SelectList {
	items;
	filteredItems;
	selectedIndex = 0;
	maxVisible;
	theme;
	layout;
	onSelect;
	onCancel;
	onSelectionChange;
	#pressed = -1;

	constructor(items, maxVisible, theme, layout = {}) {
		this.items = items;
		this.filteredItems = items;
		this.maxVisible = maxVisible;
		this.theme = theme;
		this.layout = layout;
	}

	setFilter(filter) {
		const wanted = filter.toLowerCase();
		this.filteredItems = this.items.filter((item) => item.value.toLowerCase().startsWith(wanted));
		this.selectedIndex = 0;
	}

	setSelectedIndex(index) {
		this.selectedIndex = Math.max(0, Math.min(index, this.filteredItems.length - 1));
	}

	invalidate() {}

	getSelectedItem() {
		return this.filteredItems[this.selectedIndex] ?? null;
	}

	render(width) {
		const items = this.filteredItems;
		if (items.length === 0) return [this.theme.noMatch("  No matching commands")];
		const { start, end } = visibleRange(this.selectedIndex, items.length, this.maxVisible);
		const column = this.#columnWidth();
		const lines = [];
		for (let at = start; at < end; at++) lines.push(this.#line(items[at], at === this.selectedIndex, width, column));
		if (start > 0 || end < items.length) {
			const position = `  (${this.selectedIndex + 1}/${items.length})`;
			lines.push(this.theme.scrollInfo(truncateToWidth(position, width - 2, "")));
		}
		return lines;
	}

	#line(item, isSelected, width, column) {
		const prefix = isSelected ? "→ " : "  ";
		const description = item.description?.replace(/[\r\n]+/g, " ").trim();
		if (description && width > MIN_WIDTH) {
			const primary = Math.max(1, Math.min(column, width - prefix.length - 4));
			const label = this.#primary(item, isSelected, Math.max(1, primary - GAP), primary);
			const spacing = " ".repeat(Math.max(1, primary - visibleWidth(label)));
			const rest = width - prefix.length - visibleWidth(label) - spacing.length - 2;
			if (rest > MIN_DESCRIPTION) {
				const cut = truncateToWidth(description, rest, "");
				if (isSelected) return this.theme.selectedText(prefix + label + spacing + cut);
				return prefix + label + this.theme.description(spacing + cut);
			}
		}
		const room = width - prefix.length - 2;
		const label = this.#primary(item, isSelected, room, room);
		return isSelected ? this.theme.selectedText(prefix + label) : prefix + label;
	}

	#primary(item, isSelected, maxWidth, columnWidth) {
		const text = item.label || item.value;
		const own = this.layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected });
		return truncateToWidth(own ?? text, maxWidth, "");
	}

	#columnWidth() {
		const { minPrimaryColumnWidth, maxPrimaryColumnWidth } = this.layout;
		const a = Math.max(1, minPrimaryColumnWidth ?? maxPrimaryColumnWidth ?? PRIMARY_WIDTH);
		const b = Math.max(1, maxPrimaryColumnWidth ?? minPrimaryColumnWidth ?? PRIMARY_WIDTH);
		const [least, most] = [Math.min(a, b), Math.max(a, b)];
		if (least === most) return least;
		let widest = 0;
		for (const item of this.filteredItems) widest = Math.max(widest, visibleWidth(item.label || item.value) + GAP);
		return Math.max(least, Math.min(widest, most));
	}

	handleInput(data) {
		const keybindings = getKeybindings();
		const count = this.filteredItems.length;
		if (keybindings.matches(data, "tui.select.up")) {
			if (count > 0) this.#select(this.selectedIndex === 0 ? count - 1 : this.selectedIndex - 1);
		} else if (keybindings.matches(data, "tui.select.down")) {
			if (count > 0) this.#select(this.selectedIndex === count - 1 ? 0 : this.selectedIndex + 1);
		} else if (keybindings.matches(data, "tui.select.confirm")) {
			const item = this.getSelectedItem();
			if (item !== null) this.onSelect?.(item);
		} else if (keybindings.matches(data, "tui.select.cancel")) {
			this.onCancel?.();
		} else if (count > 0) {
			const page = getSelectPageIndex(keybindings, data, this.selectedIndex, count, this.maxVisible);
			if (page !== undefined) this.#select(page);
		}
	}

	/** Wheel and clicks: the pressed row is selected, and chosen when it is released there. */
	handleMouse(event) {
		const count = this.filteredItems.length;
		if (count === 0) return undefined;
		if (event.type === "wheel") {
			this.#select(Math.max(0, Math.min(count - 1, this.selectedIndex + Math.sign(event.wheelDelta ?? 0))));
			return { handled: true };
		}
		const { start, end } = visibleRange(this.selectedIndex, count, this.maxVisible);
		const index = start + event.y;
		if (event.button !== "left" || event.y < 0 || index >= end) return undefined;
		if (event.type === "press") {
			this.#pressed = index;
			this.#select(index);
			return { handled: true, focus: true };
		}
		if (event.type === "click" && this.#pressed === index) {
			const item = this.getSelectedItem();
			if (item !== null) this.onSelect?.(item);
			return { handled: true };
		}
		return undefined;
	}

	#select(index) {
		this.selectedIndex = index;
		const item = this.getSelectedItem();
		if (item !== null) this.onSelectionChange?.(item);
	}
}
exports.SelectList = SelectList;
