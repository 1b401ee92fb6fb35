// node:os.

const native = require("native:os");
const { missing } = require("pi:missing");
const { invalidArgType } = require("pi:node-errors");
const process = require("node:process");
const signals = require("pi:signal-names");

let known;
/** Returns the facts that do not change. */
function facts() {
	known ??= native.facts();
	return known;
}

let user;
function account() {
	user ??= native.user();
	return user;
}

const os = {
	EOL: "\n",
	devNull: "/dev/null",
	arch: () => facts().arch,
	platform: () => facts().platform,
	type: () => facts().type,
	release: () => facts().release,
	version: () => facts().version,
	machine: () => facts().machine,
	hostname: () => facts().hostname,
	endianness: () => (facts().isLittleEndian ? "LE" : "BE"),
	homedir: () => process.env.HOME || account().homedir || "/",
	tmpdir() {
		const directory = process.env.TMPDIR || process.env.TMP || process.env.TEMP || "/tmp";
		return directory.length > 1 && directory.endsWith("/") ? directory.slice(0, -1) : directory;
	},
	uptime: () => native.load().uptime,
	loadavg: () => native.load().average,
	totalmem: () => native.load().total,
	freemem: () => native.load().free,
	availableParallelism: () => native.parallelism(),
	cpus() {
		const all = native.processors();
		if (all.some(({ times }) => times === null)) missing("os.cpus")();
		return all;
	},
	networkInterfaces: () => native.interfaces(),
	userInfo(options) {
		const { uid, gid, username, homedir, shell } = account();
		const text = (value) => (options?.encoding === "buffer" && typeof value === "string" ? Buffer.from(value) : value);
		return { uid, gid, username: text(username), homedir: text(homedir), shell: text(shell) };
	},
	getPriority(pid = 0) {
		if (typeof pid !== "number") throw invalidArgType("pid", "of type number", pid);
		return native.priority(pid);
	},
	setPriority: missing("os.setPriority"),
};

let constants;
Object.defineProperty(os, "constants", {
	enumerable: true,
	get() {
		constants ??= { UV_UDP_REUSEADDR: 4, dlopen: {}, errno: native.errors(), signals: { ...signals.NUMBERS }, priority: { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 } };
		return constants;
	},
});

module.exports = os;
