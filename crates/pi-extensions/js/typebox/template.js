// Template literals: the pattern of a string type that is made of parts.

const STRING = ".*";
const NUMBER = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?";
const INTEGER = "-?(?:0|[1-9][0-9]*)";

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Returns the pattern of a name or value between `${` and `}`. */
function partOfName(name) {
	const text = name.trim();
	if (text === "string" || text === "any" || text === "unknown") return STRING;
	if (text === "number") return NUMBER;
	if (text === "integer" || text === "bigint") return INTEGER;
	if (text === "boolean") return "(true|false)";
	return escape(/^(["'`]).*\1$/.test(text) ? text.slice(1, -1) : text);
}

function patternOfText(text) {
	let pattern = "";
	let at = 0;
	for (const match of text.matchAll(/\$\{([^}]*)\}/g)) {
		pattern += escape(text.slice(at, match.index));
		const choices = match[1].split("|");
		pattern += choices.length === 1 ? partOfName(choices[0]) : `(${choices.map(partOfName).join("|")})`;
		at = match.index + match[0].length;
	}
	return pattern + escape(text.slice(at));
}

function patternOfType(type) {
	if (type.const !== undefined) return escape(String(type.const));
	if (type.anyOf !== undefined) return `(${type.anyOf.map(patternOfType).join("|")})`;
	if (type.enum !== undefined) return `(${type.enum.map((value) => escape(String(value))).join("|")})`;
	if (type.pattern !== undefined) return type.pattern.replace(/^\^|\$$/g, "");
	return partOfName(type.type ?? "string");
}

/** Returns the pattern of a template, given as text or as a list of types. */
exports.patternOf = function patternOf(parts) {
	return `^${typeof parts === "string" ? patternOfText(parts) : parts.map(patternOfType).join("")}$`;
};

/** Returns all strings that a pattern of choices and plain text allows; undefined if there is no end. */
exports.finiteValues = function finiteValues(pattern) {
	const body = pattern.replace(/^\^|\$$/g, "");
	if (body.includes(STRING) || body.includes("(?:")) return undefined;
	let values = [""];
	for (const match of body.matchAll(/\(([^()]*)\)|((?:\\.|[^()\\])+)/g)) {
		const choices = (match[1] === undefined ? [match[2]] : match[1].split("|")).map((text) => text.replace(/\\(.)/g, "$1"));
		values = values.flatMap((before) => choices.map((choice) => before + choice));
	}
	return values;
};
