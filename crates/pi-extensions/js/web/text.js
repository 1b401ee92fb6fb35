// TextEncoder, TextDecoder and their streams.

const native = require("native:buffer");
const { codeError } = require("pi:node-errors");

class TextEncoder {
	get encoding() { return "utf-8"; }
	encode(text = "") { return native.encode(String(text).toWellFormed(), "utf8"); }
	encodeInto(text, target) {
		let read = 0;
		let written = 0;
		for (const character of String(text)) {
			const bytes = this.encode(character);
			if (written + bytes.length > target.length) break;
			target.set(bytes, written);
			written += bytes.length;
			read += character.length;
		}
		return { read, written };
	}
}
Object.defineProperty(TextEncoder.prototype, Symbol.toStringTag, { value: "TextEncoder", configurable: true });

/** Returns bytes of what decoders accept. */
function bytesOf(input) {
	if (input === undefined) return new Uint8Array(0);
	if (input instanceof Uint8Array) return input;
	if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
	if (input instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && input instanceof SharedArrayBuffer)) return new Uint8Array(input);
	throw codeError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
}

class TextDecoder {
	#encoding;
	#fatal;
	#ignoreBom;
	/** Bytes of an incomplete character, and whether the start is over. */
	#rest = new Uint8Array(0);
	#started = false;

	constructor(label = "utf-8", options = undefined) {
		const name = native.encodingName(String(label));
		if (name === null || name === undefined) throw codeError(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${label}" encoding is not supported`);
		this.#encoding = name;
		this.#fatal = Boolean(options?.fatal);
		this.#ignoreBom = Boolean(options?.ignoreBOM);
	}
	get encoding() { return this.#encoding; }
	get fatal() { return this.#fatal; }
	get ignoreBOM() { return this.#ignoreBom; }

	decode(input = undefined, options = undefined) {
		const stream = Boolean(options?.stream);
		let bytes = bytesOf(input);
		if (this.#rest.length > 0) {
			const joined = new Uint8Array(this.#rest.length + bytes.length);
			joined.set(this.#rest);
			joined.set(bytes, this.#rest.length);
			bytes = joined;
		}
		const complete = stream ? native.completeLength(bytes, this.#encoding) : bytes.length;
		this.#rest = stream ? bytes.slice(complete) : new Uint8Array(0);
		const whole = complete === bytes.length ? bytes : bytes.subarray(0, complete);
		let text = native.decodeText(whole, this.#encoding, this.#fatal);
		if (text === null || text === undefined) {
			this.#rest = new Uint8Array(0);
			this.#started = false;
			throw codeError(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA", `The encoded data was not valid for encoding ${this.#encoding}`);
		}
		if (!this.#started && !this.#ignoreBom && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
		if (complete > 0) this.#started = true;
		if (!stream) this.#started = false;
		return text;
	}
}
Object.defineProperty(TextDecoder.prototype, Symbol.toStringTag, { value: "TextDecoder", configurable: true });

/** A stream class over a transformer that `create` makes. */
class TextEncoderStream {
	#stream;
	constructor() {
		const encoder = new TextEncoder();
		let pending = "";
		this.#stream = new TransformStream({
			transform(chunk, controller) {
				let text = pending + String(chunk);
				const last = text.charCodeAt(text.length - 1);
				const isCut = last >= 0xd800 && last <= 0xdbff;
				pending = isCut ? text.slice(-1) : "";
				if (isCut) text = text.slice(0, -1);
				if (text !== "") controller.enqueue(encoder.encode(text));
			},
			flush(controller) { if (pending !== "") controller.enqueue(encoder.encode(pending)); },
		});
	}
	get encoding() { return "utf-8"; }
	get readable() { return this.#stream.readable; }
	get writable() { return this.#stream.writable; }
}

class TextDecoderStream {
	#stream;
	#decoder;
	constructor(label = "utf-8", options = undefined) {
		const decoder = (this.#decoder = new TextDecoder(label, options));
		this.#stream = new TransformStream({
			transform(chunk, controller) {
				const text = decoder.decode(chunk, { stream: true });
				if (text !== "") controller.enqueue(text);
			},
			flush(controller) {
				const text = decoder.decode();
				if (text !== "") controller.enqueue(text);
			},
		});
	}
	get encoding() { return this.#decoder.encoding; }
	get fatal() { return this.#decoder.fatal; }
	get ignoreBOM() { return this.#decoder.ignoreBOM; }
	get readable() { return this.#stream.readable; }
	get writable() { return this.#stream.writable; }
}

module.exports = { TextEncoder, TextDecoder, TextEncoderStream, TextDecoderStream, bytesOf };
