// Selectors that need no data of the program.

const { getSelectListTheme, keyText, theme } = require("pi:coding-agent/appearance");
const { DynamicBorder } = require("pi:coding-agent/borders");
const { Container, Spacer } = require("pi:tui/containers");
const { Input } = require("pi:tui/input");
const { getKeybindings } = require("pi:tui/keybindings");
const { SelectList } = require("pi:tui/select-list");
const { fuzzyFilter, truncateToWidth } = require("pi:tui/text");
const { Text } = require("pi:tui/texts");

const LAYOUT = { minPrimaryColumnWidth: 12, maxPrimaryColumnWidth: 32 };

class ShowImagesSelectorComponent extends Container {
	#list;

	constructor(currentValue, onSelect, onCancel) {
		super();
		const items = [
			{ value: "yes", label: "Yes", description: "Show images inline in terminal" },
			{ value: "no", label: "No", description: "Show text placeholder instead" },
		];
		this.#list = new SelectList(items, 5, getSelectListTheme(), LAYOUT);
		this.#list.setSelectedIndex(currentValue ? 0 : 1);
		this.#list.onSelect = (item) => onSelect(item.value === "yes");
		this.#list.onCancel = () => onCancel();
		for (const part of [new DynamicBorder(), this.#list, new DynamicBorder()]) this.addChild(part);
	}

	getSelectList() {
		return this.#list;
	}
}
exports.ShowImagesSelectorComponent = ShowImagesSelectorComponent;

class ThemeSelectorComponent extends Container {
	#list;

	constructor(currentTheme, onSelect, onCancel, onPreview) {
		super();
		const names = require("native:ui").state(0xffffffff, "themes", undefined) ?? [];
		const items = names.map(({ name }) => ({ value: name, label: name, description: name === currentTheme ? "(current)" : undefined }));
		this.#list = new SelectList(items, 10, getSelectListTheme(), LAYOUT);
		this.#list.setSelectedIndex(Math.max(0, items.findIndex((item) => item.value === currentTheme)));
		this.#list.onSelect = (item) => onSelect(item.value);
		this.#list.onCancel = () => onCancel();
		this.#list.onSelectionChange = (item) => onPreview(item.value);
		for (const part of [new DynamicBorder(), this.#list, new DynamicBorder()]) this.addChild(part);
	}

	getSelectList() {
		return this.#list;
	}
}
exports.ThemeSelectorComponent = ThemeSelectorComponent;

const LEVELS = {
	off: "No reasoning",
	minimal: "Very brief reasoning (~1k tokens)",
	low: "Light reasoning (~2k tokens)",
	medium: "Moderate reasoning (~8k tokens)",
	high: "Deep reasoning (~16k tokens)",
	xhigh: "Maximum reasoning (~32k tokens)",
	max: "Maximum reasoning",
};

const capitalized = (keys) => keys.split(/([+/])/).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join("");

class ThinkingSelectorComponent extends Container {
	#input = new Input();
	#list;
	#listSlot = new Container();
	#levels;
	#current;
	#onSelect;
	#onCancel;
	#onSelectAsDefault;
	#default;

	constructor(currentLevel, availableLevels, onSelect, onCancel, onSelectAsDefault, defaultThinkingLevel) {
		super();
		this.#current = currentLevel;
		this.#levels = availableLevels;
		this.#onSelect = onSelect;
		this.#onCancel = onCancel;
		this.#onSelectAsDefault = onSelectAsDefault;
		this.#default = defaultThinkingLevel;
		const keys = { cycle: keyText("app.thinking.cycle"), save: capitalized(keyText("app.models.save")), cancel: capitalized(keyText("tui.select.cancel")) };
		const hint = `  Enter to select · ${keys.save} to set as default · ${keys.cancel} to cancel`;
		const parts = [
			new DynamicBorder(), new Spacer(1), new Text(theme().bold("Thinking Level"), 0, 0), new Spacer(1),
			new Text(`${keys.cycle} cycles thinking levels in-session`, 0, 0), new Spacer(1), this.#input, new Spacer(1),
			this.#listSlot, new Spacer(1), new Text(theme().fg("dim", hint), 0, 0), new DynamicBorder(),
		];
		for (const part of parts) this.addChild(part);
		this.#show(availableLevels, availableLevels.indexOf(currentLevel));
	}

	get focused() {
		return this.#input.focused;
	}

	set focused(value) {
		this.#input.focused = value;
	}

	#show(levels, selected) {
		const items = levels.map((level) => {
			const mark = level === this.#current ? "✓ " : "  ";
			const isDefault = level === this.#default ? " · default" : "";
			return { value: level, label: `${mark}${level}`, description: `${LEVELS[level] ?? ""}${isDefault}` };
		});
		this.#list = new SelectList(items, Math.max(1, items.length), getSelectListTheme(), LAYOUT);
		if (selected > 0) this.#list.setSelectedIndex(selected);
		this.#list.onSelect = (item) => this.#onSelect(item.value);
		this.#list.onCancel = () => this.#onCancel();
		this.#listSlot.clear();
		this.#listSlot.addChild(this.#list);
	}

	handleInput(data) {
		const keys = getKeybindings();
		if (keys.matches(data, "app.models.save")) {
			const item = this.#list.getSelectedItem();
			if (item !== null) this.#onSelectAsDefault?.(item.value);
			return;
		}
		const actions = ["tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown", "tui.select.confirm", "tui.select.cancel"];
		if (actions.some((action) => keys.matches(data, action))) {
			this.#list.handleInput(data);
			return;
		}
		this.#input.handleInput(data);
		this.#show(fuzzyFilter(this.#levels, this.#input.getValue(), (level) => level), 0);
	}

	getSelectList() {
		return this.#list;
	}
}
exports.ThinkingSelectorComponent = ThinkingSelectorComponent;

/** Messages of the user, the newest of which is selected. */
class UserMessageList {
	capturesViewportInput = true;
	onSelect;
	onCancel;
	#messages;
	#selected;
	#maxVisible = 10;

	constructor(messages, initialSelectedId) {
		this.#messages = messages;
		const initial = messages.findIndex((message) => message.id === initialSelectedId);
		this.#selected = initial >= 0 ? initial : Math.max(0, messages.length - 1);
	}

	invalidate() {}

	render(width) {
		const count = this.#messages.length;
		if (count === 0) return [theme().fg("muted", "  No user messages found")];
		const start = Math.max(0, Math.min(this.#selected - Math.floor(this.#maxVisible / 2), count - this.#maxVisible));
		const lines = [];
		for (let at = start; at < Math.min(start + this.#maxVisible, count); at++) {
			const isSelected = at === this.#selected;
			const text = truncateToWidth(this.#messages[at].text.replace(/\n/g, " ").trim(), width - 2);
			lines.push((isSelected ? theme().fg("accent", "› ") : "  ") + (isSelected ? theme().bold(text) : text));
			lines.push(theme().fg("muted", `  Message ${at + 1} of ${count}`), "");
		}
		if (count > this.#maxVisible) lines.push(theme().fg("muted", `  (${this.#selected + 1}/${count})`));
		return lines;
	}

	handleInput(data) {
		const keys = getKeybindings();
		const count = this.#messages.length;
		if (keys.matches(data, "tui.select.up")) this.#selected = this.#selected === 0 ? Math.max(0, count - 1) : this.#selected - 1;
		else if (keys.matches(data, "tui.select.down")) this.#selected = this.#selected >= count - 1 ? 0 : this.#selected + 1;
		else if (keys.matches(data, "tui.select.confirm")) {
			const message = this.#messages[this.#selected];
			if (message !== undefined) this.onSelect?.(message.id);
		} else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
	}
}

class UserMessageSelectorComponent extends Container {
	#list;

	constructor(messages, onSelect, onCancel, initialSelectedId) {
		super();
		this.#list = new UserMessageList(messages, initialSelectedId);
		this.#list.onSelect = onSelect;
		this.#list.onCancel = onCancel;
		const hint = "Select a user message to copy the active path up to that point into a new session";
		const parts = [
			new Spacer(1), new Text(theme().bold("Fork from Message"), 1, 0), new Text(theme().fg("muted", hint), 1, 0),
			new Spacer(1), new DynamicBorder(), new Spacer(1), this.#list, new Spacer(1), new DynamicBorder(),
		];
		for (const part of parts) this.addChild(part);
	}

	getMessageList() {
		return this.#list;
	}
}
exports.UserMessageSelectorComponent = UserMessageSelectorComponent;
