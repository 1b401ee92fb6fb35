// node:string_decoder: texts from chunks that may cut characters.

const encodings = require("pi:encodings");
const { codeError } = require("pi:node-errors");
const native = require("native:buffer");

class StringDecoder {
	#rest = new Uint8Array(0);
	constructor(encoding) {
		const name = encodings.normalize(encoding);
		if (name === undefined) throw codeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
		this.encoding = name;
	}
	#complete(bytes) {
		switch (this.encoding) {
			case "utf8": return native.completeLength(bytes, "utf-8");
			case "utf16le": return native.completeLength(bytes, "utf-16le");
			case "base64": case "base64url": return bytes.length - (bytes.length % 3);
			default: return bytes.length;
		}
	}
	get lastNeed() { return this.#rest.length; }
	write(chunk) {
		if (typeof chunk === "string") return chunk;
		let bytes = chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
		if (this.#rest.length > 0) {
			const joined = new Uint8Array(this.#rest.length + bytes.length);
			joined.set(this.#rest);
			joined.set(bytes, this.#rest.length);
			bytes = joined;
		}
		const end = this.#complete(bytes);
		this.#rest = end === bytes.length ? new Uint8Array(0) : bytes.slice(end);
		return encodings.decode(end === bytes.length ? bytes : bytes.subarray(0, end), this.encoding);
	}
	end(chunk) {
		const text = chunk === undefined ? "" : this.write(chunk);
		const rest = this.#rest;
		this.#rest = new Uint8Array(0);
		return rest.length === 0 ? text : text + encodings.decode(rest, this.encoding);
	}
}

module.exports = { StringDecoder };
