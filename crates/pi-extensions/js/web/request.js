// Request and Response.

const { Headers } = require("pi:headers");
const { Body, extract, split, take } = require("pi:body");

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
const NULL_BODY = [101, 103, 204, 205, 304];

class Request extends Body {
	#init;
	constructor(input, init = {}) {
		const base = input instanceof Request ? input : undefined;
		const method = String(init.method ?? base?.method ?? "GET");
		const upper = /^(get|head|post|put|delete|options|patch)$/i.test(method) ? method.toUpperCase() : method;
		if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(upper)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
		if (/^(CONNECT|TRACE|TRACK)$/i.test(upper)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
		const hasBody = init.body !== undefined && init.body !== null;
		if (hasBody && (upper === "GET" || upper === "HEAD")) throw new TypeError("Request with GET/HEAD method cannot have body.");
		const source = hasBody ? extract(init.body) : base !== undefined && init.body === undefined ? take(base) : null;
		if (source?.stream !== undefined && hasBody && init.duplex === undefined) {
			throw new TypeError("RequestInit: duplex option is required when sending a body.");
		}
		super(source);
		let url;
		if (base !== undefined) url = base.url;
		else {
			try {
				url = new URL(String(input)).href;
			} catch (error) {
				throw new TypeError(`Failed to parse URL from ${input}`, { cause: error });
			}
		}
		const parsed = new URL(url);
		if (parsed.username || parsed.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${url}`);
		const headers = new Headers(init.headers ?? base?.headers);
		if (source?.type && !headers.has("content-type")) headers.set("content-type", source.type);
		this.#init = {
			url, method: upper, headers,
			redirect: init.redirect ?? base?.redirect ?? "follow",
			signal: init.signal ?? base?.signal ?? new AbortController().signal,
			credentials: init.credentials ?? base?.credentials ?? "same-origin",
			cache: init.cache ?? base?.cache ?? "default",
			mode: init.mode ?? base?.mode ?? "cors",
			referrer: init.referrer ?? "about:client",
			referrerPolicy: init.referrerPolicy ?? "",
			integrity: init.integrity ?? "",
			keepalive: Boolean(init.keepalive),
		};
		if (!["follow", "error", "manual"].includes(this.#init.redirect)) throw new TypeError(`Request constructor: ${init.redirect} is not an accepted type. Expected one of follow, error, manual.`);
	}
	get url() { return this.#init.url; }
	get method() { return this.#init.method; }
	get headers() { return this.#init.headers; }
	get redirect() { return this.#init.redirect; }
	get signal() { return this.#init.signal; }
	get credentials() { return this.#init.credentials; }
	get cache() { return this.#init.cache; }
	get mode() { return this.#init.mode; }
	get destination() { return ""; }
	get referrer() { return this.#init.referrer; }
	get referrerPolicy() { return this.#init.referrerPolicy; }
	get integrity() { return this.#init.integrity; }
	get keepalive() { return this.#init.keepalive; }
	get duplex() { return "half"; }
	clone() {
		const source = split(this);
		const body = source?.bytes ?? source?.stream;
		return new Request(this.url, { ...this.#init, body, duplex: "half" });
	}
	[INSPECT](_depth, _options, inspect) { return `Request ${inspect({ method: this.method, url: this.url, headers: this.headers })}`; }
}

class Response extends Body {
	#init;
	constructor(body = null, init = {}) {
		const source = extract(body);
		const status = init.status === undefined ? 200 : Number(init.status);
		if (!(status >= 200 && status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
		if (source !== null && NULL_BODY.includes(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
		super(source);
		const headers = new Headers(init.headers);
		if (source?.type && !headers.has("content-type")) headers.set("content-type", source.type);
		this.#init = { status, statusText: String(init.statusText ?? ""), headers, type: "default", url: "", redirected: false };
	}
	static json(data, init = {}) {
		const text = JSON.stringify(data);
		if (text === undefined) throw new TypeError("Value is not JSON serializable");
		const headers = new Headers(init.headers);
		if (!headers.has("content-type")) headers.set("content-type", "application/json");
		return new Response(text, { ...init, headers });
	}
	static error() { return create(null, { status: 0, type: "error" }); }
	static redirect(url, status = 302) {
		if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
		return new Response(null, { status, headers: { location: new URL(String(url)).href } });
	}
	get status() { return this.#init.status; }
	get statusText() { return this.#init.statusText; }
	get ok() { return this.status >= 200 && this.status <= 299; }
	get headers() { return this.#init.headers; }
	get type() { return this.#init.type; }
	get url() { return this.#init.url; }
	get redirected() { return this.#init.redirected; }
	clone() {
		const source = split(this);
		return create(source?.bytes ?? source?.stream ?? null, { ...this.#init, headers: new Headers(this.headers) });
	}
	[INSPECT](_depth, _options, inspect) {
		const { status, statusText, headers, url, redirected, ok, type, bodyUsed } = this;
		return `Response ${inspect({ status, statusText, headers, bodyUsed, ok, redirected, type, url })}`;
	}
	/** Creates a response with any status and origin. */
	static create(body, init) {
		const response = new Response(body);
		Object.assign(response.#init, { headers: new Headers() }, init);
		return response;
	}
}
const { create } = Response;
delete Response.create;
for (const [type, name] of [[Request, "Request"], [Response, "Response"]]) {
	Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
}

module.exports = { Request, Response, createResponse: create, NULL_BODY };
