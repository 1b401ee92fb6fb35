// Blob, File and FormData.

const { bytesOf } = require("pi:text");

/** Returns the bytes of a part of a blob. */
function partBytes(part) {
	if (part instanceof Blob) return contentOf(part);
	if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return new Uint8Array(bytesOf(part));
	return new TextEncoder().encode(String(part));
}

function concat(parts) {
	const all = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.byteLength;
	}
	return all;
}

let contentOf;

class Blob {
	#bytes;
	#type;
	constructor(parts = [], options = undefined) {
		if (parts === null || typeof parts !== "object" || typeof parts[Symbol.iterator] !== "function") {
			throw new TypeError('The "sources" argument must be a sequence');
		}
		this.#bytes = concat([...parts].map(partBytes));
		const type = String(options?.type ?? "");
		this.#type = /[^\x20-\x7e]/.test(type) ? "" : type.toLowerCase();
	}
	static {
		contentOf = (blob) => blob.#bytes;
	}
	get size() { return this.#bytes.length; }
	get type() { return this.#type; }
	async arrayBuffer() { return this.#bytes.slice().buffer; }
	async bytes() { return this.#bytes.slice(); }
	async text() { return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#bytes); }
	slice(start = 0, end = this.size, type = "") { return new Blob([this.#bytes.slice(start, end)], { type }); }
	stream() {
		const bytes = this.#bytes;
		let at = 0;
		return new ReadableStream({
			type: "bytes",
			pull(controller) {
				if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += 65536)));
				if (at >= bytes.length) controller.close();
			},
		});
	}
}
Object.defineProperty(Blob.prototype, Symbol.toStringTag, { value: "Blob", configurable: true });

class File extends Blob {
	#name;
	#lastModified;
	constructor(parts, name, options = undefined) {
		if (arguments.length < 2) throw new TypeError('The "fileBits" and "fileName" arguments must be specified');
		super(parts, options);
		this.#name = String(name);
		this.#lastModified = Number(options?.lastModified ?? Date.now());
	}
	get name() { return this.#name; }
	get lastModified() { return this.#lastModified; }
	get webkitRelativePath() { return ""; }
}
Object.defineProperty(File.prototype, Symbol.toStringTag, { value: "File", configurable: true });

class FormData {
	#entries = [];
	#value(value, filename) {
		if (!(value instanceof Blob)) return String(value);
		if (value instanceof File && filename === undefined) return value;
		return new File([value], filename ?? "blob", { type: value.type });
	}
	append(name, value, filename) { this.#entries.push([String(name), this.#value(value, filename)]); }
	set(name, value, filename) {
		const key = String(name);
		const at = this.#entries.findIndex(([one]) => one === key);
		const entry = [key, this.#value(value, filename)];
		if (at < 0) this.#entries.push(entry);
		else {
			this.#entries = this.#entries.filter(([one], index) => one !== key || index === at);
			this.#entries[at] = entry;
		}
	}
	delete(name) { this.#entries = this.#entries.filter(([one]) => one !== String(name)); }
	get(name) { return this.#entries.find(([one]) => one === String(name))?.[1] ?? null; }
	getAll(name) { return this.#entries.filter(([one]) => one === String(name)).map(([, value]) => value); }
	has(name) { return this.#entries.some(([one]) => one === String(name)); }
	forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
	*entries() { yield* this.#entries.map(([name, value]) => [name, value]); }
	*keys() { for (const [name] of this.#entries) yield name; }
	*values() { for (const [, value] of this.#entries) yield value; }
	[Symbol.iterator]() { return this.entries(); }
}
Object.defineProperty(FormData.prototype, Symbol.toStringTag, { value: "FormData", configurable: true });

const quote = (text) => text.replace(/\r\n?|\n/g, "%0D%0A").replace(/"/g, "%22");

/** Returns the body of a form and its content type. */
function encodeForm(form) {
	const boundary = `----formdata-pi-${Math.random().toString().slice(2, 14).padStart(12, "0")}`;
	const encoder = new TextEncoder();
	const parts = [];
	for (const [name, value] of form) {
		let head = `--${boundary}\r\nContent-Disposition: form-data; name="${quote(name)}"`;
		if (typeof value === "string") {
			parts.push(encoder.encode(`${head}\r\n\r\n${value.replace(/\r\n?|\n/g, "\r\n")}\r\n`));
			continue;
		}
		head += `; filename="${quote(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`;
		parts.push(encoder.encode(head), contentOf(value), encoder.encode("\r\n"));
	}
	parts.push(encoder.encode(`--${boundary}--\r\n`));
	return { bytes: concat(parts), type: `multipart/form-data; boundary=${boundary}` };
}

/** Reads a form from a body. */
function decodeForm(bytes, type) {
	const form = new FormData();
	if (/^application\/x-www-form-urlencoded/i.test(type)) {
		for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes))) form.append(name, value);
		return form;
	}
	const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
	if (!/^multipart\/form-data/i.test(type) || boundary === undefined) {
		throw new TypeError('Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".');
	}
	const text = Buffer.from(bytes).toString("latin1");
	for (const part of text.split(`--${boundary}`).slice(1, -1)) {
		const split = part.indexOf("\r\n\r\n");
		const head = Buffer.from(part.slice(2, split), "latin1").toString();
		const body = Buffer.from(part.slice(split + 4, -2), "latin1");
		const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
		const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
		if (filename === undefined) form.append(name, body.toString());
		else form.append(name, new File([body], filename, { type: /content-type:\s*(\S+)/i.exec(head)?.[1] ?? "" }));
	}
	return form;
}

module.exports = { Blob, File, FormData, encodeForm, decodeForm, contentOf };
