// http.createServer over sockets.

const net = require("node:net");
const { Buffer } = require("node:buffer");
const { STATUS_CODES, IncomingMessage, OutgoingMessage, Parser } = require("pi:http-message");
const { codeError } = require("pi:node-errors");

class ServerResponse extends OutgoingMessage {
	statusCode = 200;
	statusMessage = undefined;
	#isChunked = false;
	#hasBody = true;
	#done;
	constructor(request, { socket, keepAlive, done } = {}) {
		super();
		this.req = request;
		this.socket = this.connection = socket;
		this.shouldKeepAlive = Boolean(keepAlive);
		this.#done = done;
		socket?.once("close", () => { if (!this.writableFinished) this.destroy(); });
	}
	writeHead(status, message, headers) {
		if (this.headersSent) throw codeError(Error, "ERR_HTTP_HEADERS_SENT", "Cannot write headers after they are sent to the client");
		if (!(status >= 100 && status <= 999)) throw codeError(RangeError, "ERR_HTTP_INVALID_STATUS_CODE", `Invalid status code: ${status}`);
		if (typeof message !== "string") [message, headers] = [undefined, message];
		this.statusCode = status;
		if (message !== undefined) this.statusMessage = message;
		if (Array.isArray(headers)) {
			const flat = headers.flat();
			for (let at = 0; at < flat.length; at += 2) this.setHeader(flat[at], flat[at + 1]);
		} else for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) this.setHeader(name, value);
		return this;
	}
	writeContinue(callback) { this.socket.write("HTTP/1.1 100 Continue\r\n\r\n", callback); }
	writeProcessing() { this.socket.write("HTTP/1.1 102 Processing\r\n\r\n"); }
	flushHeaders() { if (!this.headersSent) this.#sendHead(); }
	#sendHead(length) {
		this.#hasBody = this.req.method !== "HEAD" && this.statusCode !== 204 && this.statusCode !== 304 && this.statusCode >= 200;
		if (!this.hasHeader("content-length") && !this.hasHeader("transfer-encoding") && this.#hasBody) {
			if (length !== undefined) this.setHeader("Content-Length", length);
			else if (this.req.httpVersion === "1.0") this.shouldKeepAlive = false;
			else this.setHeader("Transfer-Encoding", "chunked");
		}
		this.#isChunked = /chunked/i.test(String(this.getHeader("transfer-encoding") ?? ""));
		if (this.sendDate && !this.hasHeader("date")) this.setHeader("Date", new Date().toUTCString());
		if (!this.hasHeader("connection")) this.setHeader("Connection", this.shouldKeepAlive ? "keep-alive" : "close");
		else if (/close/i.test(String(this.getHeader("connection")))) this.shouldKeepAlive = false;
		const reason = this.statusMessage ?? STATUS_CODES[this.statusCode] ?? "unknown";
		this.statusMessage = reason;
		this.headersSent = true;
		const lines = [`HTTP/1.1 ${this.statusCode} ${reason}`, ...this.headerPairs.map(([name, value]) => `${name}: ${value}`)];
		this.socket.write(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
	}
	_write(chunk, _encoding, callback) {
		if (!this.headersSent) this.#sendHead(this.writableEnded && this.writableLength === chunk.length ? chunk.length : undefined);
		if (!this.#hasBody || chunk.length === 0) return callback();
		const bytes = this.#isChunked ? Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]) : chunk;
		return this.socket.write(bytes, (error) => callback(error));
	}
	end(chunk, encoding, callback) {
		if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
		else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
		// The length of a body in one piece is known.
		if (chunk !== undefined && chunk !== null && !this.headersSent && this.writableLength === 0 && !this.writableEnded) {
			const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
			this.#sendHead(bytes.length);
			return super.end(bytes, callback);
		}
		return super.end(chunk, encoding, callback);
	}
	_final(callback) {
		if (!this.headersSent) this.#sendHead(0);
		const finish = () => {
			this.#done?.(this.shouldKeepAlive);
			callback();
		};
		if (this.#isChunked && this.#hasBody) this.socket.write("0\r\n\r\n", finish);
		else finish();
	}
	assignSocket(socket) { this.socket = this.connection = socket; }
	detachSocket() {}
	get writableEnded() { return super.writableEnded; }
}

/** Reads requests from one connection and answers them in order. */
function serve(server, socket) {
	let request;
	let response;
	const waiting = [];
	let isBusy = false;
	const next = () => {
		if (isBusy || waiting.length === 0 || socket.destroyed) return;
		isBusy = true;
		waiting.shift()();
	};
	const parser = new Parser({
		onHead(line, pairs) {
			const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP\/(\d)\.(\d)$/.exec(line);
			if (match === null) throw codeError(Error, "HPE_INVALID_METHOD", "Parse Error: Invalid method encountered");
			const message = new IncomingMessage(socket, pairs);
			[, message.method, message.url] = match;
			message.httpVersion = `${match[3]}.${match[4]}`;
			message.httpVersionMinor = Number(match[4]);
			request = message;
			const connection = message.headers.connection ?? "";
			if (/\bupgrade\b/i.test(connection) && message.headers.upgrade !== undefined && server.listenerCount("upgrade") > 0) {
				socket.removeListener("data", onData);
				queueMicrotask(() => server.emit("upgrade", message, socket, parser.take()));
				return "upgrade";
			}
			const keepAlive = message.httpVersion === "1.0" ? /keep-alive/i.test(connection) : !/\bclose\b/i.test(connection);
			const done = (isKept) => {
				isBusy = false;
				if (!isKept) socket.end();
				else next();
			};
			response = new ServerResponse(message, { socket, keepAlive, done });
			const answer = response;
			waiting.push(() => {
				if (/100-continue/i.test(message.headers.expect ?? "")) {
					if (server.listenerCount("checkContinue") > 0) return void server.emit("checkContinue", message, answer);
					answer.writeContinue();
				}
				server.emit("request", message, answer);
				return undefined;
			});
			queueMicrotask(next);
			return "body";
		},
		onBody(bytes) { if (!request.push(Buffer.from(bytes))) pauseUntilRead(socket, request); },
		onEnd() {
			request.complete = true;
			request.push(null);
		},
		onError(error) {
			if (server.listenerCount("clientError") > 0) server.emit("clientError", error, socket);
			else socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
		},
	});
	const onData = (chunk) => parser.push(chunk);
	socket.on("data", onData);
	socket.on("error", () => {});
	socket.on("close", () => {
		if (request !== undefined && !request.complete) {
			request.aborted = true;
			request.emit("aborted");
			request.destroy(codeError(Error, "ECONNRESET", "aborted"));
		}
	});
}

/** Stops reading from a socket until the body of a message is read. */
function pauseUntilRead(socket, message) {
	socket.pause();
	message._read = () => socket.resume();
}

class Server extends net.Server {
	timeout = 0;
	keepAliveTimeout = 5000;
	headersTimeout = 60000;
	requestTimeout = 300000;
	constructor(options, listener) {
		if (typeof options === "function") [options, listener] = [{}, options];
		super({ allowHalfOpen: true });
		if (listener !== undefined) this.on("request", listener);
		this.on("connection", (socket) => serve(this, socket));
	}
	/** Connections that wait for another request do not keep a server open. */
	close(callback) {
		super.close(callback);
		this.closeIdleConnections();
		return this;
	}
	closeAllConnections() { for (const socket of this.connections) socket.destroy(); }
	closeIdleConnections() { for (const socket of this.connections) if (socket.writableLength === 0) socket.end(); }
	setTimeout(milliseconds, callback) {
		this.timeout = milliseconds;
		if (callback) this.on("timeout", callback);
		return this;
	}
}

module.exports = { Server, ServerResponse, pauseUntilRead };
