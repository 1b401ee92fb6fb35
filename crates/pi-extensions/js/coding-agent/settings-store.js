// `SettingsManager`: the settings of user and project, read only. Changes belong to the user.

const { CONFIG_DIR_NAME, getAgentDir } = require("pi:coding-agent/config");
const { missing } = require("pi:missing");

/** Settings with another name or a default than their getter says: path and default. */
const VALUES = {
	DefaultProvider: ["defaultProvider"], DefaultModel: ["defaultModel"], DefaultThinkingLevel: ["defaultThinkingLevel"],
	Theme: ["theme"], ThemeSetting: ["theme"], SteeringMode: ["steeringMode", "one-at-a-time"], FollowUpMode: ["followUpMode", "one-at-a-time"],
	HideThinkingBlock: ["hideThinkingBlock", false], ShellPath: ["shellPath"], ShellCommandPrefix: ["shellCommandPrefix"],
	NpmCommand: ["npmCommand"], Packages: ["packages", []], ExtensionPaths: ["extensions", []], SkillPaths: ["skills", []],
	PromptTemplatePaths: ["prompts", []], ThemePaths: ["themes", []], EnableSkillCommands: ["enableSkillCommands", true],
	EnabledModels: ["enabledModels"], CompactionEnabled: ["compaction.enabled", true],
	CompactionReserveTokens: ["compaction.reserveTokens", 16384], CompactionKeepRecentTokens: ["compaction.keepRecentTokens", 20000],
	RetryEnabled: ["retry.enabled", true], ShowImages: ["terminal.showImages", true], ImageAutoResize: ["images.autoResize", true],
	BlockImages: ["images.blockImages", false], QuietStartup: ["quietStartup", false], SessionDir: ["sessionDir"],
	DoubleEscapeAction: ["doubleEscapeAction", "tree"], EditorPaddingX: ["editorPaddingX", 0], CodeBlockIndent: ["markdown.codeBlockIndent", "  "],
	ThinkingBudgets: ["thinkingBudgets"], Transport: ["transport", "auto"], AutocompleteMaxVisible: ["autocompleteMaxVisible", 5],
	ExternalEditorCommand: ["externalEditor"],
};

/** Merges the fields of two settings; lists are replaced. */
function merged(base, over) {
	const result = { ...base };
	for (const [name, value] of Object.entries(over)) {
		const isTable = (one) => one !== null && typeof one === "object" && !Array.isArray(one);
		result[name] = isTable(value) && isTable(result[name]) ? merged(result[name], value) : value;
	}
	return result;
}

function readSettings(path) {
	const { existsSync, readFileSync } = require("node:fs");
	if (!existsSync(path)) return {};
	return JSON.parse(readFileSync(path, "utf8"));
}

class SettingsManager {
	#user;
	#project;
	constructor(user, project) {
		this.#user = user;
		this.#project = project;
	}
	getGlobalSettings() {
		return structuredClone(this.#user);
	}
	getProjectSettings() {
		return structuredClone(this.#project);
	}
	getSettings() {
		return structuredClone(merged(this.#user, this.#project));
	}
	getCompactionSettings() {
		return { enabled: this.getCompactionEnabled(), reserveTokens: this.getCompactionReserveTokens(), keepRecentTokens: this.getCompactionKeepRecentTokens() };
	}
	static create(cwd, agentDir = getAgentDir()) {
		return new SettingsManager(readSettings(`${agentDir}/settings.json`), readSettings(`${cwd}/${CONFIG_DIR_NAME}/settings.json`));
	}
	static inMemory(settings = {}) {
		return new SettingsManager(settings, {});
	}
}

for (const [name, [path, otherwise]] of Object.entries(VALUES)) {
	SettingsManager.prototype[`get${name}`] = function () {
		let value = this.getSettings();
		for (const part of path.split(".")) value = value?.[part];
		return value ?? structuredClone(otherwise);
	};
}

/** Other members exist, and fail by name. */
exports.SettingsManager = new Proxy(SettingsManager, {
	get(target, key, receiver) {
		const value = Reflect.get(target, key, receiver);
		return value === undefined && typeof key === "string" ? missing(`SettingsManager.${key}`) : value;
	},
});
