// WebSocket over an upgraded HTTP connection.

const native = require("native:net");
const { Event, EventTarget, defineHandler } = require("pi:event");
const { MessageEvent } = require("pi:clone");

class CloseEvent extends Event {
	constructor(type, { code = 0, reason = "", wasClean = false } = {}) {
		super(type);
		Object.assign(this, { code, reason, wasClean });
	}
}

class ErrorEvent extends Event {
	constructor(type, { message = "", error = null } = {}) {
		super(type);
		Object.assign(this, { message, error });
	}
}

const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
/** Largest message that is put together. */
const MAX_MESSAGE = 64 * 1024 * 1024;

class WebSocket extends EventTarget {
	#url;
	#state = CONNECTING;
	#socket;
	#protocol = "";
	#pending = Promise.resolve();
	#buffered = 0;
	binaryType = "blob";

	constructor(url, protocols = []) {
		super();
		let parsed;
		try {
			parsed = new URL(String(url));
		} catch {
			throw new DOMException(`Invalid URL for WebSocket ${url}`, "SyntaxError");
		}
		parsed.protocol = parsed.protocol.replace(/^http/, "ws");
		if (!/^wss?:$/.test(parsed.protocol) || parsed.hash !== "") throw new DOMException("Expected a ws: or wss: protocol", "SyntaxError");
		this.#url = parsed.href;
		const options = Array.isArray(protocols) || typeof protocols === "string" ? { protocols } : protocols;
		void this.#open(parsed, [options.protocols ?? []].flat(), options.headers ?? {});
	}
	get url() { return this.#url; }
	get readyState() { return this.#state; }
	get protocol() { return this.#protocol; }
	get extensions() { return ""; }
	get bufferedAmount() { return this.#buffered; }

	async #open(url, protocols, extra) {
		const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
		const headers = [
			["connection", "Upgrade"], ["upgrade", "websocket"], ["sec-websocket-version", "13"], ["sec-websocket-key", key],
			...(protocols.length > 0 ? [["sec-websocket-protocol", protocols.join(", ")]] : []), ...Object.entries(extra),
		];
		const isSecure = url.protocol === "wss:";
		try {
			const facts = await native.upgrade({
				url: this.#url.replace(/^ws/, "http"), host: url.hostname, port: Number(url.port) || (isSecure ? 443 : 80), headers,
			});
			const get = (name) => facts.headers.find(([one]) => one === name)?.[1];
			const expected = require("node:crypto").createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
			if (get("sec-websocket-accept") !== expected) throw new Error("Incorrect hash received in Sec-WebSocket-Accept header.");
			this.#protocol = get("sec-websocket-protocol") ?? "";
			this.#socket = facts.id;
		} catch (error) {
			this.#fail(error);
			return;
		}
		if (this.#state !== CONNECTING) return this.#finish(1006, "", false);
		this.#state = OPEN;
		this.dispatchEvent(new Event("open"));
		await this.#receive();
	}

	#fail(error) {
		this.dispatchEvent(new ErrorEvent("error", { message: error.message, error }));
		this.#finish(1006, "", false);
	}

	#finish(code, reason, wasClean) {
		if (this.#state === CLOSED) return;
		this.#state = CLOSED;
		if (this.#socket !== undefined) native.close(this.#socket);
		this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean }));
	}

	/** Reads frames until the connection ends. */
	async #receive() {
		let buffer = Buffer.alloc(0);
		let parts = [];
		let kind = 0;
		try {
			for (;;) {
				const frame = parseFrame(buffer);
				if (frame === undefined) {
					const bytes = await native.read(this.#socket);
					if (bytes === undefined || bytes === null) return this.#finish(1006, "", false);
					buffer = Buffer.concat([buffer, bytes]);
					if (buffer.length > MAX_MESSAGE) throw new Error("the message is too large");
					continue;
				}
				buffer = buffer.subarray(frame.length);
				if (frame.code === 8) {
					const code = frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : 1005;
					if (this.#state === OPEN) await this.#send(8, frame.payload);
					return this.#finish(code, frame.payload.subarray(2).toString(), true);
				}
				if (frame.code === 9) void this.#send(10, frame.payload);
				if (frame.code > 2) continue;
				if (frame.code !== 0) kind = frame.code;
				parts.push(frame.payload);
				if (parts.reduce((sum, part) => sum + part.length, 0) > MAX_MESSAGE) throw new Error("the message is too large");
				if (!frame.isFinal) continue;
				this.#deliver(kind, Buffer.concat(parts));
				parts = [];
			}
		} catch (error) {
			return this.#fail(error);
		}
	}

	#deliver(kind, bytes) {
		let data;
		if (kind === 1) data = bytes.toString();
		else if (this.binaryType === "arraybuffer") data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
		else data = new Blob([bytes]);
		this.dispatchEvent(new MessageEvent("message", { data, origin: new URL(this.#url).origin }));
	}

	#send(code, payload) {
		const frame = createFrame(code, payload);
		this.#buffered += payload.length;
		this.#pending = this.#pending.then(() => native.write(this.#socket, frame)).then(
			() => { this.#buffered -= payload.length; },
			(error) => this.#fail(error),
		);
		return this.#pending;
	}

	send(data) {
		if (this.#state === CONNECTING) throw new DOMException("Sent before connected.", "InvalidStateError");
		if (this.#state !== OPEN) return;
		if (typeof data === "string") void this.#send(1, Buffer.from(data));
		else if (data instanceof Blob) this.#pending = this.#pending.then(() => data.bytes()).then((bytes) => { void this.#send(2, Buffer.from(bytes)); });
		else void this.#send(2, Buffer.from(ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)));
	}

	close(code = undefined, reason = "") {
		if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException("invalid code", "InvalidAccessError");
		if (this.#state === CLOSING || this.#state === CLOSED) return;
		if (this.#state === CONNECTING) {
			this.#state = CLOSING;
			return;
		}
		this.#state = CLOSING;
		const text = Buffer.from(reason);
		const payload = code === undefined ? Buffer.alloc(0) : Buffer.concat([Buffer.from([code >> 8, code & 255]), text]);
		void this.#send(8, payload);
		setTimeout(() => this.#finish(1006, "", false), 3000).unref();
	}
}
for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED })) {
	Object.defineProperty(WebSocket, name, { value, enumerable: true });
	Object.defineProperty(WebSocket.prototype, name, { value, enumerable: true });
}
for (const type of ["open", "message", "error", "close"]) defineHandler(WebSocket.prototype, type);

/** Returns the first frame of a buffer; undefined if it is not complete. */
function parseFrame(buffer) {
	if (buffer.length < 2) return undefined;
	const isFinal = (buffer[0] & 0x80) !== 0;
	const isMasked = (buffer[1] & 0x80) !== 0;
	let size = buffer[1] & 0x7f;
	let at = 2;
	if (size === 126) {
		if (buffer.length < 4) return undefined;
		size = buffer.readUInt16BE(2);
		at = 4;
	} else if (size === 127) {
		if (buffer.length < 10) return undefined;
		size = Number(buffer.readBigUInt64BE(2));
		at = 10;
	}
	if (size > MAX_MESSAGE) throw new Error("the message is too large");
	const mask = isMasked ? buffer.subarray(at, (at += 4)) : undefined;
	if (buffer.length < at + size) return undefined;
	const payload = Buffer.from(buffer.subarray(at, at + size));
	if (mask !== undefined) for (let index = 0; index < size; index++) payload[index] ^= mask[index % 4];
	return { code: buffer[0] & 0x0f, isFinal, payload, length: at + size };
}

function createFrame(code, payload) {
	const size = payload.length;
	const head = size < 126 ? [size] : size < 65536 ? [126, size >> 8, size & 255] : [127, ...Buffer.from(new BigUint64Array([BigInt(size)]).buffer).reverse()];
	head[0] |= 0x80;
	const mask = crypto.getRandomValues(new Uint8Array(4));
	const body = Buffer.from(payload);
	for (let index = 0; index < size; index++) body[index] ^= mask[index % 4];
	return Buffer.concat([Buffer.from([0x80 | code, ...head]), Buffer.from(mask), body]);
}

module.exports = { WebSocket, CloseEvent, ErrorEvent };
