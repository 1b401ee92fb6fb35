// node:net: sockets and servers, TCP and Unix.

const native = require("native:net");
const { Buffer } = require("node:buffer");
const EventEmitter = require("node:events");
const { Duplex } = require("node:stream");
const { codeError, invalidArgType } = require("pi:node-errors");
const { missing } = require("pi:missing");

class Socket extends Duplex {
	#id;
	#isReading = false;
	#timeout = 0;
	#timer;
	connecting = false;
	bytesRead = 0;
	bytesWritten = 0;
	constructor(options = {}) {
		super({ allowHalfOpen: false, ...options, emitClose: true, autoDestroy: true });
		if (options.facts !== undefined) this.#attach(options.facts);
	}

	#attach(facts) {
		const { id, ...addresses } = facts;
		this.#id = id;
		Object.assign(this, addresses);
		this.connecting = false;
	}

	connect(...args) {
		const { options, callback } = connectArguments(args);
		if (callback !== undefined) this.once("connect", callback);
		this.connecting = true;
		const address = options.path === undefined
			? { host: options.host === undefined || options.host === "localhost" ? "127.0.0.1" : options.host, port: Number(options.port) }
			: { path: String(options.path) };
		if (address.path === undefined && !(address.port >= 0 && address.port < 65536)) {
			throw codeError(RangeError, "ERR_SOCKET_BAD_PORT", `Port should be >= 0 and < 65536. Received ${String(options.port)}.`);
		}
		let opening;
		try {
			opening = native.connect(address);
		} catch (error) {
			opening = Promise.reject(error);
		}
		opening.then((facts) => {
			if (this.destroyed) return native.close(facts.id);
			this.#attach(facts);
			this.emit("pi:open");
			this.emit("connect");
			this.emit("ready");
			if (this.#isReading) this.#read();
			return undefined;
		}, (error) => {
			this.connecting = false;
			this.destroy(error);
		});
		const { signal } = options;
		signal?.addEventListener("abort", () => this.destroy(signal.reason), { once: true });
		return this;
	}

	_read() {
		if (this.#isReading) return;
		this.#isReading = true;
		if (this.#id !== undefined) this.#read();
	}

	#read() {
		native.read(this.#id).then((bytes) => {
			this.#isReading = false;
			if (this.destroyed) return;
			if (bytes === undefined || bytes === null) {
				this.push(null);
				return;
			}
			this.bytesRead += bytes.length;
			this.#active();
			this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
		}, (error) => this.destroy(error));
	}

	_write(chunk, _encoding, callback) { this.#send(chunk, callback); }
	_writev(chunks, callback) { this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback); }
	#send(bytes, callback) {
		if (this.#id === undefined) {
			if (!this.connecting) callback(codeError(Error, "EPIPE", "This socket has been ended by the other party"));
			else this.once("pi:open", () => this.#send(bytes, callback));
			return;
		}
		this.bytesWritten += bytes.length;
		this.#active();
		native.write(this.#id, bytes).then(() => callback(), callback);
	}

	_final(callback) {
		if (this.#id === undefined) {
			if (!this.connecting) callback();
			else this.once("pi:open", () => this._final(callback));
			return;
		}
		native.shutdown(this.#id).then(() => callback(), callback);
	}

	_destroy(error, callback) {
		clearTimeout(this.#timer);
		if (this.#id !== undefined) native.close(this.#id);
		this.connecting = false;
		callback(error);
	}

	emit(name, ...args) {
		// `close` tells whether an error was the reason.
		return name === "close" ? super.emit("close", Boolean(this.errored)) : super.emit(name, ...args);
	}

	#active() {
		if (this.#timeout > 0) {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(() => this.emit("timeout"), this.#timeout);
		}
	}
	setTimeout(milliseconds, callback) {
		this.#timeout = milliseconds;
		clearTimeout(this.#timer);
		if (callback !== undefined) this.once("timeout", callback);
		this.#active();
		return this;
	}
	get timeout() { return this.#timeout; }
	get pending() { return this.#id === undefined; }
	get readyState() {
		if (this.connecting) return "opening";
		if (this.readable && this.writable) return "open";
		return this.readable ? "readOnly" : this.writable ? "writeOnly" : "closed";
	}
	setNoDelay() { return this; }
	setKeepAlive() { return this; }
	ref() { return this; }
	unref() { return this; }
	address() {
		return this.localAddress === undefined ? {} : { address: this.localAddress, port: this.localPort, family: isIPv6(this.localAddress) ? "IPv6" : "IPv4" };
	}
	destroySoon() {
		if (this.writable) this.end();
		if (this.writableFinished) this.destroy();
		else this.once("finish", () => this.destroy());
	}
	resetAndDestroy() { return this.destroy(); }
}

/** Reads (options), (path), (port, host), each with a callback. */
function connectArguments(args) {
	const callback = typeof args.at(-1) === "function" ? args.at(-1) : undefined;
	const [first, second] = args;
	let options;
	if (first !== null && typeof first === "object") options = first;
	else if (typeof first === "string" && !/^\d+$/.test(first)) options = { path: first };
	else options = { port: first, host: typeof second === "string" ? second : undefined };
	return { options, callback };
}

class Server extends EventEmitter {
	#id;
	#address = null;
	#connections = new Set();
	#isClosing = false;
	#options;
	listening = false;
	maxConnections = undefined;
	constructor(options, listener) {
		super();
		if (typeof options === "function") [options, listener] = [{}, options];
		this.#options = options ?? {};
		if (listener !== undefined) this.on("connection", listener);
	}

	listen(...args) {
		const callback = typeof args.at(-1) === "function" ? args.at(-1) : undefined;
		if (callback !== undefined) this.once("listening", callback);
		if (this.listening) throw codeError(Error, "ERR_SERVER_ALREADY_LISTEN", "Listen method has been called more than once without closing.");
		const { options } = connectArguments(args.length === 0 || typeof args[0] === "function" ? [0] : args);
		const address = options.path === undefined ? { host: options.host ?? "::", port: Number(options.port ?? 0) } : { path: String(options.path) };
		this.#isClosing = false;
		const open = (at) => {
			try {
				return native.listen(at);
			} catch (error) {
				return Promise.reject(error);
			}
		};
		const host = address.host === "localhost" ? "127.0.0.1" : address.host;
		open({ ...address, host }).catch((error) => {
			// A machine without IPv6.
			if (host === "::" && error.code !== "EADDRINUSE" && error.code !== "EACCES") return open({ ...address, host: "0.0.0.0" });
			throw error;
		}).then((facts) => {
			if (this.#isClosing) return native.close(facts.id);
			const { id, path, ...place } = facts;
			this.#id = id;
			this.#address = path ?? place;
			this.listening = true;
			this.emit("listening");
			return this.#accept();
		}, (error) => this.emit("error", error));
		options.signal?.addEventListener("abort", () => this.close(), { once: true });
		return this;
	}

	async #accept() {
		const id = this.#id;
		while (this.listening && this.#id === id) {
			let facts;
			try {
				facts = await native.accept(id);
			} catch (error) {
				this.emit("error", error);
				return;
			}
			if (facts === undefined || facts === null) return;
			const socket = new Socket({ ...this.#options, facts });
			socket.server = this;
			this.#connections.add(socket);
			socket.once("close", () => {
				this.#connections.delete(socket);
				this.#finish();
			});
			if (this.maxConnections !== undefined && this.#connections.size > this.maxConnections) {
				socket.destroy();
				continue;
			}
			try {
				this.emit("connection", socket);
			} catch (error) {
				setTimeout(() => { throw error; }, 0);
			}
		}
	}

	close(callback) {
		if (!this.listening) {
			this.#isClosing = true;
			const error = codeError(Error, "ERR_SERVER_NOT_RUNNING", "Server is not running.");
			if (callback !== undefined) queueMicrotask(() => callback(error));
			return this;
		}
		if (callback !== undefined) this.once("close", callback);
		this.listening = false;
		native.close(this.#id);
		this.#id = undefined;
		this.#isClosing = true;
		this.#address = null;
		queueMicrotask(() => this.#finish());
		return this;
	}
	#finish() {
		if (!this.#isClosing || this.#connections.size > 0) return;
		this.#isClosing = false;
		this.emit("close");
	}
	[Symbol.asyncDispose]() { return new Promise((resolve) => this.close(resolve)); }
	address() { return this.#address; }
	getConnections(callback) { queueMicrotask(() => callback(null, this.#connections.size)); }
	get connections() { return this.#connections; }
	ref() { return this; }
	unref() { return this; }
}

const isIPv4 = (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text);
function isIPv6(text) {
	const plain = String(text).replace(/%.+$/, "");
	return plain.includes(":") && URL.canParse(`http://[${plain}]`);
}

function connect(...args) {
	const { options, callback } = connectArguments(args);
	if (options === undefined) throw invalidArgType("options", "of type object", options);
	const socket = new Socket(options);
	if (options.timeout) socket.setTimeout(options.timeout);
	return callback === undefined ? socket.connect(options) : socket.connect(options, callback);
}

module.exports = {
	Socket, Stream: Socket, Server, connect, createConnection: connect,
	createServer: (options, listener) => new Server(options, listener),
	isIP: (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0), isIPv4, isIPv6,
	BlockList: missing("net.BlockList"),
	SocketAddress: missing("net.SocketAddress"),
	getDefaultAutoSelectFamily: () => true,
	setDefaultAutoSelectFamily() {},
};
