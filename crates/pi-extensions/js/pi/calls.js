// Calls from Rust into registered functions: tools, commands, shortcuts, providers.

const handles = require("pi:handles");
const signals = require("pi:signals");
const { createContext, createCommandContext } = require("pi:context");

exports.release = handles.release;
exports.abortCall = signals.abort;

/** Executes a tool. */
exports.executeTool = async function executeTool(number, callId, args, token, update) {
	const { binding, tool } = handles.get(number);
	const signal = signals.open(token);
	const ctx = require("pi:tools").addToolContext(createContext(binding), binding, callId, signal);
	try {
		return await tool.execute(callId, args, signal, (partial) => update(partial), ctx);
	} finally {
		signals.close(token);
	}
};

exports.prepareArguments = function prepareArguments(number, args) {
	return handles.get(number).tool.prepareArguments(args);
};

exports.nestedUpdate = (number, partial) => require("pi:tools").nestedUpdate(number, partial);

/** Runs a command with the text after its name. */
exports.runCommand = async function runCommand(number, args) {
	const { binding, command } = handles.get(number);
	await command.handler(args, createCommandContext(binding));
};

/** Completes the arguments of a command. */
exports.completeArguments = async function completeArguments(number, prefix) {
	const items = await handles.get(number).command.getArgumentCompletions(prefix);
	return (items ?? []).map((item) => (typeof item === "string" ? { value: item } : item));
};

exports.runShortcut = async function runShortcut(number) {
	const { binding, shortcut } = handles.get(number);
	await shortcut.handler(createContext(binding));
};

exports.startStream = (...args) => require("pi:providers").startStream(...args);
exports.login = (...args) => require("pi:logins").login(...args);
exports.refreshLogin = (...args) => require("pi:logins").refreshLogin(...args);
exports.loginApiKey = (...args) => require("pi:logins").loginApiKey(...args);
exports.routeModel = (...args) => require("pi:virtual-models").route(...args);
exports.streamEvent = (number, event) => require("pi:streams").receive(number, event);
exports.setUpSession = (number) => require("pi:session-manager").setUp(number);
