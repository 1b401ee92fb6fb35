// util.format: console.log's texts.

const { inspect } = require("pi:inspect");

function formatWithOptions(options, ...args) {
	const [first, ...rest] = args;
	let text = "";
	let used = 0;
	if (typeof first === "string") {
		used = 1;
		if (rest.length === 0) return first;
		let next = 0;
		text = first.replace(/%([sdifjoOc%])/g, (match, kind) => {
			if (kind === "%") return "%";
			if (next >= rest.length) return match;
			return directive(kind, rest[next++], options);
		});
		used += next;
	}
	for (const value of args.slice(used)) {
		const part = typeof value === "string" ? value : inspect(value, options);
		text = used === 0 && text === "" ? part : `${text} ${part}`;
		used = 1;
	}
	return text;
}

function directive(kind, value, options) {
	switch (kind) {
		case "s":
			if (typeof value === "bigint") return `${value}n`;
			if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
			if (typeof value !== "object" || value === null) return String(value);
			if (typeof value.toString === "function" && value.toString !== Object.prototype.toString && !Array.isArray(value) && (value instanceof Error || value instanceof Date || Object.hasOwn(value, "toString") || hasOwnToString(value))) return String(value);
			return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
		case "d":
			if (typeof value === "bigint") return `${value}n`;
			if (typeof value === "symbol") return "NaN";
			return Object.is(Number(value), -0) ? "-0" : String(Number(value));
		case "i":
			if (typeof value === "bigint") return `${value}n`;
			return typeof value === "symbol" ? "NaN" : String(Number.parseInt(value, 10));
		case "f": return typeof value === "symbol" ? "NaN" : String(Number.parseFloat(value));
		case "j":
			try {
				return JSON.stringify(value);
			} catch (error) {
				if (/circular/i.test(error.message)) return "[Circular]";
				throw error;
			}
		case "o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
		case "O": return inspect(value, options);
		default: return "";
	}
}

/** Returns true for an instance of a class that defines toString. */
function hasOwnToString(value) {
	let prototype = Object.getPrototypeOf(value);
	while (prototype !== null && prototype !== Object.prototype) {
		if (Object.hasOwn(prototype, "toString")) return !["Map", "Set", "Array", "RegExp", "Promise"].includes(prototype.constructor?.name);
		prototype = Object.getPrototypeOf(prototype);
	}
	return false;
}

module.exports = { format: (...args) => formatWithOptions(undefined, ...args), formatWithOptions };
