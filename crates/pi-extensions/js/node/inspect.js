// util.inspect: values as texts for people.

const CUSTOM = Symbol.for("nodejs.util.inspect.custom");

const DEFAULTS = {
	showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
	maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

const COLORS = {
	reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29],
	black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39],
	gray: [90, 39], grey: [90, 39], blackBright: [90, 39], redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
	bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49], bgGray: [100, 49],
	doubleunderline: [21, 24], framed: [51, 54], overlined: [53, 55],
};

const STYLES = {
	special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
	string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
};

const KEY = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

function inspect(value, options, ...rest) {
	const context = { ...DEFAULTS, ...inspect.defaultOptions, seen: [], indentation: 0, current: 0, circular: new Map() };
	if (typeof options === "boolean") {
		context.showHidden = options;
		if (rest[0] !== undefined) context.depth = rest[0];
		if (rest[1] !== undefined) context.colors = rest[1];
	} else if (options !== null && typeof options === "object") Object.assign(context, options, { seen: [], indentation: 0, current: 0, circular: new Map() });
	context.given = typeof options === "object" ? options : undefined;
	if (context.depth === null) context.depth = Infinity;
	if (context.maxArrayLength === null) context.maxArrayLength = Infinity;
	if (context.maxStringLength === null) context.maxStringLength = Infinity;
	context.style = context.colors
		? (text, kind) => {
			const color = COLORS[STYLES[kind]];
			return color === undefined ? text : `\u001b[${color[0]}m${text}\u001b[${color[1]}m`;
		}
		: (text) => text;
	return formatValue(context, value, 0, true);
}

function quote(text) {
	let mark = "'";
	if (text.includes("'")) {
		if (!text.includes('"')) mark = '"';
		else if (!text.includes("`") && !text.includes("${")) mark = "`";
	}
	const escapes = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
	const body = text.toWellFormed() === text ? text : text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase()}`);
	// eslint-disable-next-line no-control-regex
	const escaped = body.replace(/[\x00-\x1f\x7f-\x9f\\]/g, (one) => {
		if (one === "\\" && body !== text) return one;
		return escapes[one] ?? `\\x${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
	});
	return mark + (mark === "'" ? escaped.replaceAll("'", "\\'") : escaped) + mark;
}

function formatNumber(value) {
	return Object.is(value, -0) ? "-0" : String(value);
}

function formatPrimitive(context, value) {
	switch (typeof value) {
		case "string": {
			let text = value;
			let more = "";
			if (text.length > context.maxStringLength) {
				const left = text.length - context.maxStringLength;
				text = text.slice(0, context.maxStringLength);
				more = `... ${left} more character${left > 1 ? "s" : ""}`;
			}
			if (context.compact !== true && text.length > 16 && text.length > context.breakLength - context.indentation - 4 && text.includes("\n")) {
				const lines = text.split(/(?<=\n)/).map((line) => context.style(quote(line), "string"));
				return lines.join(` +\n${" ".repeat(context.indentation + 2)}`) + more;
			}
			return context.style(quote(text), "string") + more;
		}
		case "number": return context.style(formatNumber(value), "number");
		case "bigint": return context.style(`${value}n`, "bigint");
		case "boolean": return context.style(String(value), "boolean");
		case "undefined": return context.style("undefined", "undefined");
		default: return context.style(value.toString(), "symbol");
	}
}

/** Returns the name of the class of an object; null for one without a prototype. */
function className(value) {
	let prototype = value;
	while (prototype !== null) {
		const descriptor = Object.getOwnPropertyDescriptor(prototype, "constructor");
		if (descriptor !== undefined && typeof descriptor.value === "function" && descriptor.value.name !== "" && isInstance(value, descriptor.value)) return descriptor.value.name;
		prototype = Object.getPrototypeOf(prototype);
	}
	return null;
}

function isInstance(value, constructor) {
	try {
		return value instanceof constructor;
	} catch {
		return false;
	}
}

function formatValue(context, value, depth, isTyped) {
	if (value === null) return context.style("null", "null");
	if (typeof value !== "object" && typeof value !== "function") return formatPrimitive(context, value);
	if (context.customInspect) {
		const custom = value[CUSTOM];
		const isOwnClass = value.constructor !== undefined && value.constructor?.prototype === value;
		if (typeof custom === "function" && custom !== inspect && !isOwnClass) {
			const left = context.depth === Infinity ? Infinity : context.depth - depth;
			const result = custom.call(value, left, { ...optionsOf(context), depth: left, stylize: context.style }, inspect);
			if (result !== value) {
				if (typeof result === "string") return result.replaceAll("\n", `\n${" ".repeat(context.indentation)}`);
				return formatValue(context, result, depth);
			}
		}
	}
	if (context.seen.includes(value)) {
		if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
		return context.style(`[Circular *${context.circular.get(value)}]`, "special");
	}
	return formatObject(context, value, depth, isTyped);
}

function optionsOf(context) {
	const { showHidden, depth, colors, customInspect, maxArrayLength, maxStringLength, breakLength, compact, sorted, getters } = context;
	return { showHidden, depth, colors, customInspect, maxArrayLength, maxStringLength, breakLength, compact, sorted, getters };
}

function prefixOf(name, tag, fallback, size = "") {
	const shownTag = tag !== "" && tag !== name ? `[${tag}] ` : "";
	if (name === null) return `[${fallback}${size}: null prototype] ${shownTag}`;
	return `${name}${size} ${shownTag}`;
}

/** Describes how an object is shown: braces, the text before, and its entries. */
function shapeOf(context, value, name, tag, keys, depth) {
	const plural = (list) => list;
	if (Array.isArray(value)) {
		const prefix = name !== "Array" || tag !== "" ? prefixOf(name, tag, "Array", `(${value.length})`) : "";
		if (value.length === 0 && keys.length === 0) return { text: `${prefix}[]` };
		return { braces: [`${prefix}[`, "]"], isArray: true, entries: () => arrayEntries(context, value, depth) };
	}
	if (value instanceof Set) {
		const prefix = prefixOf(name, tag, "Set", `(${value.size})`);
		if (value.size === 0 && keys.length === 0) return { text: `${prefix}{}` };
		return { braces: [`${prefix}{`, "}"], entries: () => limited(context, [...value], (item) => formatValue(context, item, depth + 1)) };
	}
	if (value instanceof Map) {
		const prefix = prefixOf(name, tag, "Map", `(${value.size})`);
		if (value.size === 0 && keys.length === 0) return { text: `${prefix}{}` };
		const pair = ([key, item]) => `${formatValue(context, key, depth + 1)} => ${formatValue(context, item, depth + 1)}`;
		return { braces: [`${prefix}{`, "}"], entries: () => limited(context, [...value], pair) };
	}
	if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
		const prefix = prefixOf(name, tag === name ? "" : tag, name ?? "TypedArray", `(${value.length})`);
		if (value.length === 0 && keys.length === 0) return { text: `${prefix}[]` };
		return { braces: [`${prefix}[`, "]"], isArray: true, entries: () => limited(context, value, (item) => formatPrimitive(context, item)) };
	}
	if (typeof value === "function") return baseShape(functionText(value, name, tag), "special", keys);
	if (value instanceof RegExp) return baseShape(String(value), "regexp", keys);
	if (value instanceof Date) {
		const text = Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
		return baseShape(name === "Date" ? text : `${prefixOf(name, tag, "Date")}${text}`, "date", keys);
	}
	if (value instanceof Error) return baseShape(errorText(context, value, name, keys), undefined, keys);
	if (value instanceof Promise) return { braces: [`${prefixOf(name, tag, "Promise")}{`, "}"], entries: () => [context.style("<pending>", "special")], isPromise: true };
	if (value instanceof ArrayBuffer) {
		const bytes = Array.from(new Uint8Array(value, 0, Math.min(50, value.byteLength)), (byte) => byte.toString(16).padStart(2, "0"));
		return {
			braces: [`${prefixOf(name, tag, "ArrayBuffer")}{`, "}"],
			entries: () => [`[Uint8Contents]: <${bytes.join(" ")}${value.byteLength > 50 ? ` ... ${value.byteLength - 50} more bytes` : ""}>`, `byteLength: ${context.style(String(value.byteLength), "number")}`],
		};
	}
	if (value instanceof WeakMap || value instanceof WeakSet) return { braces: [`${prefixOf(name, tag, "Weak")}{`, "}"], entries: () => plural([context.style("<items unknown>", "special")]) };
	for (const Class of [Number, String, Boolean, Symbol, BigInt]) {
		if (isInstance(value, Class)) {
			const type = Class.name;
			return baseShape(`[${type}${name !== type ? ` (${name})` : ""}: ${formatPrimitive({ ...context, style: (text) => text }, value.valueOf())}]`, type.toLowerCase(), type === "String" ? keys.filter((key) => !/^\d+$/.test(String(key))) : keys);
		}
	}
	const prefix = name === "Object" && tag === "" ? "" : prefixOf(name, tag, "Object");
	if (keys.length === 0) return { text: `${prefix}{}` };
	return { braces: [`${prefix}{`, "}"], entries: () => [] };
}

function baseShape(text, style, keys) {
	return keys.length === 0 ? { text, style } : { braces: ["{", "}"], base: text, style, entries: () => [], keys };
}

function functionText(value, name, tag) {
	// The prototype of a class cannot be replaced; functions of the engine look the same.
	const isClass = Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false && globalThis[value.name] !== value;
	if (isClass) {
		const parent = Object.getPrototypeOf(value)?.name;
		return `[class ${value.name || "(anonymous)"}${parent ? ` extends ${parent}` : ""}]`;
	}
	const kind = Object.prototype.toString.call(value).slice(8, -1);
	const label = kind === "Function" ? "Function" : kind;
	const suffix = name === null ? " (null prototype)" : "";
	return `[${label}${suffix}${value.name ? `: ${value.name}` : " (anonymous)"}]${tag !== "" && tag !== label ? ` [${tag}]` : ""}`;
}

function errorText(context, error, name, keys) {
	let text = typeof error.stack === "string" && error.stack !== "" ? error.stack : `[${Error.prototype.toString.call(error)}]`;
	if (!text.includes("\n    at") && !text.startsWith("[")) text = `[${text}]`;
	for (const hidden of ["stack", "message", "name"]) {
		const at = keys.indexOf(hidden);
		if (at >= 0 && (hidden === "stack" || text.includes(String(error[hidden])))) keys.splice(at, 1);
	}
	if ("cause" in error && !keys.includes("cause")) keys.push("cause");
	if (Array.isArray(error.errors) && !keys.includes("errors")) keys.push("errors");
	return context.indentation === 0 ? text : text.replaceAll("\n", `\n${" ".repeat(context.indentation)}`);
}

function limited(context, items, format) {
	const shown = Math.min(items.length, context.maxArrayLength);
	const output = [];
	for (let at = 0; at < shown; at++) output.push(indented(context, () => format(items[at])));
	if (items.length > shown) output.push(`... ${items.length - shown} more item${items.length - shown > 1 ? "s" : ""}`);
	return output;
}

function indented(context, format) {
	context.indentation += 2;
	try {
		return format();
	} finally {
		context.indentation -= 2;
	}
}

function arrayEntries(context, value, depth) {
	const output = [];
	let at = 0;
	while (at < value.length && output.length < context.maxArrayLength) {
		if (at in value) {
			output.push(formatProperty(context, value, String(at), depth, true));
			at++;
			continue;
		}
		const start = at;
		while (at < value.length && !(at in value)) at++;
		const count = at - start;
		output.push(context.style(`<${count} empty item${count > 1 ? "s" : ""}>`, "undefined"));
	}
	if (at < value.length) output.push(`... ${value.length - at} more item${value.length - at > 1 ? "s" : ""}`);
	return output;
}

function keysOf(context, value) {
	const isIndexed = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
	let keys = context.showHidden ? Object.getOwnPropertyNames(value) : Object.keys(value);
	if (isIndexed) keys = keys.filter((key) => !/^(0|[1-9]\d*)$/.test(key));
	const symbols = Object.getOwnPropertySymbols(value).filter((key) => context.showHidden || Object.getOwnPropertyDescriptor(value, key).enumerable);
	const all = [...keys, ...symbols];
	if (context.sorted) all.sort(typeof context.sorted === "function" ? context.sorted : undefined);
	return all;
}

function formatObject(context, value, depth, isTop) {
	const keys = keysOf(context, value);
	const name = className(value);
	let tag = "";
	try {
		const found = value[Symbol.toStringTag];
		if (typeof found === "string" && found !== "" && found !== name && !(value instanceof Promise)) tag = found;
	} catch {
		// A getter that throws names nothing.
	}
	const shape = shapeOf(context, value, name, tag, keys, depth);
	if (shape.text !== undefined) return context.style(shape.text, shape.style);
	if (depth > context.depth) {
		const label = Array.isArray(value) ? "Array" : (name === null ? "Object: null prototype" : (tag ? `${name} [${tag}]` : name));
		return context.style(`[${label}]`, "special");
	}
	context.seen.push(value);
	context.current = depth;
	const output = shape.entries();
	for (const key of shape.keys ?? keys) output.push(formatProperty(context, value, key, depth, false));
	context.seen.pop();
	let { base = "" } = shape;
	if (base !== "") base = context.style(base, shape.style);
	if (context.circular.has(value)) {
		const reference = context.style(`<ref *${context.circular.get(value)}>`, "special");
		if (base === "") shape.braces[0] = `${reference} ${shape.braces[0]}`;
		else base = `${reference} ${base}`;
	}
	return arrange(context, output, base, shape.braces, shape.isArray, depth, value, isTop);
}

function formatProperty(context, value, key, depth, isElement) {
	const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
	let text;
	if (descriptor.get !== undefined || descriptor.set !== undefined) {
		const label = descriptor.get === undefined ? "Setter" : descriptor.set === undefined ? "Getter" : "Getter/Setter";
		text = context.style(`[${label}]`, "special");
		if (context.getters && descriptor.get !== undefined) text = `${text.slice(0, -1)}: ${formatValue(context, value[key], depth + 1)}]`;
	} else text = indented(context, () => formatValue(context, descriptor.value, depth + 1));
	if (isElement) return text;
	let name;
	if (typeof key === "symbol") name = `[${context.style(key.toString(), "symbol")}]`;
	else if (key === "__proto__") name = "['__proto__']";
	else if (descriptor.enumerable === false || (value instanceof Error && (key === "cause" || key === "errors"))) name = `[${key}]`;
	else name = KEY.test(key) ? key : context.style(quote(key), "string");
	return `${name}: ${text}`;
}

const width = (text) => text.replace(/\u001b\[\d+m/g, "").length;

/** Puts the entries on one line or on several. */
function arrange(context, entries, base, braces, isArray, depth, value) {
	let output = entries;
	const before = base === "" ? "" : `${base} `;
	if (context.compact !== true) {
		if (typeof context.compact === "number" && context.compact >= 1) {
			if (isArray && output.length > 6) output = group(context, output, value);
			if (context.current - depth < context.compact && entries.length === output.length) {
				const start = output.length + context.indentation + braces[0].length + base.length + 10;
				const total = output.reduce((sum, one) => sum + width(one), output.length + start);
				const isShort = total <= context.breakLength && (base === "" || !base.includes("\n"));
				if (isShort && !output.some((one) => one.includes("\n"))) return `${before}${braces[0]} ${output.join(", ")} ${braces[1]}`;
			}
		}
		const indentation = `\n${" ".repeat(context.indentation)}`;
		return `${before}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
	}
	return `${before}${braces[0]} ${output.join(", ")} ${braces[1]}`;
}

/** Arranges short elements of a long array in columns. */
function group(context, output, value) {
	const hasMore = context.maxArrayLength < value.length;
	const count = hasMore ? output.length - 1 : output.length;
	const widths = output.slice(0, count).map(width);
	const longest = Math.max(...widths) + 2;
	const total = widths.reduce((sum, one) => sum + one + 2, 0);
	if (!(longest * 3 + context.indentation < context.breakLength && (total / longest > 5 || longest <= 8))) return output;
	const bias = Math.sqrt(longest - total / output.length);
	const biased = Math.max(longest - 3 - bias, 1) > 1 ? Math.max(longest - 2 - bias, 1) : 1;
	const columns = Math.min(
		Math.round(Math.sqrt(2.5 * biased * count) / biased),
		Math.floor((context.breakLength - context.indentation) / longest),
		context.compact * 4, 15,
	);
	if (columns <= 1) return output;
	const columnWidths = Array.from({ length: columns }, (_, column) => {
		let widest = 0;
		for (let at = column; at < count; at += columns) widest = Math.max(widest, widths[at]);
		return widest + 2;
	});
	const isNumeric = Array.prototype.every.call(value, (one) => typeof one === "number" || typeof one === "bigint");
	const rows = [];
	for (let at = 0; at < count; at += columns) {
		const end = Math.min(at + columns, count);
		let row = "";
		for (let index = at; index < end; index++) {
			const isLast = index === end - 1;
			const cell = isLast ? output[index] : `${output[index]}, `;
			const padding = columnWidths[index - at] + output[index].length - widths[index] - (isLast ? 2 : 0);
			if (isNumeric) row += cell.padStart(padding);
			else row += isLast ? cell : cell.padEnd(padding);
		}
		rows.push(row);
	}
	if (hasMore) rows.push(output[count]);
	return rows;
}

inspect.custom = CUSTOM;
inspect.colors = COLORS;
inspect.styles = STYLES;
inspect.defaultOptions = { ...DEFAULTS };

module.exports = { inspect, COLORS };
