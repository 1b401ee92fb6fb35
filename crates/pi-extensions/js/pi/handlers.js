// Handlers of events and questions: registration, and the calls from Rust.

const native = require("native:events");
const { createContext } = require("pi:context");

/** Parts of events that a handler may change in place; Rust compares them. */
const CHANGEABLE = {
	context: "messages",
	context_with_system: "messages",
	before_provider_headers: "headers",
	before_provider_request: "payload",
	before_agent_start: "systemPromptOptions",
	tool_call: "input",
};

/** Removed handlers that an emission under way may still call. */
const RETIRED = 64;

let nextHandler = 1;
const controllers = new Map();
const operations = new Map();
let nextOperations = 1;

/** Adds a handler; returns the function that removes it. */
exports.addHandler = function addHandler(binding, name, handler) {
	if (typeof handler !== "function") {
		throw new TypeError(`The handler of "${name}" must be a function`);
	}
	const event = String(name);
	const number = nextHandler++;
	const numbers = [...(binding.events.get(event) ?? []), number];
	binding.handlers.set(number, handler);
	binding.events.set(event, numbers);
	native.setHandlers(binding.id, event, numbers);
	return () => removeHandler(binding, event, number);
};

function removeHandler(binding, event, number) {
	const numbers = (binding.events.get(event) ?? []).filter((other) => other !== number);
	binding.events.set(event, numbers);
	native.setHandlers(binding.id, event, numbers);
	binding.retired.push(number);
	while (binding.retired.length > RETIRED) binding.handlers.delete(binding.retired.shift());
}

/** Calls a handler of an event. */
exports.notify = function notify(binding, number, event, readMessage) {
	const handler = binding.handlers.get(number);
	if (handler === undefined) return undefined;
	if (event.type === "message_update") defineMessage(event, readMessage);
	return handler(event, createContext(binding));
};

/** The message of a delta grows, and few handlers look at it: it is made when it is read. */
function defineMessage(event, readMessage) {
	let message;
	const read = () => (message ??= readMessage?.() ?? null);
	defineLazily(event, "message", read);
	defineLazily(event.assistantMessageEvent, "partial", read);
}

/** Defines a property that becomes a plain one when it is read or set. */
function defineLazily(object, name, read) {
	const plain = (target, value) =>
		Object.defineProperty(target, name, { configurable: true, enumerable: true, writable: true, value });
	Object.defineProperty(object, name, {
		configurable: true,
		enumerable: true,
		get() {
			return plain(this, read())[name];
		},
		set(value) {
			plain(this, value);
		},
	});
}

/** Calls a handler of a question. Returns its value and what it left of the event. */
exports.ask = async function ask(binding, number, event, signal) {
	const handler = binding.handlers.get(number);
	if (handler === undefined) return {};
	const { type } = event;
	if (signal !== undefined) event.signal = signalOf(signal);
	const context = type === "project_trust" ? trustContext(binding, event) : createContext(binding);
	if (type === "before_agent_start") defineSystemPrompt(event);
	else if (event.context !== undefined) defineContextEntries(event.context, context);
	try {
		const result = await handler(event, context);
		const part = CHANGEABLE[type];
		return {
			result: type === "user_bash" ? withoutFunctions(result) : result,
			event: part === undefined ? undefined : { [part]: event[part] },
		};
	} finally {
		controllers.delete(signal);
	}
};

/** The prompt follows the changes that a handler makes to its parts. */
function defineSystemPrompt(event) {
	const { systemPrompt, systemPromptOptions } = event;
	const before = JSON.stringify(systemPromptOptions);
	Object.defineProperty(event, "systemPrompt", {
		configurable: true,
		enumerable: true,
		get() {
			const options = event.systemPromptOptions;
			if (JSON.stringify(options) === before) return systemPrompt;
			return options.forceSystemPrompt ?? native.systemPrompt(options);
		},
	});
}

/** The entries behind a context are many, and few handlers look at them. */
function defineContextEntries(preview, context) {
	Object.defineProperty(preview, "contextEntries", {
		configurable: true,
		enumerable: true,
		get: () => context.sessionManager.buildSessionProjection().entries,
	});
}

/** The context of a handler that decides on trust: there is no session yet. */
function trustContext(binding, event) {
	const context = createContext(binding);
	const { ui } = context;
	const { select, confirm, input, notify } = ui;
	return {
		cwd: event.cwd,
		mode: context.mode,
		hasUI: context.hasUI,
		ui: {
			select: select?.bind(ui),
			confirm: confirm?.bind(ui),
			input: input?.bind(ui),
			notify: notify?.bind(ui),
		},
	};
}

/** Returns the signal of a number that Rust knows. */
function signalOf(number) {
	const controller = new AbortController();
	controllers.set(number, controller);
	return controller.signal;
}

/** Aborts a signal. */
exports.abortSignal = function abortSignal(number) {
	controllers.get(number)?.abort();
};

/** Keeps the functions of `{ operations }`, under a number. */
function withoutFunctions(result) {
	const given = result?.operations;
	if (given === undefined || result.result !== undefined || typeof given?.exec !== "function") return result;
	const number = nextOperations++;
	operations.set(number, given);
	return { operations: number };
}

/** Runs a command through operations of a `user_bash` handler; returns its exit code. */
exports.execOperations = async function execOperations(number, command, cwd, send, signal) {
	const given = operations.get(number);
	operations.delete(number);
	const decoder = new TextDecoder();
	const onData = (data) => send(typeof data === "string" ? data : decoder.decode(data, { stream: true }));
	try {
		const { exitCode } = await given.exec(command, cwd, { onData, signal: signalOf(signal) });
		return { exitCode: exitCode ?? null };
	} finally {
		controllers.delete(signal);
	}
};
