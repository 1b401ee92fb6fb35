// Bodies of requests and responses.

const { ReadableStream, isDisturbed } = require("pi:readable-stream");
const { Blob, FormData, encodeForm, decodeForm, contentOf } = require("pi:blob");
const { bytesOf } = require("pi:text");

/** Returns { bytes | stream, type } of what a caller passes as a body; null for none. */
function extract(body) {
	if (body === undefined || body === null) return null;
	if (typeof body === "string") return { bytes: new TextEncoder().encode(body), type: "text/plain;charset=UTF-8" };
	if (body instanceof URLSearchParams) return { bytes: new TextEncoder().encode(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
	if (body instanceof Blob) return { bytes: contentOf(body), type: body.type || null };
	if (body instanceof FormData) return encodeForm(body);
	if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { bytes: bytesOf(body).slice(), type: null };
	if (body instanceof ReadableStream) {
		if (body.locked || isDisturbed(body)) throw new TypeError("Response body object should not be disturbed or locked");
		return { stream: body, type: null };
	}
	if (typeof body[Symbol.asyncIterator] === "function") return { stream: ReadableStream.from(body), type: null };
	return { bytes: new TextEncoder().encode(String(body)), type: "text/plain;charset=UTF-8" };
}

async function readAll(stream) {
	const reader = stream.getReader();
	const chunks = [];
	let size = 0;
	for (;;) {
		const { value, done } = await reader.read();
		if (done) break;
		if (!(value instanceof Uint8Array)) throw new TypeError("Received non-Uint8Array chunk");
		chunks.push(value);
		size += value.length;
	}
	if (chunks.length === 1) return chunks[0];
	const all = new Uint8Array(size);
	let at = 0;
	for (const chunk of chunks) {
		all.set(chunk, at);
		at += chunk.length;
	}
	return all;
}

/** A request or a response with a body. */
class Body {
	#source;
	#stream;
	#isUsed = false;
	constructor(source) { this.#source = source; }

	get body() {
		if (this.#source === null) return null;
		if (this.#stream === undefined) {
			const { bytes, stream } = this.#source;
			this.#stream = stream ?? new ReadableStream({
				type: "bytes",
				start(controller) {
					if (bytes.length > 0) controller.enqueue(bytes.slice());
					controller.close();
				},
			});
		}
		return this.#stream;
	}
	get bodyUsed() { return this.#isUsed || (this.#stream !== undefined && isDisturbed(this.#stream)); }

	/** Returns the content; a second time it is an error. */
	async bytes() {
		if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
		if (this.#source === null) return new Uint8Array(0);
		if (this.#stream?.locked) throw new TypeError("Body is unusable: Body is locked");
		this.#isUsed = true;
		if (this.#stream === undefined && this.#source.bytes !== undefined) return this.#source.bytes.slice();
		return readAll(this.body);
	}
	async arrayBuffer() {
		const bytes = await this.bytes();
		return bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
	}
	async text() { return new TextDecoder().decode(await this.bytes()); }
	async json() { return JSON.parse(await this.text()); }
	async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
	async formData() { return decodeForm(await this.bytes(), this.headers.get("content-type") ?? ""); }

	/** Splits the body for a clone. */
	static split(body) {
		if (body.bodyUsed || body.#stream?.locked) throw new TypeError(`${body.constructor.name}.clone: Body has already been consumed.`);
		const source = body.#source;
		if (source === null || (source.bytes !== undefined && body.#stream === undefined)) return source;
		const [first, second] = body.body.tee();
		body.#stream = first;
		body.#source = { stream: first, type: source.type };
		return { stream: second, type: source.type };
	}
	/** Takes the body for sending. */
	static take(body) {
		if (body.bodyUsed) throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
		const source = body.#source;
		if (source !== null) body.#isUsed = true;
		return body.#stream === undefined ? source : { stream: body.#stream, type: source.type };
	}
}
const { split, take } = Body;
delete Body.split;
delete Body.take;

module.exports = { Body, extract, split, take };
