// node:util.

const { inspect, COLORS } = require("pi:inspect");
const { format, formatWithOptions } = require("pi:format");
const { codeError, invalidArgType, invalidArgValue, validateFunction } = require("pi:node-errors");
const { missing } = require("pi:missing");
const types = require("node:util/types");

const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");

function promisify(original) {
	validateFunction(original, "original");
	if (original[PROMISIFY] !== undefined) {
		validateFunction(original[PROMISIFY], "util.promisify.custom");
		return Object.defineProperty(original[PROMISIFY], PROMISIFY, { value: original[PROMISIFY], configurable: true });
	}
	const names = original[Symbol.for("nodejs.util.promisify.customArgs")];
	function promisified(...args) {
		return new Promise((resolve, reject) => {
			original.call(this, ...args, (error, ...values) => {
				if (error) reject(error);
				else if (names !== undefined && values.length > 1) resolve(Object.fromEntries(names.map((name, at) => [name, values[at]])));
				else resolve(values[0]);
			});
		});
	}
	Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
	Object.defineProperty(promisified, PROMISIFY, { value: promisified, configurable: true });
	return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = PROMISIFY;

function callbackify(original) {
	validateFunction(original, "original");
	return function callbackified(...args) {
		const callback = args.pop();
		validateFunction(callback, "last argument");
		original.apply(this, args).then((value) => process.nextTick(callback, null, value), (reason) => {
			let error = reason;
			if (!reason) {
				error = codeError(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value");
				error.reason = reason;
			}
			process.nextTick(callback, error);
		});
	};
}

function inherits(child, parent) {
	if (typeof child !== "function") throw invalidArgType("ctor", "of type function", child);
	if (typeof parent !== "function") throw invalidArgType("superCtor", "of type function", parent);
	Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
	Object.setPrototypeOf(child.prototype, parent.prototype);
}

const warned = new Set();
function deprecate(original, message, code) {
	let hasWarned = false;
	function deprecated(...args) {
		if (!hasWarned) {
			hasWarned = true;
			if (code === undefined || !warned.has(code)) {
				if (code !== undefined) warned.add(code);
				globalThis.process?.emitWarning?.(message, "DeprecationWarning", code);
			}
		}
		return new.target ? Reflect.construct(original, args, new.target) : original.apply(this, args);
	}
	Object.setPrototypeOf(deprecated, original);
	if (original.prototype) deprecated.prototype = original.prototype;
	return deprecated;
}

function debuglog(section) {
	const names = String(globalThis.process?.env?.NODE_DEBUG ?? "").toUpperCase().split(/[\s,]+/);
	const enabled = names.some((name) => name !== "" && new RegExp(`^${name.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`).test(section.toUpperCase()));
	const log = (...args) => {
		if (enabled) console.error(`${section.toUpperCase()} ${process.pid}: ${format(...args)}`);
	};
	log.enabled = enabled;
	return log;
}

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u001B\u009B][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001B\u005C|\u009C))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;

function stripVTControlCharacters(text) {
	if (typeof text !== "string") throw invalidArgType("str", "of type string", text);
	return text.replace(CONTROL, "");
}

function styleText(style, text, { validateStream = true, stream = globalThis.process?.stdout } = {}) {
	if (typeof text !== "string") throw invalidArgType("text", "of type string", text);
	const styles = Array.isArray(style) ? style : [style];
	for (const name of styles) if (name !== "none" && COLORS[name] === undefined) throw invalidArgValue("format", name, `must be one of: ${Object.keys(COLORS).map((one) => `'${one}'`).join(", ")}`);
	if (validateStream && !hasColors(stream)) return text;
	let result = text;
	for (const name of styles.toReversed()) {
		if (name === "none") continue;
		const [open, close] = COLORS[name];
		result = `\u001b[${open}m${result.replaceAll(`\u001b[${close}m`, `\u001b[${open}m`)}\u001b[${close}m`;
	}
	return result;
}

function hasColors(stream) {
	const env = globalThis.process?.env ?? {};
	if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== "0";
	return Boolean(stream?.isTTY) && env.NO_COLOR === undefined && env.NODE_DISABLE_COLORS === undefined;
}

class MIMEType {
	constructor(text) {
		const match = /^\s*([^\s/;]+)\/([^\s/;]+)\s*((?:;.*)?)$/.exec(String(text));
		if (match === null) throw codeError(TypeError, "ERR_INVALID_MIME_SYNTAX", `The MIME syntax for a type in "${text}" is invalid`);
		this.type = match[1].toLowerCase();
		this.subtype = match[2].toLowerCase();
		this.params = new Map(match[3].split(";").map((part) => part.trim().split("=")).filter(([name]) => name).map(([name, value = ""]) => [name.toLowerCase(), value.replace(/^"(.*)"$/, "$1")]));
	}
	get essence() { return `${this.type}/${this.subtype}`; }
	toString() { return [this.essence, ...[...this.params].map(([name, value]) => `${name}=${value}`)].join(";"); }
}

function aborted(signal) {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});
}

const util = {
	promisify, callbackify, inherits, deprecate, debuglog, debug: debuglog, inspect, format, formatWithOptions, stripVTControlCharacters, styleText, types, aborted, MIMEType,
	isDeepStrictEqual: (a, b) => require("pi:deep-equal").isDeepEqual(a, b, true),
	parseArgs: (config) => require("pi:parse-args").parseArgs(config),
	toUSVString: (text) => String(text).toWellFormed(),
	isArray: Array.isArray,
	getSystemErrorName: (number) => require("node:os").constants?.errno && Object.entries(require("node:os").constants.errno).find(([, value]) => value === -number)?.[0],
	getSystemErrorMap: missing("util.getSystemErrorMap"),
	getCallSites: () => [],
	transferableAbortController: () => new AbortController(),
	transferableAbortSignal: (signal) => signal,
	parseEnv(text) {
		const values = {};
		for (const line of String(text).matchAll(/^\s*(?:export\s+)?([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|[^\n#]*)?.*$/gm)) {
			const raw = (line[2] ?? "").trim();
			const mark = /^(["'`])([\s\S]*)\1$/.exec(raw);
			values[line[1]] = mark === null ? raw : mark[1] === '"' ? mark[2].replaceAll("\\n", "\n") : mark[2];
		}
		return values;
	},
	get TextEncoder() { return globalThis.TextEncoder; },
	get TextDecoder() { return globalThis.TextDecoder; },
	_extend: (target, source) => Object.assign(target, source),
};
for (const [name, check] of Object.entries({
	isBoolean: (value) => typeof value === "boolean", isNull: (value) => value === null, isNullOrUndefined: (value) => value === null || value === undefined,
	isNumber: (value) => typeof value === "number", isString: (value) => typeof value === "string", isSymbol: (value) => typeof value === "symbol",
	isUndefined: (value) => value === undefined, isObject: (value) => value !== null && typeof value === "object", isFunction: (value) => typeof value === "function",
	isRegExp: types.isRegExp, isDate: types.isDate, isError: (value) => value instanceof Error, isPrimitive: (value) => value === null || (typeof value !== "object" && typeof value !== "function"),
})) util[name] = check;

module.exports = util;
