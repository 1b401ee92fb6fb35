// A list of settings with their values.

const { Input } = require("pi:tui/input");
const { getKeybindings, getSelectPageIndex } = require("pi:tui/keybindings");
const { visibleRange } = require("pi:tui/select-list");
const { fuzzyFilter, truncateToWidth, visibleWidth, wrapTextWithAnsi } = require("pi:tui/text");

/** Columns of labels at most. */
const LABEL_WIDTH = 36;

class SettingsList {
	items;
	filteredItems;
	theme;
	selectedIndex = 0;
	maxVisible;
	onChange;
	onCancel;
	searchInput;
	searchEnabled;
	submenuComponent = null;
	#submenuIndex = null;

	constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
		this.items = items;
		this.filteredItems = items;
		this.maxVisible = maxVisible;
		this.theme = theme;
		this.onChange = onChange;
		this.onCancel = onCancel;
		this.searchEnabled = options.enableSearch ?? false;
		if (this.searchEnabled) this.searchInput = new Input();
	}

	updateValue(id, newValue) {
		const item = this.items.find((one) => one.id === id);
		if (item !== undefined) item.currentValue = newValue;
	}

	selectItem(id) {
		const at = this.#shown().findIndex((one) => one.id === id);
		if (at >= 0) this.selectedIndex = at;
	}

	invalidate() {
		this.submenuComponent?.invalidate?.();
	}

	#shown() {
		return this.searchEnabled ? this.filteredItems : this.items;
	}

	render(width) {
		if (this.submenuComponent !== null) return this.submenuComponent.render(width);
		const lines = [];
		if (this.searchEnabled) lines.push(...this.searchInput.render(width), "");
		if (this.items.length === 0) {
			lines.push(this.theme.hint("  No settings available"));
			if (this.searchEnabled) this.#addHint(lines, width);
			return lines;
		}
		const items = this.#shown();
		if (items.length === 0) {
			lines.push(this.theme.hint("  No matching settings"));
			this.#addHint(lines, width);
			return lines;
		}
		const { start, end } = visibleRange(this.selectedIndex, items.length, this.maxVisible);
		const labelWidth = Math.min(LABEL_WIDTH, Math.max(...this.items.map((item) => visibleWidth(item.label))));
		for (let at = start; at < end; at++) lines.push(this.#line(items[at], at === this.selectedIndex, width, labelWidth));
		if (start > 0 || end < items.length) {
			const position = `  (${this.selectedIndex + 1}/${items.length})`;
			lines.push(this.theme.hint(truncateToWidth(position, width - 2, "")));
		}
		const description = items[this.selectedIndex]?.description;
		if (description) {
			lines.push("");
			for (const line of wrapTextWithAnsi(description, width - 4)) lines.push(this.theme.description(`  ${line}`));
		}
		this.#addHint(lines, width);
		return lines;
	}

	#line(item, isSelected, width, labelWidth) {
		const prefix = isSelected ? this.theme.cursor : "  ";
		const label = item.label + " ".repeat(Math.max(0, labelWidth - visibleWidth(item.label)));
		const before = visibleWidth(prefix) + labelWidth + 2;
		const value = truncateToWidth(item.currentValue, width - before - 2, "");
		const line = `${prefix}${this.theme.label(label, isSelected)}  ${this.theme.value(value, isSelected)}`;
		return truncateToWidth(line, width);
	}

	#addHint(lines, width) {
		const search = this.searchEnabled ? "Type to search · " : "";
		lines.push("", truncateToWidth(this.theme.hint(`  ${search}Enter/Space to change · Esc to cancel`), width));
	}

	handleInput(data) {
		if (this.submenuComponent !== null) {
			this.submenuComponent.handleInput?.(data);
			return;
		}
		const keybindings = getKeybindings();
		const count = this.#shown().length;
		const page = getSelectPageIndex(keybindings, data, this.selectedIndex, count, this.maxVisible);
		if (keybindings.matches(data, "tui.select.up")) {
			if (count > 0) this.selectedIndex = this.selectedIndex === 0 ? count - 1 : this.selectedIndex - 1;
		} else if (keybindings.matches(data, "tui.select.down")) {
			if (count > 0) this.selectedIndex = this.selectedIndex === count - 1 ? 0 : this.selectedIndex + 1;
		} else if (page !== undefined) {
			this.selectedIndex = page;
		} else if (keybindings.matches(data, "tui.select.confirm") || (data === " " && !this.#hasQuery())) {
			this.#activate();
		} else if (keybindings.matches(data, "tui.select.cancel")) {
			this.onCancel();
		} else if (this.searchEnabled) {
			this.searchInput.handleInput(data);
			this.filteredItems = fuzzyFilter(this.items, this.searchInput.getValue(), (item) => item.label);
			this.selectedIndex = 0;
		}
	}

	/** A space is a part of a query that has begun. */
	#hasQuery() {
		return this.searchEnabled && this.searchInput.getValue() !== "";
	}

	handleMouse(event) {
		if (this.submenuComponent !== null) return this.submenuComponent.handleMouse?.(event);
		const items = this.#shown();
		if (items.length === 0) return undefined;
		if (event.type === "wheel") {
			const wanted = this.selectedIndex + Math.sign(event.wheelDelta ?? 0);
			this.selectedIndex = Math.max(0, Math.min(items.length - 1, wanted));
			return { handled: true };
		}
		const { start, end } = visibleRange(this.selectedIndex, items.length, this.maxVisible);
		const index = start + event.y - (this.searchEnabled ? 2 : 0);
		if (event.button !== "left" || index < start || index >= end) return undefined;
		if (event.type === "press") {
			this.selectedIndex = index;
			return { handled: true, focus: true };
		}
		if (event.type !== "click") return undefined;
		this.#activate();
		return { handled: true };
	}

	#activate() {
		const item = this.#shown()[this.selectedIndex];
		if (item === undefined) return;
		if (item.submenu) {
			this.#submenuIndex = this.selectedIndex;
			this.submenuComponent = item.submenu(item.currentValue, (value, options) => {
				if (value !== undefined) {
					item.currentValue = value;
					this.onChange(item.id, value);
				}
				this.#closeSubmenu(options?.navigateTo);
			});
		} else if (item.values !== undefined && item.values.length > 0) {
			const next = item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length];
			item.currentValue = next;
			this.onChange(item.id, next);
		}
	}

	#closeSubmenu(navigateTo) {
		this.submenuComponent = null;
		if (this.#submenuIndex !== null) this.selectedIndex = this.#submenuIndex;
		this.#submenuIndex = null;
		if (navigateTo === undefined) return;
		this.selectItem(navigateTo);
		this.#activate();
	}
}
exports.SettingsList = SettingsList;
