// The `pi` object that a factory receives.

const native = require("native:session");
const handles = require("pi:handles");
const { assertActive, assertBound } = require("pi:active");
const { createBus } = require("pi:bus");
const { addHandler } = require("pi:handlers");

/** The latest binding of each extension, by path. */
const latest = new Map();

/** Returns the binding that took the place of another one. */
exports.successorOf = function successorOf(binding) {
	return latest.get(binding.path) ?? binding;
};

function registerCommand(binding, name, options) {
	const owner = `registered by extension "${binding.path}"`;
	if (typeof name !== "string" || name.trim() === "") {
		throw new Error(
			`Command ${owner} must have a non-empty string name. Use pi.registerCommand("name", { description, handler }).`,
		);
	}
	if (typeof options?.handler !== "function") throw new Error(`Command "/${name}" ${owner} must define handler().`);
	const completes = typeof options.getArgumentCompletions === "function";
	const { description } = options;
	native.registerCommand(binding.id, handles.add({ binding, command: options }), { name, description, completes });
	binding.commands.set(name, options);
}

function registerFlag(binding, name, options) {
	const { type, description } = options;
	const value = options.default;
	if (value !== undefined && typeof value !== type) {
		throw new Error(`Invalid default for flag "${name}": expected ${type}, got ${typeof value}`);
	}
	native.registerFlag(binding.id, { name: String(name), type, default: value, description });
}

/** Methods that are allowed while an extension loads. */
function registrations(binding) {
	const renderer = (kind, name, fn) => require("pi:renderers").register(binding, kind, name, fn);
	const providers = () => require("pi:providers");
	return {
		on: (name, handler) => addHandler(binding, name, handler),
		registerTool: (tool) => require("pi:tools").registerTool(binding, tool),
		registerCommand: (name, options) => registerCommand(binding, name, options),
		registerShortcut: (key, options) => {
			const number = handles.add({ binding, shortcut: options ?? {} });
			native.registerShortcut(binding.id, number, { key: String(key), description: options?.description });
		},
		registerFlag: (name, options) => registerFlag(binding, name, options),
		registerMessageRenderer: (type, fn) => renderer("message", String(type), fn),
		registerMarkdownTransformer: (fn) => renderer("markdown", undefined, fn),
		registerEntryRenderer: (type, fn) => renderer("entry", String(type), fn),
		registerToolRenderer: (fn) => renderer("anyTool", undefined, fn),
		getFlag: (name) => native.getFlag(binding.id, String(name)) ?? undefined,
		exec: (command, args, options) => require("pi:exec").exec(binding, command, args, options),
		registerProvider: (provider, config) => providers().registerProvider(binding, provider, config),
		unregisterProvider: (name) => providers().unregisterProvider(binding, name),
		registerMcpServer: (name, config) => providers().registerMcpServer(binding, name, config),
		unregisterMcpServer: (name) => providers().unregisterMcpServer(binding, name),
		getMcpServers: () => providers().getMcpServers(binding),
		registerVirtualModel: (model) => providers().registerVirtualModel(binding, model),
		unregisterVirtualModel: (provider, id) => providers().unregisterVirtualModel(binding, provider, id),
	};
}

/** Methods that act on the session. */
function actions(binding) {
	const act = () => require("native:actions");
	const state = () => require("native:state");
	const tools = () => require("native:session_tools");
	return {
		sendMessage: (message, options) => act().sendMessage(binding.id, message, options ?? {}),
		sendUserMessage: (content, options) => act().sendUserMessage(binding.id, content, options ?? {}),
		appendEntry: (type, data) => act().appendEntry(binding.id, String(type), data),
		setSessionName: (name) => act().setSessionName(binding.id, String(name)),
		getSessionName: () => state().sessionName(binding.id),
		setLabel: (entry, label) => act().setLabel(binding.id, String(entry), label ?? undefined),
		getActiveTools: () => tools().getActiveTools(binding.id),
		getAllTools: () => require("pi:tools").getAllTools(binding),
		getSettings: () => state().settings(binding.id),
		setActiveTools: (names) => tools().setActiveTools(binding.id, [...names].map(String)),
		getCommands: () => tools().getCommands(binding.id),
		setModel: async (model) => act().setModel(binding.id, model),
		getThinkingLevel: () => state().thinkingLevel(binding.id),
		setThinkingLevel: (level) => act().setThinkingLevel(binding.id, String(level)),
	};
}

/** Names in the order in which the object shows them. */
const ORDER = [
	"on", "registerTool", "registerCommand", "registerShortcut", "registerFlag", "registerMessageRenderer",
	"registerMarkdownTransformer", "registerEntryRenderer", "registerToolRenderer", "getFlag", "sendMessage",
	"sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "exec", "getActiveTools",
	"getAllTools", "getSettings", "setActiveTools", "getCommands", "setModel", "getThinkingLevel", "setThinkingLevel",
	"registerProvider", "unregisterProvider", "registerMcpServer", "unregisterMcpServer", "getMcpServers",
	"registerVirtualModel", "unregisterVirtualModel",
];

/** Creates the API of one run of a factory. */
exports.createApi = function createApi(binding) {
	latest.set(binding.path, binding);
	const always = registrations(binding);
	const bound = actions(binding);
	const api = {};
	for (const name of ORDER) {
		const allowed = always[name];
		const action = bound[name];
		const method = allowed ?? action;
		const check = allowed === undefined ? assertBound : assertActive;
		const checked = (...args) => {
			check(binding);
			return method(...args);
		};
		Object.defineProperty(checked, "name", { value: name });
		api[name] = checked;
	}
	api.events = createBus(binding);
	return api;
};
