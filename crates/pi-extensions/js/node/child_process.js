// node:child_process: programs with pipes and signals.

const native = require("native:child");
const signals = require("pi:signal-names");
const { ChildProcess, spawnChild } = require("pi:child");
const { toSpawn, describeFailure } = require("pi:spawn-options");
const { missing } = require("pi:missing");
const { abortError, codeError } = require("pi:node-errors");

/** Output that `exec` and its relatives keep at most, unless told otherwise. */
const MOST_OUTPUT = 1024 * 1024;

/** Splits `(file, args?, options?, callback?)`. */
function split(args, options, callback) {
	if (typeof args === "function") return { args: [], options: {}, callback: args };
	if (!Array.isArray(args)) return { args: [], options: args ?? {}, callback: typeof options === "function" ? options : callback };
	if (typeof options === "function") return { args, options: {}, callback: options };
	return { args, options: options ?? {}, callback };
}

function spawn(file, args, options) {
	const parts = split(args, options);
	return spawnChild(toSpawn(file, parts.args, parts.options), parts.options);
}

/** Decodes output as the options say: `buffer` keeps bytes. */
function decoder(encoding) {
	return encoding === "buffer" || encoding === null || !Buffer.isEncoding(encoding ?? "utf8") ? (buffer) => buffer : (buffer) => buffer.toString(encoding ?? "utf8");
}

/** Collects the output of a child and calls back when it has ended. */
function collect(child, command, options, callback) {
	const decode = decoder(options.encoding);
	const most = options.maxBuffer ?? MOST_OUTPUT;
	const chunks = { stdout: [], stderr: [] };
	const sizes = { stdout: 0, stderr: 0 };
	let failure;
	let isDone = false;
	const text = (name) => decode(Buffer.concat(chunks[name]));
	const finish = (code, signal) => {
		if (isDone) return;
		isDone = true;
		const [stdout, stderr] = [text("stdout"), text("stderr")];
		if (failure === undefined && code === 0 && signal === null) return callback?.(null, stdout, stderr);
		if (failure === undefined) {
			const details = Buffer.concat(chunks.stderr).toString();
			failure = new Error(`Command failed: ${command}${details === "" ? "" : `\n${details}`}`);
			failure.code = code;
			failure.killed = child.killed;
			failure.signal = signal;
		}
		failure.cmd = command;
		failure.stdout = stdout;
		failure.stderr = stderr;
		callback?.(failure, stdout, stderr);
	};
	for (const name of ["stdout", "stderr"]) {
		child[name]?.on("data", (chunk) => {
			const room = most - sizes[name];
			sizes[name] += chunk.length;
			if (room > 0) chunks[name].push(chunk.length > room ? chunk.subarray(0, room) : chunk);
			if (sizes[name] > most && failure === undefined) {
				failure = codeError(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", `${name} maxBuffer length exceeded`);
				child.kill(options.killSignal);
				child.stdout?.destroy();
				child.stderr?.destroy();
			}
		});
	}
	child.on("error", (error) => {
		failure ??= error;
		if (child.pid === undefined || error.name === "AbortError") {
			child.stdout?.destroy();
			child.stderr?.destroy();
			finish(null, null);
		}
	});
	child.on("close", finish);
}

function execFile(file, args, options, callback) {
	const parts = split(args, options, callback);
	const description = toSpawn(file, parts.args, { ...parts.options, stdio: "pipe" });
	const child = spawnChild(description, parts.options);
	const command = parts.options.shell ? description.command : [file, ...parts.args].join(" ");
	collect(child, command, parts.options, parts.callback);
	return child;
}

function exec(command, options, callback) {
	const parts = split(options, undefined, callback);
	if (typeof options === "function") parts.callback = options;
	const child = spawnChild(toSpawn(command, [], { ...parts.options, shell: parts.options.shell ?? true, stdio: "pipe" }), parts.options);
	collect(child, command, parts.options, parts.callback);
	return child;
}

/** A promise of both outputs, with the child on it. */
function promisified(start) {
	return (...args) => {
		let child;
		const promise = new Promise((resolve, reject) => {
			child = start(...args, (error, stdout, stderr) => (error ? reject(error) : resolve({ stdout, stderr })));
		});
		promise.child = child;
		return promise;
	};
}
const CUSTOM = Symbol.for("nodejs.util.promisify.custom");
Object.defineProperty(exec, CUSTOM, { value: promisified(exec) });
Object.defineProperty(execFile, CUSTOM, { value: promisified(execFile) });

/** Runs a program to its end. */
function runSync(description, options) {
	const hasEncoding = options.encoding !== undefined && options.encoding !== null && options.encoding !== "buffer";
	const decode = (bytes, mode) => {
		if (mode !== "pipe") return null;
		const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		return hasEncoding ? buffer.toString(options.encoding) : buffer;
	};
	const input = options.input;
	if (options.signal?.aborted) throw abortError(options.signal.reason);
	let finished;
	try {
		finished = native.spawnSync({
			...description,
			stdin: input === undefined || input === null ? description.stdin : "pipe",
			input: input === undefined || input === null ? undefined : typeof input === "string" ? Buffer.from(input, hasEncoding ? options.encoding : "utf8") : input,
			timeout: options.timeout > 0 ? options.timeout : undefined,
			killSignal: signals.numberOf(options.killSignal),
			maxBuffer: options.maxBuffer ?? MOST_OUTPUT,
		});
	} catch (error) {
		return { error: describeFailure(error, "spawnSync", description), status: null, signal: null, output: null, pid: 0 };
	}
	const [stdout, stderr] = [decode(finished.stdout, description.stdout), decode(finished.stderr, description.stderr)];
	const result = { pid: finished.pid, output: [null, stdout, stderr], stdout, stderr, status: finished.status ?? null, signal: signals.nameOf(finished.signal) };
	if (finished.error) {
		const error = codeError(Error, finished.error, `spawnSync ${description.program} ${finished.error}`);
		error.errno = finished.error === "ETIMEDOUT" ? -110 : -105;
		error.syscall = `spawnSync ${description.program}`;
		error.path = description.program;
		error.spawnargs = description.args;
		result.error = error;
	}
	// Output that is not asked for goes where errors go, as far as there is a reader.
	return result;
}

function spawnSync(file, args, options) {
	const parts = split(args, options);
	return runSync(toSpawn(file, parts.args, parts.options), parts.options);
}

/** Returns the output, or throws if the program failed. */
function outputOf(result, command, options) {
	// As in Node: errors of a program are shown unless the caller takes them.
	if (options.stdio === undefined && result.stderr?.length > 0) require("native:console").writeStderr(result.stderr);
	if (result.error === undefined && result.status === 0) return result.stdout;
	let { error } = result;
	if (error === undefined) {
		const details = result.stderr === null || result.stderr === undefined ? "" : result.stderr.toString();
		error = new Error(`Command failed: ${command}${details === "" ? "" : `\n${details}`}`);
	}
	const { pid, output, stdout, stderr, status, signal } = result;
	throw Object.assign(error, { status, signal, output, pid, stdout, stderr });
}

function execFileSync(file, args, options) {
	const parts = split(args, options);
	const description = toSpawn(file, parts.args, parts.options);
	return outputOf(runSync(description, parts.options), parts.options.shell ? description.command : [file, ...parts.args].join(" "), parts.options);
}

function execSync(command, options = {}) {
	const description = toSpawn(command, [], { ...options, shell: options.shell ?? true });
	return outputOf(runSync(description, options), command, options);
}

module.exports = {
	ChildProcess, spawn, exec, execFile, spawnSync, execSync, execFileSync, fork: missing("child_process.fork"), _forkChild: missing("child_process._forkChild"),
};
