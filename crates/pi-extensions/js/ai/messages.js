// Messages: checks of tool arguments, classification of failures, diagnostics, scripted answers.

const native = require("native:ai");

/** Describes an error of a check as pi does: the place, then what is wrong there. */
function describe(error, args) {
	const path = error.instancePath.slice(1).replaceAll("/", ".");
	if (error.keyword === "required") {
		return error.params.requiredProperties.map((name) => `${path === "" ? "" : `${path}.`}${name}: missing`);
	}
	if (error.keyword === "type") {
		let value = args;
		for (const part of error.instancePath.split("/").slice(1)) value = value?.[part];
		const got = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
		const wanted = Array.isArray(error.params.type) ? error.params.type.join(" or ") : error.params.type;
		return [`${path === "" ? "root" : path}: expected ${wanted}, got ${got}`];
	}
	return [`${path === "" ? "root" : path}: ${error.message}`];
}

/** Returns the arguments of a call, converted to the types of the schema, or throws. */
function validateToolArguments(tool, call) {
	const { Value } = require("typebox/value");
	if (call.argumentsError !== undefined) throw new Error(`Invalid arguments for tool "${tool.name}": ${call.argumentsError}`);
	const args = Value.Convert(tool.parameters, Value.Clone(call.arguments));
	if (Value.Check(tool.parameters, args)) return args;
	const lines = Value.Errors(tool.parameters, args).flatMap((error) => describe(error, args)).map((line) => `  - ${line}`);
	throw new Error(`Validation failed for tool "${tool.name}":\n${lines.join("\n")}\n\nReceived arguments:\n${JSON.stringify(call.arguments, null, 2)}`);
}

function validateToolCall(tools, call) {
	const tool = tools.find((one) => one.name === call.name);
	if (tool === undefined) throw new Error(`Tool "${call.name}" not found`);
	return validateToolArguments(tool, call);
}

const formatThrownValue = (value) => (value instanceof Error ? value.message : String(value));

function extractDiagnosticError(value) {
	if (!(value instanceof Error)) return { message: formatThrownValue(value) };
	const error = { name: value.name, message: value.message, stack: value.stack };
	if (value.code !== undefined) error.code = value.code;
	return error;
}

function createAssistantMessageDiagnostic(type, error, details) {
	return { type, timestamp: Date.now(), error: extractDiagnosticError(error), details };
}

function appendAssistantMessageDiagnostic(message, diagnostic) {
	message.diagnostics = [...(message.diagnostics ?? []), diagnostic];
}

const fauxText = (text) => ({ type: "text", text });

/** Creates the answer of a scripted model. */
function fauxAssistantMessage(content, options = {}) {
	return {
		role: "assistant", content: typeof content === "string" ? [fauxText(content)] : Array.isArray(content) ? content : [content],
		api: "faux", provider: "faux", model: "faux-1",
		usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
		stopReason: "stop", timestamp: Date.now(), ...options,
	};
}

let calls = 0;

module.exports = {
	validateToolArguments, validateToolCall, formatThrownValue, extractDiagnosticError, createAssistantMessageDiagnostic,
	appendAssistantMessageDiagnostic, fauxAssistantMessage, fauxText,
	fauxThinking: (thinking) => ({ type: "thinking", thinking }),
	fauxToolCall: (name, args, options) => ({ type: "toolCall", id: options?.id ?? `faux-${++calls}`, name, arguments: args }),
	isContextOverflow: (message, contextWindow) => native.isContextOverflow(message, contextWindow),
	isRetryableAssistantError: (message) => native.isRetryable(message),
	isRecoverableLength: (message, requested) => (requested === undefined ? false : native.isRecoverableLength(message, requested)),
};
