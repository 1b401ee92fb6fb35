// http.request and https.request over the program's HTTP client; over a socket for a path.

const native = require("native:http");
const { Buffer } = require("node:buffer");
const { IncomingMessage, OutgoingMessage, Parser, STATUS_CODES } = require("pi:http-message");
const { pauseUntilRead } = require("pi:http-server");
const { codeError } = require("pi:node-errors");

/** Agents keep no state here: the client has pools of its own. */
class Agent {
	constructor(options = {}) {
		this.options = options;
		this.maxSockets = options.maxSockets ?? Infinity;
		this.keepAlive = Boolean(options.keepAlive);
		this.sockets = {};
		this.requests = {};
		this.freeSockets = {};
	}
	destroy() {}
	getName({ host, port }) { return `${host}:${port}:`; }
}

/** Turns (url, options) into one object. */
function optionsOf(input, options, scheme) {
	let url;
	if (typeof input === "string") url = new URL(input);
	else if (input instanceof URL) url = input;
	const settings = url === undefined ? { ...input } : { ...options };
	if (url !== undefined) {
		settings.protocol ??= url.protocol;
		settings.hostname ??= url.hostname.replace(/^\[|\]$/g, "");
		settings.port ??= url.port;
		settings.path ??= url.pathname + url.search;
		if (url.username && settings.auth === undefined) settings.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
	}
	settings.protocol ??= scheme;
	if (settings.protocol !== scheme) {
		throw codeError(TypeError, "ERR_INVALID_PROTOCOL", `Protocol "${settings.protocol}" not supported. Expected "${scheme}"`);
	}
	settings.hostname = settings.hostname ?? settings.host ?? "localhost";
	settings.port = Number(settings.port) || Number(settings.defaultPort) || (scheme === "https:" ? 443 : 80);
	settings.path ??= "/";
	if (/[^\x21-\xff]/.test(settings.path)) throw codeError(TypeError, "ERR_UNESCAPED_CHARACTERS", "Request path contains unescaped characters");
	settings.method = String(settings.method ?? "GET").toUpperCase();
	return settings;
}

class ClientRequest extends OutgoingMessage {
	#settings;
	#id;
	#isSent = false;
	#chunks = [];
	#timer;
	#timeout = 0;
	aborted = false;
	reusedSocket = false;
	constructor(input, options, callback, scheme) {
		// The request lives until its response has ended.
		super({ autoDestroy: false });
		const settings = (this.#settings = optionsOf(input, options, scheme));
		this.method = settings.method;
		this.path = settings.path;
		this.host = settings.hostname;
		this.protocol = settings.protocol;
		this.agent = settings.agent;
		const headers = settings.headers ?? {};
		const pairs = Array.isArray(headers) ? pairsOf(headers) : headers instanceof Headers ? [...headers] : Object.entries(headers);
		for (const [name, value] of pairs) if (value !== undefined) this.setHeader(name, value);
		if (settings.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", `Basic ${Buffer.from(settings.auth).toString("base64")}`);
		if (callback !== undefined) this.once("response", callback);
		if (settings.timeout) this.setTimeout(settings.timeout);
		const { signal } = settings;
		if (signal?.aborted) queueMicrotask(() => this.destroy(abortErrorOf(signal)));
		else signal?.addEventListener("abort", () => this.destroy(abortErrorOf(signal)), { once: true });
		this.socket = this.connection = null;
		queueMicrotask(() => { if (!this.destroyed) this.emit("socket", fakeSocket(this)); });
	}
	get url() {
		const { protocol, hostname, port, path } = this.#settings;
		const host = hostname.includes(":") ? `[${hostname}]` : hostname;
		return `${protocol}//${host}:${port}${path.startsWith("/") ? path : `/${path}`}`;
	}
	setTimeout(milliseconds, callback) {
		this.#timeout = milliseconds;
		if (callback !== undefined) this.once("timeout", callback);
		clearTimeout(this.#timer);
		if (milliseconds > 0) this.#timer = setTimeout(() => this.emit("timeout"), milliseconds);
		return this;
	}
	setNoDelay() {}
	setSocketKeepAlive() {}
	flushHeaders() { if (!this.#isSent) this.#send(true); }
	abort() {
		this.aborted = true;
		this.emit("abort");
		this.destroy();
	}
	_write(chunk, _encoding, callback) {
		// Small bodies are sent in one piece, with their length.
		if (!this.#isSent && this.#chunks.reduce((sum, one) => sum + one.length, chunk.length) <= 65536) {
			this.#chunks.push(chunk);
			return callback();
		}
		if (!this.#isSent) this.#send(true);
		return native.sendChunk(this.#id, chunk).then(() => callback(), callback);
	}
	_final(callback) {
		if (this.#isSent) native.endBody(this.#id);
		else this.#send(false);
		callback();
	}
	#send(isStream) {
		this.#isSent = true;
		this.headersSent = true;
		const { hostname, port, socketPath, method } = this.#settings;
		const bytes = Buffer.concat(this.#chunks);
		if (socketPath !== undefined) return this.#sendOver(socketPath, bytes);
		this.#id = native.open();
		const headers = this.headerPairs.filter(([name]) => !/^(connection|keep-alive|transfer-encoding|content-length)$/i.test(name));
		if (!this.hasHeader("accept-encoding")) headers.push(["accept-encoding", "identity"]);
		const hasBody = bytes.length > 0 || !/^(GET|HEAD|DELETE|OPTIONS)$/.test(method);
		const options = { url: this.url, host: hostname, port, method, headers, isStream };
		let sending;
		try {
			sending = native.send(this.#id, options, isStream || !hasBody ? undefined : bytes);
		} catch (error) {
			sending = Promise.reject(error);
		}
		if (isStream) for (const chunk of this.#chunks) void native.sendChunk(this.#id, chunk);
		sending.then((head) => this.#respond(head), (error) => this.#fail(error));
		return undefined;
	}
	#fail(error) {
		clearTimeout(this.#timer);
		if (this.destroyed) return;
		const code = error.systemCode;
		const { hostname, port } = this.#settings;
		if (code === undefined) return void this.destroy(error);
		const call = code === "ENOTFOUND" ? "getaddrinfo" : "connect";
		const failure = codeError(Error, code, code === "ENOTFOUND" ? `getaddrinfo ENOTFOUND ${hostname}` : `${call} ${code} ${hostname}:${port}`);
		Object.assign(failure, { syscall: call, hostname, address: hostname, port });
		this.destroy(failure);
	}
	#respond({ status, statusText, headers }) {
		clearTimeout(this.#timer);
		if (this.destroyed) return native.cancel(this.#id);
		const id = this.#id;
		const response = new IncomingMessage(fakeSocket(this), headers);
		Object.assign(response, { statusCode: status, statusMessage: statusText, req: this, url: "" });
		let isReading = false;
		response._read = () => {
			if (isReading) return;
			isReading = true;
			native.readChunk(id).then((chunk) => {
				isReading = false;
				if (chunk === undefined || chunk === null) {
					response.complete = true;
					native.cancel(id);
					response.push(null);
				} else response.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
			}, () => {
				response.aborted = true;
				response.destroy(codeError(Error, "ECONNRESET", "aborted"));
			});
		};
		response._destroy = (error, callback) => {
			native.cancel(id);
			callback(error);
		};
		this.res = response;
		response.once("close", () => this.destroy());
		if (!this.emit("response", response)) response.resume();
		return undefined;
	}
	/** Sends the request over a Unix socket. */
	#sendOver(path, bytes) {
		const socket = require("node:net").connect({ path });
		this.socket = socket;
		let response;
		if (bytes.length > 0) this.removeHeader("transfer-encoding");
		const pairs = this.headerPairs;
		if (!this.hasHeader("host")) pairs.push(["Host", this.#settings.hostname]);
		if (bytes.length > 0 && !this.hasHeader("content-length")) pairs.push(["Content-Length", String(bytes.length)]);
		pairs.push(["Connection", "close"]);
		const head = [`${this.method} ${this.path} HTTP/1.1`, ...pairs.map(([name, value]) => `${name}: ${value}`)].join("\r\n");
		socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), bytes]));
		const parser = new Parser({
			onHead: (line, headers) => {
				const status = Number(/^HTTP\/\d\.\d (\d{3})/.exec(line)?.[1]);
				if (Number.isNaN(status)) throw codeError(Error, "HPE_INVALID_CONSTANT", "Parse Error: Expected HTTP/");
				if (status === 100) return "none";
				response = new IncomingMessage(socket, headers);
				Object.assign(response, { statusCode: status, statusMessage: line.slice(13) || STATUS_CODES[status], req: this });
				if (!this.emit("response", response)) response.resume();
				return this.method === "HEAD" || status === 204 || status === 304 ? "none" : "rest";
			},
			onBody: (chunk) => { if (!response.push(Buffer.from(chunk))) pauseUntilRead(socket, response); },
			onEnd: () => {
				if (response === undefined) return;
				response.complete = true;
				response.push(null);
			},
			onError: (error) => (response === undefined ? this.destroy(error) : response.destroy(error)),
		});
		socket.on("data", (chunk) => parser.push(chunk));
		socket.on("end", () => parser.end());
		socket.on("error", (error) => this.destroy(error));
		this.once("close", () => { if (response === undefined) socket.destroy(); });
	}
	_destroy(error, callback) {
		clearTimeout(this.#timer);
		if (this.#id !== undefined && this.res === undefined) native.cancel(this.#id);
		if (this.res !== undefined && !this.res.complete && (error || this.aborted)) this.res.destroy(error ?? undefined);
		callback(error);
	}
	destroy(error) {
		const isExpecting = !this.destroyed && error === undefined && this.res === undefined;
		return super.destroy(isExpecting ? codeError(Error, "ECONNRESET", "socket hang up") : error);
	}
}

function pairsOf(list) {
	if (Array.isArray(list[0])) return list;
	const pairs = [];
	for (let at = 0; at < list.length; at += 2) pairs.push([list[at], list[at + 1]]);
	return pairs;
}

function abortErrorOf(signal) {
	return require("pi:node-errors").abortError(signal.reason);
}

/** Something to set options on: the connections belong to the client. */
function fakeSocket(request) {
	const { EventEmitter } = require("node:events");
	return Object.assign(new EventEmitter(), {
		setTimeout: (milliseconds, callback) => { request.setTimeout(milliseconds, callback); },
		setKeepAlive() {}, setNoDelay() {}, ref() {}, unref() {}, destroy: (error) => request.destroy(error), remoteAddress: undefined, encrypted: request.protocol === "https:", authorized: true,
	});
}

/** Creates `request`, `get` and the agent of a scheme. */
function createClient(scheme) {
	const request = (input, options, callback) => {
		if (typeof options === "function") [options, callback] = [undefined, options];
		return new ClientRequest(input, options, callback, scheme);
	};
	const get = (input, options, callback) => {
		const sent = request(input, options, callback);
		sent.end();
		return sent;
	};
	return { request, get };
}

module.exports = { Agent, ClientRequest, createClient };
