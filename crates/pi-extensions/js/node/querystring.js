// node:querystring.

const escape = (text) => encodeURIComponent(String(text).toWellFormed());

function unescape(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return Buffer.from(text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))), "latin1").toString();
	}
}

function parse(text, separator = "&", equals = "=", options = undefined) {
	const result = Object.create(null);
	if (typeof text !== "string" || text === "") return result;
	const decode = options?.decodeURIComponent ?? module.exports.unescape;
	const limit = options?.maxKeys ?? 1000;
	const parts = text.split(separator);
	for (const part of limit > 0 ? parts.slice(0, limit) : parts) {
		if (part === "") continue;
		const at = part.indexOf(equals);
		const [name, value] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + equals.length)];
		const [key, item] = [name, value].map((one) => decode(one.replaceAll("+", " ")));
		if (!(key in result)) result[key] = item;
		else if (Array.isArray(result[key])) result[key].push(item);
		else result[key] = [result[key], item];
	}
	return result;
}

function primitive(value) {
	if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return String(value);
	return typeof value === "number" && Number.isFinite(value) ? String(value) : "";
}

function stringify(object, separator = "&", equals = "=", options = undefined) {
	if (object === null || typeof object !== "object") return "";
	const encode = options?.encodeURIComponent ?? module.exports.escape;
	const pairs = Object.entries(object).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((item) => `${encode(name)}${equals}${encode(primitive(item))}`));
	return pairs.join(separator);
}

module.exports = { parse, stringify, escape, unescape, decode: parse, encode: stringify };
