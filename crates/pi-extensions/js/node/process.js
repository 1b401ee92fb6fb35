// The process, as the global `process` and node:process.
//
// Variables and directory are kept by the host: other threads share those of the real process.

const native = require("native:process");
const { EventEmitter } = require("node:events");
const signals = require("pi:signal-names");
const { missing } = require("pi:missing");
const { codeError, invalidArgType } = require("pi:node-errors");

let known;
function facts() {
	known ??= native.facts();
	return known;
}

/** Variables: live, writable, and always texts. */
const env = new Proxy(Object.create(null), {
	get: (_, name) => (typeof name === "string" ? (native.variable(name) ?? undefined) : undefined),
	set(_, name, value) {
		if (typeof name === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
		native.setVariable(name, String(value));
		return true;
	},
	has: (_, name) => typeof name === "string" && typeof native.variable(name) === "string",
	deleteProperty(_, name) {
		if (typeof name === "string") native.setVariable(name, undefined);
		return true;
	},
	ownKeys: () => native.variableNames(),
	getOwnPropertyDescriptor(_, name) {
		const value = typeof name === "string" ? native.variable(name) : undefined;
		if (typeof value !== "string") return undefined;
		return { value, writable: true, enumerable: true, configurable: true };
	},
	defineProperty(_, name, descriptor) {
		native.setVariable(String(name), String(descriptor.value));
		return true;
	},
	getPrototypeOf: () => Object.prototype,
});

/** The process. Signals are received while they have a listener. */
class Process extends EventEmitter {
	#listening = new Set();

	constructor() {
		super();
		this.on("newListener", (name) => {
			if (typeof name === "string" && Object.hasOwn(signals.NUMBERS, name)) this.#listen(name);
		});
		// pi itself listens to this signal, so that it does not end the program.
		super.on("SIGUSR2", function ignore() {});
	}

	async #listen(name) {
		if (this.#listening.has(name)) return;
		this.#listening.add(name);
		for (;;) {
			await native.nextSignal(signals.NUMBERS[name]);
			if (this.listenerCount(name) === 0) break;
			this.emit(name, name, signals.NUMBERS[name]);
		}
		this.#listening.delete(name);
	}
}
Object.defineProperty(Process, "name", { value: "process" });

const process = new Process();

/** Defines properties whose values are made when they are first read. */
function lazy(properties) {
	for (const name of Object.keys(properties)) {
		Object.defineProperty(process, name, {
			configurable: true,
			enumerable: true,
			get() {
				const value = properties[name]();
				Object.defineProperty(process, name, { value, writable: true, configurable: true, enumerable: true });
				return value;
			},
			set(value) {
				Object.defineProperty(process, name, { value, writable: true, configurable: true, enumerable: true });
			},
		});
	}
}

const VERSION = "24.11.0";
const os = () => require("native:os").facts();

lazy({
	pid: () => facts().pid,
	ppid: () => facts().ppid,
	platform: () => os().platform,
	arch: () => os().arch,
	argv: () => facts().arguments,
	execPath: () => facts().executable,
	argv0: () => "pi",
	stdout: () => require("pi:standard-streams").stdout,
	stderr: () => require("pi:standard-streams").stderr,
	stdin: () => require("pi:standard-streams").stdin,
	versions: () => ({ node: VERSION, modules: "137", uv: "1.51.0", v8: "13.6.233", zlib: "1.3.1", pi: "quickjs" }),
	release: () => ({ name: "node", lts: "Krypton" }),
	features: () => ({ inspector: false, debug: false, uv: true, ipv6: true, tls_alpn: true, tls_sni: true, tls_ocsp: false, tls: true, typescript: "transform", require_module: true }),
	config: () => ({ target_defaults: {}, variables: {} }),
	report: () => ({}),
	permission: () => ({ has: () => true }),
});

Object.assign(process, {
	env,
	version: `v${VERSION}`,
	execArgv: [],
	title: "pi",
	exitCode: undefined,
	debugPort: 9229,
	allowedNodeEnvironmentFlags: new Set(),

	cwd: () => native.cwd(),
	chdir(directory) {
		if (typeof directory !== "string") throw invalidArgType("directory", "of type string", directory);
		native.chdir(directory);
	},
	umask(mask) {
		if (mask === undefined) return native.umask(undefined);
		return native.umask(typeof mask === "string" ? Number.parseInt(mask, 8) : mask);
	},
	uptime: () => native.nanoseconds() / 1e9,
	hrtime: Object.assign(
		(previous) => {
			const now = native.nanoseconds();
			const seconds = Math.floor(now / 1e9);
			const rest = Math.floor(now - seconds * 1e9);
			if (previous === undefined) return [seconds, rest];
			const difference = [seconds - previous[0], rest - previous[1]];
			return difference[1] < 0 ? [difference[0] - 1, difference[1] + 1e9] : difference;
		},
		{ bigint: () => BigInt(Math.floor(native.nanoseconds())) },
	),
	memoryUsage: Object.assign(
		() => {
			const { resident, used } = native.memory();
			return { rss: resident, heapTotal: used, heapUsed: used, external: 0, arrayBuffers: 0 };
		},
		{ rss: () => native.memory().resident },
	),
	availableMemory: () => require("node:os").freemem(),
	constrainedMemory: () => 0,
	cpuUsage(previous) {
		const { user, system } = native.processorTime() ?? missing("process.cpuUsage")();
		return { user: user - (previous?.user ?? 0), system: system - (previous?.system ?? 0) };
	},
	resourceUsage() {
		const { user, system } = native.processorTime() ?? missing("process.resourceUsage")();
		return { userCPUTime: user, systemCPUTime: system, maxRSS: native.peakMemory() ?? missing("process.resourceUsage")() };
	},

	nextTick: require("pi:timers").nextTick,
	emitWarning(warning, type, code) {
		const options = type !== null && typeof type === "object" ? type : { type, code };
		const error = warning instanceof Error ? warning : new Error(String(warning));
		if (!(warning instanceof Error)) error.name = options.type ?? "Warning";
		if (options.code !== undefined) error.code = options.code;
		const text = `${error.code === undefined ? "" : `[${error.code}] `}${error.name}: ${error.message}`;
		require("native:console").write(`(pi:${facts().pid}) ${text}\n`);
		process.nextTick(() => process.emit("warning", error));
	},

	kill(pid, signal) {
		if (typeof pid !== "number" || !Number.isInteger(pid)) throw invalidArgType("pid", "of type number", pid);
		native.kill(pid, signals.numberOf(signal));
		return true;
	},
	/** Ending the program is a decision of its user: the session goes on. */
	exit(code) {
		const error = codeError(Error, "ERR_PROCESS_EXIT", `process.exit(${code ?? ""}) does not end pi; call ctx.shutdown() to end the session`);
		require("native:console").write(`${error.message}\n`);
		throw error;
	},
	abort() {
		throw codeError(Error, "ERR_PROCESS_EXIT", "process.abort() does not end pi; call ctx.shutdown() to end the session");
	},

	getuid: () => facts().uid,
	geteuid: () => facts().euid,
	getgid: () => facts().gid,
	getegid: () => facts().egid,
	getgroups: () => [facts().gid],
	getActiveResourcesInfo: () => [],
	getBuiltinModule: (name) => require("node:module").loadBuiltin(name),
	hasUncaughtExceptionCaptureCallback: () => false,
	setUncaughtExceptionCaptureCallback() {},
	setSourceMapsEnabled() {},
	ref() {},
	unref() {},
	setuid: missing("process.setuid"),
	setgid: missing("process.setgid"),
	dlopen: missing("process.dlopen"),
	binding: missing("process.binding"),
	loadEnvFile: missing("process.loadEnvFile"),
});

module.exports = process;
