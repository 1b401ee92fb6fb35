// Messages of the engine's own errors in the words of V8, which extensions match on.

const native = require("native:modules");

const PATTERNS = [
	[/^cannot read property '(.*)' of (null|undefined)$/s, "Cannot read properties of $2 (reading '$1')"],
	[/^cannot set property '(.*)' of (null|undefined)$/s, "Cannot set properties of $2 (setting '$1')"],
	[/^'(.*)' is not defined$/s, "$1 is not defined"],
	[/^(?:lexical variable )?'?([^' ]+)'? is not initialized$/s, "Cannot access '$1' before initialization"],
	[/^'(.*)' is read-only$/s, "Assignment to constant variable."],
	[/^(.*) is not a constructor$/s, "$1 is not a constructor"],
];
const EXACT = {
	"invalid array length": "Invalid array length",
	"empty array": "Reduce of empty array with no initial value",
	"cannot convert to object": "Cannot convert undefined or null to object",
	"circular reference": "Converting circular structure to JSON",
	"invalid repeat count": "Invalid count value",
	"invalid string length": "Invalid string length",
	"Date value is NaN": "Invalid time value",
	"invalid 'instanceof' right operand": "Right-hand side of 'instanceof' is not callable",
	"malformed UTF-8": "URI malformed",
	"expecting hex digit": "URI malformed",
	"expecting %": "URI malformed",
	"cannot convert BigInt to number": "Cannot mix BigInt and other types, use explicit conversions",
	"cannot convert symbol to string": "Cannot convert a Symbol value to a string",
	"cannot convert symbol to number": "Cannot convert a Symbol value to a number",
};
/** Messages that lack the name of the value; the source has it. */
const NAMELESS = { "not a function": "is not a function", "not a constructor": "is not a constructor", "value is not iterable": "is not iterable", "not iterable": "is not iterable" };

/** Replaces the message of an error that the engine made. */
exports.rewrite = function rewrite(error, frames) {
	const descriptor = Object.getOwnPropertyDescriptor(error, "message");
	const message = descriptor?.value;
	if (typeof message !== "string") return;
	const text = replacement(message, frames);
	if (text !== undefined && text !== message) Object.defineProperty(error, "message", { ...descriptor, value: text });
};

function replacement(message, frames) {
	const first = message.charCodeAt(0);
	// Most messages of extensions begin with a capital letter.
	if (first >= 65 && first <= 90 && !message.startsWith("Date ")) return undefined;
	if (Object.hasOwn(EXACT, message)) return EXACT[message];
	if (Object.hasOwn(NAMELESS, message)) {
		const name = calleeAt(frames, message);
		return name === undefined ? undefined : `${name} ${NAMELESS[message]}`;
	}
	if (message === "class constructors must be invoked with 'new'") {
		return `Class constructor ${calleeAt(frames, message) ?? ""} cannot be invoked without 'new'`.replace("  ", " ");
	}
	for (const [pattern, text] of PATTERNS) if (pattern.test(message)) return message.replace(pattern, text);
	return undefined;
}

/** Returns the expression that was called where an error was thrown. */
function calleeAt(frames, message) {
	const frame = frames.find((one) => !one.isNative());
	const file = frame?.getFileName();
	if (!file?.startsWith("/")) return undefined;
	const [line, column] = native.originalPosition(file, frame.getLineNumber(), frame.getColumnNumber());
	const source = native.sourceLine(file, line);
	if (typeof source !== "string") return undefined;
	return expressionAt(source, column - 1, message);
}

const CHAIN = /[\p{ID_Start}$_#][\p{ID_Continue}$]*(?:\s*\??\.\s*#?[\p{ID_Start}$_][\p{ID_Continue}$]*|\[(?:\d+|"[^"]*"|'[^']*')\])*$/u;

/** Returns the chain of names that ends before the call at a column. */
function expressionAt(source, column, message) {
	if (message.includes("iterable")) {
		const matches = [...source.matchAll(/(?:\bof\s+|\.\.\.|[\])}]\s*=\s*)([\p{ID_Start}$_][\p{ID_Continue}$.]*)/gu)];
		return (matches.findLast((match) => match.index <= column) ?? matches[0])?.[1];
	}
	const rest = source.slice(column);
	// The position is that of the parenthesis, of the name, or of the last member.
	const end = rest.startsWith("(") ? column : column + (/^(?:new\s+)?[?.]*\s*#?[\p{ID_Continue}$.[\]"']*/u.exec(rest)?.[0].length ?? 0);
	const before = source.slice(0, end).replace(/\?\.$/, "").trimEnd();
	if (/^\s*(?:new\s+)?(?:Type|Range|Reference)?Error\b/.test(rest)) return undefined;
	const chain = CHAIN.exec(before)?.[0].replace(/\s+/g, "");
	if (chain === undefined) return undefined;
	const preceding = before.slice(0, before.length - CHAIN.exec(before)[0].length);
	return /[)\]]\s*\??\.?\s*$/.test(preceding) && /^\.|[)\]]\s*\??\.\s*$/.test(preceding.slice(-2)) ? `(intermediate value).${chain}` : chain;
}
