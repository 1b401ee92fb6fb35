// Texts to bytes and back, for Buffer, TextEncoder, TextDecoder and StringDecoder.

const native = require("native:buffer");
const { codeError } = require("pi:node-errors");

const NAMES = {
	utf8: "utf8", "utf-8": "utf8",
	hex: "hex", base64: "base64", base64url: "base64url",
	latin1: "latin1", binary: "latin1", ascii: "ascii",
	ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
};

/** Returns the plain name of an encoding; undefined for an unknown one. */
function normalize(name) {
	if (name === undefined || name === null || name === "") return "utf8";
	return NAMES[name] ?? NAMES[String(name).toLowerCase()];
}

function known(name) {
	const plain = normalize(name);
	if (plain === undefined) throw codeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
	return plain;
}

/** Returns the bytes of a text as a Uint8Array. */
function encode(text, encoding) {
	switch (known(encoding)) {
		case "latin1": case "ascii": {
			const bytes = new Uint8Array(text.length);
			for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
			return bytes;
		}
		case "utf16le": {
			const bytes = new Uint8Array(text.length * 2);
			for (let at = 0; at < text.length; at++) {
				const unit = text.charCodeAt(at);
				bytes[2 * at] = unit;
				bytes[2 * at + 1] = unit >> 8;
			}
			return bytes;
		}
		case "utf8": return native.encode(text.toWellFormed(), "utf8");
		case "hex": return native.encode(text.toWellFormed(), "hex");
		default: return native.encode(text.toWellFormed(), "base64");
	}
}

/** Returns the text of bytes. */
function decode(bytes, encoding) {
	const plain = known(encoding);
	if (plain !== "utf16le") return native.decode(bytes, plain);
	let text = "";
	for (let at = 0; at + 1 < bytes.length; at += 2) text += String.fromCharCode(bytes[at] | (bytes[at + 1] << 8));
	return text;
}

function byteLength(text, encoding) {
	switch (normalize(encoding) ?? "utf8") {
		case "latin1": case "ascii": return text.length;
		case "utf16le": return text.length * 2;
		case "hex": return text.length >>> 1;
		case "utf8": return native.utf8Length(text.toWellFormed());
		default: {
			const body = text.replace(/=+$/, "");
			return (body.length * 3) >>> 2;
		}
	}
}

/** Returns how many bytes fit into `room` without cutting a character. */
function wholeCharacters(bytes, room, encoding) {
	const plain = known(encoding);
	if (plain === "utf16le") return room & ~1;
	if (plain !== "utf8") return room;
	let end = room;
	while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
	return end;
}

module.exports = {
	normalize, encode, decode, byteLength, wholeCharacters,
	isEncoding: (name) => typeof name === "string" && name !== "" && normalize(name) !== undefined,
	compare: (a, b) => native.compare(a, b),
	find: (bytes, part, at, isLast) => native.find(bytes, part, at, isLast),
	isUtf8: (bytes) => native.isUtf8(bytes),
};
