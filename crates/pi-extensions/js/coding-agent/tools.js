// The built-in tools as objects that an extension can register, wrap or call.

const native = require("native:tools");

/** Fields of options that replace access to files and commands. */
const OPERATIONS = ["readFile", "writeFile", "access", "mkdir", "isDirectory", "exists", "stat", "readdir", "exec"];

/** Converts the answer of an operation to bytes or JSON. */
function answer(call, id, name, value) {
	if (name === "stat") native.answer(call, id, undefined, value.isDirectory());
	else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) native.answer(call, id, value, null);
	else native.answer(call, id, undefined, value ?? null);
}

const encode = (data) => (typeof data === "string" ? new TextEncoder().encode(data) : data);

/**
 * Performs an operation of the extension for a call. `state` has the commands that run, and the
 * first error of the extension, which says more than the tool can.
 */
async function perform(call, operations, state, { id, name, args }) {
	const controller = new AbortController();
	try {
		if (name === "exec") {
			const [command, cwd, env] = args;
			state.commands.set(id, controller);
			const onData = (data) => native.data(call, id, encode(data));
			const { exitCode } = await operations.exec(command, cwd, { onData, signal: controller.signal, timeout: state.timeout, env });
			native.answer(call, id, undefined, { exitCode });
		} else {
			answer(call, id, name, await operations[name](...args));
		}
	} catch (error) {
		if (!controller.signal.aborted) {
			state.error ??= error;
			state.isCommandLost ||= name === "exec";
		}
		native.refuse(call, id, String(error?.code ?? ""), error instanceof Error ? error.message : String(error));
	} finally {
		state.commands.delete(id);
	}
}

/** Returns a result in the form of pi: `details` is always there. */
function resultOf({ content, details, structuredContent, isError }) {
	const result = { content, details };
	if (structuredContent !== undefined) result.structuredContent = structuredContent;
	if (isError) result.isError = true;
	return result;
}

/** Returns a progress report. Those of commands have details from the first output on. */
function updateOf(name, output) {
	if (name === "bash" && output.content.length > 0) output.details ??= {};
	return output;
}

/** Runs a tool; the promise is rejected with the error that the model would see. */
async function run(name, settings, operations, params, signal, onUpdate) {
	if (signal?.aborted) throw new Error(name === "bash" ? "Command aborted" : "Operation aborted");
	const replaced = operations === undefined ? [] : OPERATIONS.filter((one) => typeof operations[one] === "function");
	const call = native.start(name, { ...settings, operations: replaced }, params);
	const abort = () => native.cancel(call);
	signal?.addEventListener("abort", abort, { once: true });
	const state = { commands: new Map(), timeout: params.timeout, error: undefined, isCommandLost: false };
	try {
		for (;;) {
			const event = await native.next(call);
			if (event === null) throw new Error(`${name}: the call was closed`);
			if (event.type === "operation") perform(call, operations, state, event);
			else if (event.type === "abort") state.commands.get(event.id)?.abort();
			else if (event.type === "update") onUpdate?.(updateOf(name, resultOf(event.output)));
			else if (event.type === "done" && !state.isCommandLost) return resultOf(event.output);
			else throw state.error ?? new Error(event.message);
		}
	} finally {
		signal?.removeEventListener("abort", abort);
		native.close(call);
	}
}

/** Variables that name the session of a call, as in commands of the built-in tool. */
function sessionVariables(ctx) {
	const variables = {};
	const set = (name, value) => {
		if (value !== undefined && value !== null && value !== "") variables[name] = String(value);
	};
	set("PI_PROVIDER", ctx?.model?.provider);
	set("PI_MODEL", ctx?.model?.id);
	set("PI_REASONING_LEVEL", ctx?.thinkingLevel);
	set("PI_SESSION_ID", ctx?.sessionManager?.getSessionId?.());
	set("PI_SESSION_FILE", ctx?.sessionManager?.getSessionFile?.());
	return variables;
}

function runBash(cwd, options, params, signal, onUpdate, ctx) {
	const { commandPrefix, shellPath, spawnHook, operations } = options;
	const command = commandPrefix ? `${commandPrefix}\n${params.command}` : params.command;
	const session = options.exposeSessionEnvironment === false ? {} : sessionVariables(ctx);
	let spawn = { command, cwd, env: { ...process.env, ...session } };
	if (spawnHook !== undefined) spawn = spawnHook(spawn) ?? spawn;
	const environment = {};
	for (const [name, value] of Object.entries(spawn.env)) if (value !== undefined) environment[name] = String(value);
	const settings = { cwd: spawn.cwd, shellPath, environment };
	return run("bash", settings, operations, { ...params, command: spawn.command }, signal, onUpdate);
}

/** Finds files with the search of the extension. */
async function findWith(operations, cwd, params, signal) {
	if (signal?.aborted) throw new Error("Operation aborted");
	const { resolve, relative, isAbsolute } = require("node:path");
	const root = resolve(cwd, params.path ?? ".");
	if (!(await operations.exists(root))) throw new Error(`Path not found: ${root}`);
	const limit = params.limit ?? 1000;
	const found = await operations.glob(params.pattern, root, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
	if (found.length === 0) return { content: [{ type: "text", text: "No files found matching pattern" }], details: undefined };
	const { truncateHead, formatSize, DEFAULT_MAX_BYTES } = require("pi:coding-agent/text");
	const lines = found.map((path) => (isAbsolute(path) ? relative(root, path) : path));
	const truncation = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
	const details = {};
	const notices = [];
	if (found.length >= limit) {
		notices.push(`${limit} results limit reached`);
		details.resultLimitReached = limit;
	}
	if (truncation.truncated) {
		notices.push(`${formatSize(DEFAULT_MAX_BYTES)} limit reached`);
		details.truncation = truncation;
	}
	const text = notices.length === 0 ? truncation.content : `${truncation.content}\n\n[${notices.join(". ")}]`;
	return { content: [{ type: "text", text }], details: notices.length === 0 ? undefined : details };
}

/** Returns the function that executes a tool in a directory. */
function executor(name, cwd, options) {
	return (_id, params, signal, onUpdate, ctx) => {
		if (name === "bash") return runBash(cwd, options, params, signal, onUpdate, ctx);
		if (name === "find" && typeof options.operations?.glob === "function") return findWith(options.operations, cwd, params, signal);
		const { autoResizeImages } = options;
		return run(name, { cwd, autoResizeImages }, options.operations, params, signal, onUpdate);
	};
}

/** Returns the schema of the results that programs read, of the tools that have one. */
function outputSchema(name) {
	const { Type } = require("typebox");
	if (name === "bash") {
		return Type.Object({
			output: Type.String(), truncated: Type.Boolean(), full_output_path: Type.Optional(Type.String()), exit_code: Type.Number(),
			wall_time_seconds: Type.Number(),
		});
	}
	if (name === "read") {
		return Type.Union([Type.String(), Type.Object({ type: Type.Literal("image"), data: Type.String(), mimeType: Type.String(), note: Type.String() })]);
	}
	return undefined;
}

const declarations = new Map();
function declarationOf(name) {
	if (!declarations.has(name)) declarations.set(name, native.declaration(name));
	return declarations.get(name);
}

/** Accepts the arguments of an edit in older forms. */
function prepareEdit(args) {
	if (args === null || typeof args !== "object") return args;
	let { edits } = args;
	if (typeof edits === "string") {
		try {
			edits = JSON.parse(edits);
		} catch {
			return args;
		}
	}
	if (typeof args.oldText !== "string" || typeof args.newText !== "string") return edits === args.edits ? args : { ...args, edits };
	const { oldText, newText, ...rest } = args;
	return { ...rest, edits: [...(Array.isArray(edits) ? edits : []), { oldText, newText }] };
}

/** Creates the definition of a tool, with its renderers. */
const definition = (name) => (cwd, options = {}) => {
	const { label, description, parameters, constrainedSampling, promptSnippet, promptGuidelines } = declarationOf(name);
	const tool = { name, label, description, parameters, constrainedSampling: constrainedSampling ?? undefined, promptSnippet, promptGuidelines, execute: executor(name, cwd, options) };
	const schema = outputSchema(name);
	if (schema !== undefined) tool.outputSchema = schema;
	if (name === "edit") Object.assign(tool, { prepareArguments: prepareEdit, renderShell: "self" });
	const { renderersOf } = require("pi:coding-agent/renderers");
	return Object.assign(tool, renderersOf(name, cwd));
};

/** Creates a tool without renderers. */
const tool = (name) => (cwd, options = {}) => {
	const { label, description, parameters, constrainedSampling, promptSnippet, promptGuidelines } = declarationOf(name);
	const result = {
		name, label, description, parameters, constrainedSampling: constrainedSampling ?? undefined, outputSchema: outputSchema(name),
		prepareArguments: name === "edit" ? prepareEdit : undefined, executionMode: undefined, execute: executor(name, cwd, options),
	};
	return name === "bash" ? Object.assign(result, { promptSnippet, promptGuidelines }) : result;
};

const NAMES = { bash: "Bash", read: "Read", edit: "Edit", write: "Write", grep: "Grep", find: "Find", ls: "Ls" };
for (const [name, title] of Object.entries(NAMES)) {
	exports[`create${title}Tool`] = tool(name);
	exports[`create${title}ToolDefinition`] = definition(name);
}

const several = (names) => (cwd, options = {}) => names.map((name) => tool(name)(cwd, options[name]));
exports.createCodingTools = several(["read", "bash", "edit", "write"]);
exports.createReadOnlyTools = several(["read", "grep", "find", "ls"]);

/** The commands of this machine as operations, for handlers of `user_bash` and wrappers. */
exports.createLocalBashOperations = (options = {}) => ({
	exec(command, cwd, { onData, signal, timeout, env }) {
		const { spawn } = require("node:child_process");
		const { getShellConfig } = require("pi:coding-agent/config");
		const { shell, args } = getShellConfig(options.shellPath);
		return new Promise((resolve, reject) => {
			const child = spawn(shell, [...args, command], { cwd, env: env ?? process.env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
			let reason;
			const kill = (why) => {
				reason ??= why;
				try {
					process.kill(-child.pid, "SIGKILL");
				} catch {
					child.kill("SIGKILL");
				}
			};
			const abort = () => kill("aborted");
			const timer = timeout > 0 ? setTimeout(() => kill(`timeout:${timeout}`), timeout * 1000) : undefined;
			const finish = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", abort);
			};
			child.stdout.on("data", onData);
			child.stderr.on("data", onData);
			child.on("error", (error) => {
				finish();
				reject(error);
			});
			child.on("close", (exitCode) => {
				finish();
				if (reason === undefined) resolve({ exitCode });
				else reject(new Error(reason));
			});
			if (signal?.aborted) abort();
			else signal?.addEventListener("abort", abort, { once: true });
		});
	},
});

const queues = new Map();

/** Runs functions that change the same file one after another. */
exports.withFileMutationQueue = async function withFileMutationQueue(path, change) {
	const { resolve } = require("node:path");
	const { realpathSync } = require("node:fs");
	let key = resolve(path);
	try {
		key = realpathSync(key);
	} catch {
		// The file does not exist yet.
	}
	const before = queues.get(key) ?? Promise.resolve();
	const result = before.then(() => change());
	const settled = result.then(() => {}, () => {});
	queues.set(key, settled);
	settled.then(() => {
		if (queues.get(key) === settled) queues.delete(key);
	});
	return result;
};
