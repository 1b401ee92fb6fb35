// Options of programs to start, as the host takes them.

const process = require("node:process");
const { codeError, invalidArgType, invalidArgValue } = require("pi:node-errors");

/** Returns a stream's target for the host: "pipe", "ignore", "inherit" or the number of a file. */
function toTarget(value, at) {
	if (value === undefined || value === null) return "pipe";
	if (value === "overlapped") return "pipe";
	if (value === "pipe" || value === "ignore" || value === "inherit") return value;
	if (typeof value === "number") return value;
	if (typeof value === "object" && typeof value.fd === "number") return value.fd;
	if (value === "ipc") throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "child_process with an IPC channel is not available in this extension host");
	throw invalidArgValue(`stdio[${at}]`, value);
}

function toStdio(value) {
	const list = Array.isArray(value) ? value : [value, value, value];
	const extra = list.slice(3).filter((one) => one !== undefined && one !== null && one !== "ignore");
	if (extra.length > 0) throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "child_process with more than three streams is not available in this extension host");
	return [0, 1, 2].map((at) => toTarget(list[at], at));
}

/** Returns variables as alternating names and values. */
function toVariables(env) {
	const flat = [];
	for (const name of Object.keys(env)) {
		const value = env[name];
		if (value === undefined) continue;
		flat.push(name, String(value));
	}
	return flat;
}

/** Returns what the host starts for a program, its arguments and the options of the caller. */
function toSpawn(file, args, options) {
	if (typeof file !== "string") throw invalidArgType("file", "of type string", file);
	if (file === "") throw invalidArgValue("file", file, "cannot be empty");
	if (options.cwd instanceof URL) options = { ...options, cwd: require("node:url").fileURLToPath(options.cwd) };
	for (const text of [file, ...args]) {
		if (String(text).includes("\0")) throw invalidArgValue("args", text, "must be a string without null bytes");
	}
	const env = options.env ?? process.env;
	const [stdin, stdout, stderr] = toStdio(options.stdio);
	let [program, words] = [file, args.map(String)];
	const command = [file, ...args].join(" ");
	if (options.shell) {
		program = typeof options.shell === "string" ? options.shell : "/bin/sh";
		words = ["-c", command];
	}
	return {
		program,
		args: words,
		command,
		cwd: options.cwd ?? undefined,
		env: toVariables(env),
		stdin, stdout, stderr,
		detached: options.detached === true,
		uid: options.uid,
		gid: options.gid,
		argv0: options.argv0,
	};
}

/** Adds what Node says of a program that did not start. */
function describeFailure(error, verb, description) {
	error.syscall = `${verb} ${description.program}`;
	error.path = description.program;
	error.spawnargs = description.args;
	if (typeof error.errno === "number") error.message = `${error.syscall} ${error.code}`;
	return error;
}

module.exports = { toSpawn, describeFailure };
