// The console: every method writes to the output of the host, never to standard output.

const native = require("native:console");

let util;
/** Formats arguments as `console.log` does. */
function format(args) {
	if (args.length === 1 && typeof args[0] === "string") return args[0];
	util ??= require("node:util");
	return util.format(...args);
}

function inspect(value, options) {
	util ??= require("node:util");
	return util.inspect(value, options);
}

/** A console; `write` receives whole lines. */
class Console {
	#write;
	#indent = "";
	#counts = new Map();
	#timers = new Map();

	constructor(options) {
		const stream = options?.stdout ?? options;
		this.#write = typeof stream?.write === "function" ? (text) => stream.write(text) : native.write;
		// Methods are used without their object, as in `list.forEach(console.log)`.
		for (const name of METHODS) this[name] = this[name].bind(this);
	}

	#print(args) {
		const text = format(args);
		this.#write(`${this.#indent === "" ? text : text.replace(/^/gm, this.#indent)}\n`);
	}

	log(...args) {
		this.#print(args);
	}
	info(...args) {
		this.#print(args);
	}
	debug(...args) {
		this.#print(args);
	}
	warn(...args) {
		this.#print(args);
	}
	error(...args) {
		this.#print(args);
	}
	trace(...args) {
		const stack = new Error().stack.split("\n").slice(1).join("\n");
		this.#print([`Trace${args.length > 0 ? `: ${format(args)}` : ""}\n${stack}`]);
	}
	dir(value, options) {
		this.#print([inspect(value, { customInspect: false, ...options })]);
	}
	dirxml(...args) {
		this.#print(args);
	}
	assert(condition, ...args) {
		if (condition) return;
		if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
		else args.unshift("Assertion failed");
		this.#print(args);
	}
	group(...args) {
		if (args.length > 0) this.#print(args);
		this.#indent += "  ";
	}
	groupCollapsed(...args) {
		this.group(...args);
	}
	groupEnd() {
		this.#indent = this.#indent.slice(2);
	}
	count(label = "default") {
		const count = (this.#counts.get(`${label}`) ?? 0) + 1;
		this.#counts.set(`${label}`, count);
		this.#print([`${label}: ${count}`]);
	}
	countReset(label = "default") {
		this.#counts.delete(`${label}`);
	}
	time(label = "default") {
		this.#timers.set(`${label}`, performance.now());
	}
	timeLog(label = "default", ...args) {
		const began = this.#timers.get(`${label}`);
		if (began === undefined) return;
		this.#print([`${label}: ${elapsed(performance.now() - began)}`, ...args]);
	}
	timeEnd(label = "default") {
		this.timeLog(label);
		this.#timers.delete(`${label}`);
	}
	table(data, columns) {
		if (data === null || typeof data !== "object") return this.#print([data]);
		this.#print([table(data, columns)]);
	}
	clear() {}
	timeStamp() {}
	profile() {}
	profileEnd() {}
}

const METHODS = Object.getOwnPropertyNames(Console.prototype).filter((name) => name !== "constructor");

function elapsed(milliseconds) {
	if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(3)}s`;
	return `${Number(milliseconds.toFixed(3))}ms`;
}

/** Draws rows and columns. */
function table(data, columns) {
	const rows = data instanceof Map ? [...data] : data instanceof Set ? [...data].map((value, at) => [at, value]) : Object.entries(data);
	const names = [];
	let hasValues = false;
	for (const [, row] of rows) {
		if (row !== null && typeof row === "object") {
			for (const name of Object.keys(row)) if (!names.includes(name)) names.push(name);
		} else hasValues = true;
	}
	const shown = columns ?? names;
	const head = ["(index)", ...shown, ...(hasValues ? ["Values"] : [])];
	const cell = (value) => inspect(value, { depth: 0, breakLength: Infinity });
	const body = rows.map(([key, row]) => {
		const isObject = row !== null && typeof row === "object";
		const cells = shown.map((name) => (isObject && Object.hasOwn(row, name) ? cell(row[name]) : ""));
		return [String(key), ...cells, ...(hasValues ? [isObject ? "" : cell(row)] : [])];
	});
	const widths = head.map((name, at) => Math.max(name.length, ...body.map((row) => row[at].length)) + 2);
	const line = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
	const draw = (row) => `│${row.map((text, at) => ` ${text}`.padEnd(widths[at])).join("│")}│`;
	return [line("┌", "┬", "┐"), draw(head), line("├", "┼", "┤"), ...body.map(draw), line("└", "┴", "┘")].join("\n");
}

const console = new Console();
console.Console = Console;
module.exports = console;
