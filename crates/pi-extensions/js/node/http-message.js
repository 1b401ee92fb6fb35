// What HTTP messages share: IncomingMessage, OutgoingMessage's headers, and the parser.

const { Buffer } = require("node:buffer");
const { Readable, Writable } = require("node:stream");
const { codeError } = require("pi:node-errors");

const STATUS_CODES = {
	100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
	300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Entity", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported", 507: "Insufficient Storage", 511: "Network Authentication Required",
};

const SINGLE = new Set(["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server", "user-agent"]);

/** Returns headers as Node has them: lower-case names, lists joined. */
function headersOf(pairs) {
	const headers = {};
	for (const [name, value] of pairs) {
		const key = name.toLowerCase();
		if (key === "set-cookie") (headers[key] ??= []).push(value);
		else if (headers[key] === undefined) headers[key] = value;
		else if (!SINGLE.has(key)) headers[key] += `${key === "cookie" ? "; " : ", "}${value}`;
	}
	return headers;
}

/** A request that a server received, or the response to a client's. */
class IncomingMessage extends Readable {
	httpVersion = "1.1";
	httpVersionMajor = 1;
	httpVersionMinor = 1;
	complete = false;
	aborted = false;
	trailers = {};
	rawTrailers = [];
	constructor(socket, pairs = [], options = undefined) {
		super(options);
		this.socket = this.connection = socket;
		this.rawHeaders = pairs.flat();
		this.headers = headersOf(pairs);
	}
	get headersDistinct() {
		const all = {};
		for (let at = 0; at < this.rawHeaders.length; at += 2) (all[this.rawHeaders[at].toLowerCase()] ??= []).push(this.rawHeaders[at + 1]);
		return all;
	}
	_read() {}
	setTimeout(milliseconds, callback) {
		this.socket?.setTimeout?.(milliseconds, callback);
		return this;
	}
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Headers of a message to send; a base of requests and responses. */
class OutgoingMessage extends Writable {
	#headers = new Map();
	headersSent = false;
	sendDate = true;
	finished = false;
	setHeader(name, value) {
		if (this.headersSent) throw codeError(Error, "ERR_HTTP_HEADERS_SENT", "Cannot set headers after they are sent to the client");
		if (typeof name !== "string" || !TOKEN.test(name)) throw codeError(TypeError, "ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${name}"]`);
		if (value === undefined) throw codeError(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
		for (const one of Array.isArray(value) ? value : [value]) {
			if (/[^\t\x20-\x7e\x80-\xff]/.test(String(one))) throw codeError(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
		}
		this.#headers.set(name.toLowerCase(), { name, value });
		return this;
	}
	setHeaders(headers) {
		for (const [name, value] of headers) this.setHeader(name, value);
		return this;
	}
	appendHeader(name, value) {
		const before = this.getHeader(name);
		return this.setHeader(name, before === undefined ? value : [before, value].flat());
	}
	getHeader(name) { return this.#headers.get(name.toLowerCase())?.value; }
	hasHeader(name) { return this.#headers.has(name.toLowerCase()); }
	removeHeader(name) { this.#headers.delete(name.toLowerCase()); }
	getHeaderNames() { return [...this.#headers.keys()]; }
	getRawHeaderNames() { return [...this.#headers.values()].map(({ name }) => name); }
	getHeaders() { return Object.fromEntries([...this.#headers].map(([name, { value }]) => [name, value])); }
	/** Names and values, lists as several headers. */
	get headerPairs() {
		return [...this.#headers.values()].flatMap(({ name, value }) => (Array.isArray(value) ? value : [value]).map((one) => [name, String(one)]));
	}
	addTrailers() {}
	flushHeaders() {}
	setTimeout(milliseconds, callback) {
		this.socket?.setTimeout?.(milliseconds, callback);
		return this;
	}
	end(...args) {
		this.finished = true;
		return super.end(...args);
	}
}

const MAX_HEAD = 64 * 1024;

/** Reads messages from chunks: `onHead(line, pairs)`, `onBody(bytes)`, `onEnd()`, `onError(error)`. */
class Parser {
	#buffer = Buffer.alloc(0);
	#state = "head";
	#left = 0;
	#handlers;
	constructor(handlers) { this.#handlers = handlers; }

	push(chunk) {
		this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
		try {
			while (this.#step());
		} catch (error) {
			this.#state = "failed";
			this.#handlers.onError(error);
		}
	}

	/** The connection has ended: completes a body without a length. */
	end() {
		if (this.#state === "rest") this.#handlers.onEnd();
		else if (this.#state !== "head" || this.#buffer.length > 0) this.#handlers.onError(codeError(Error, "ECONNRESET", "aborted"));
	}

	/** Returns what came after the last message, for an upgraded connection. */
	take() {
		this.#state = "failed";
		return this.#buffer;
	}

	#step() {
		switch (this.#state) {
			case "head": return this.#head();
			case "body": return this.#body(() => this.#finish());
			case "chunk": return this.#body(() => { this.#state = "chunkEnd"; });
			case "chunkEnd": return this.#line(() => { this.#state = "size"; });
			case "size": return this.#line((line) => {
				const size = Number.parseInt(line, 16);
				if (!(size >= 0)) throw codeError(Error, "HPE_INVALID_CHUNK_SIZE", "Parse Error: Invalid character in chunk size");
				this.#left = size;
				this.#state = size === 0 ? "trailers" : "chunk";
			});
			case "trailers": return this.#line((line) => { if (line === "") this.#finish(); });
			case "rest":
				if (this.#buffer.length > 0) this.#handlers.onBody(this.#buffer);
				this.#buffer = Buffer.alloc(0);
				return false;
			default: return false;
		}
	}

	#head() {
		const end = this.#buffer.indexOf("\r\n\r\n");
		if (end < 0) {
			if (this.#buffer.length > MAX_HEAD) throw codeError(Error, "HPE_HEADER_OVERFLOW", "Parse Error: Header overflow");
			return false;
		}
		const [line, ...lines] = this.#buffer.subarray(0, end).toString("latin1").split("\r\n");
		this.#buffer = this.#buffer.subarray(end + 4);
		const pairs = lines.map((text) => {
			const at = text.indexOf(":");
			if (at <= 0) throw codeError(Error, "HPE_INVALID_HEADER_TOKEN", "Parse Error: Invalid header token");
			return [text.slice(0, at), text.slice(at + 1).trim()];
		});
		const get = (name) => pairs.find(([key]) => key.toLowerCase() === name)?.[1];
		const length = get("content-length");
		if (length !== undefined && !/^\d+$/.test(length)) throw codeError(Error, "HPE_INVALID_CONTENT_LENGTH", "Parse Error: Invalid character in Content-Length");
		const isChunked = /\bchunked\b/i.test(get("transfer-encoding") ?? "");
		const kind = this.#handlers.onHead(line, pairs);
		if (kind === "upgrade") {
			this.#state = "failed";
			return false;
		}
		if (kind === "none") this.#finish();
		else if (isChunked) this.#state = "size";
		else if (length !== undefined) {
			this.#left = Number(length);
			this.#state = "body";
			if (this.#left === 0) this.#finish();
		} else if (kind === "rest") this.#state = "rest";
		else this.#finish();
		return true;
	}

	#body(done) {
		if (this.#buffer.length === 0) return false;
		const part = this.#buffer.subarray(0, this.#left);
		this.#buffer = this.#buffer.subarray(part.length);
		this.#left -= part.length;
		this.#handlers.onBody(part);
		if (this.#left === 0) done();
		return true;
	}

	#line(use) {
		const end = this.#buffer.indexOf("\r\n");
		if (end < 0) return false;
		const line = this.#buffer.subarray(0, end).toString("latin1");
		this.#buffer = this.#buffer.subarray(end + 2);
		use(line);
		return true;
	}

	#finish() {
		this.#state = "head";
		this.#handlers.onEnd();
	}
}

module.exports = { STATUS_CODES, IncomingMessage, OutgoingMessage, Parser, headersOf };
