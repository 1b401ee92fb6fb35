// ChildProcess: a program with streams of its own.

const native = require("native:child");
const { EventEmitter } = require("node:events");
const { Readable, Writable } = require("node:stream");
const signals = require("pi:signal-names");
const { describeFailure } = require("pi:spawn-options");
const { abortError } = require("pi:node-errors");

/** Adds what sockets have, which pipes are in Node. */
function asSocket(stream) {
	stream.ref = () => stream;
	stream.unref = () => stream;
	stream.setNoDelay = () => stream;
	stream.setKeepAlive = () => stream;
	return stream;
}

/** A stream of output. The host reads the pipe only when the stream asks for more. */
function createOutput(id, number) {
	return asSocket(new Readable({
		highWaterMark: 64 * 1024,
		read() {
			native.read(id, number).then(
				(bytes) => this.push(bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : null),
				(error) => this.destroy(error),
			);
		},
		destroy(error, callback) {
			native.close(id, number);
			callback(error);
		},
	}));
}

function createInput(id) {
	return asSocket(new Writable({
		write(chunk, _encoding, callback) {
			native.write(id, chunk).then(() => callback(), callback);
		},
		final(callback) {
			native.close(id, 0);
			callback();
		},
		destroy(error, callback) {
			native.close(id, 0);
			callback(error);
		},
	}));
}

/** An output without a program. */
function createEnded() {
	return asSocket(new Readable({ read() { this.push(null); } }));
}

class ChildProcess extends EventEmitter {
	#id;
	#open = 1;

	constructor() {
		super();
		this.pid = undefined;
		this.stdin = null;
		this.stdout = null;
		this.stderr = null;
		this.stdio = [];
		this.killed = false;
		this.connected = false;
		this.exitCode = null;
		this.signalCode = null;
		this.spawnfile = undefined;
		this.spawnargs = [];
	}

	/** Starts a program; a failure is emitted. */
	start(description) {
		this.spawnfile = description.program;
		this.spawnargs = [description.argv0 ?? description.program, ...description.args];
		try {
			[this.#id, this.pid] = native.spawn(description);
		} catch (error) {
			this.#fail(describeFailure(error, "spawn", description), description);
			return;
		}
		if (description.stdin === "pipe") this.stdin = createInput(this.#id);
		if (description.stdout === "pipe") this.stdout = this.#follow(createOutput(this.#id, 1));
		if (description.stderr === "pipe") this.stderr = this.#follow(createOutput(this.#id, 2));
		this.stdio = [this.stdin, this.stdout, this.stderr];
		process.nextTick(() => this.emit("spawn"));
		native.wait(this.#id).then(([code, signal]) => this.#exit(code, signals.nameOf(signal)));
	}

	#fail(error, description) {
		if (description.stdin === "pipe") this.stdin = asSocket(new Writable({ write: (_chunk, _encoding, callback) => callback() }));
		if (description.stdout === "pipe") this.stdout = createEnded();
		if (description.stderr === "pipe") this.stderr = createEnded();
		this.stdio = [this.stdin, this.stdout, this.stderr];
		const code = typeof error.errno === "number" ? error.errno : -1;
		process.nextTick(() => {
			this.exitCode = code;
			this.emit("error", error);
			this.stdout?.destroy();
			this.stderr?.destroy();
			this.emit("close", code, null);
		});
	}

	#follow(stream) {
		this.#open += 1;
		stream.once("close", () => this.#close());
		return stream;
	}

	#exit(code, signal) {
		this.exitCode = signal === null ? (code ?? null) : null;
		this.signalCode = signal;
		this.stdin?.destroy();
		this.emit("exit", this.exitCode, signal);
		// Output that no one reads must not keep the process open.
		for (const stream of [this.stdout, this.stderr]) {
			if (stream !== null && stream.readableFlowing === null && stream.listenerCount("readable") === 0) stream.resume();
		}
		this.#close();
	}

	#close() {
		this.#open -= 1;
		if (this.#open > 0) return;
		native.release(this.#id);
		this.emit("close", this.exitCode, this.signalCode);
	}

	kill(signal) {
		const number = signals.numberOf(signal);
		if (this.#id === undefined || this.exitCode !== null || this.signalCode !== null) return false;
		const isSent = native.kill(this.#id, number);
		if (isSent && number !== 0) this.killed = true;
		return isSent;
	}
	ref() {}
	unref() {}
	disconnect() {}
	send() {
		throw new Error("child_process with an IPC channel is not available in this extension host");
	}
	[Symbol.dispose]() {
		this.kill();
	}
}

/** Starts a program and applies the options that concern its life. */
function spawnChild(description, options) {
	const child = new ChildProcess();
	const { signal, timeout, killSignal } = options;
	if (signal?.aborted) {
		process.nextTick(() => child.emit("error", abortError(signal.reason)));
		return child;
	}
	child.start(description);
	if (signal !== undefined && signal !== null) {
		const abort = () => {
			if (child.kill(killSignal)) child.emit("error", abortError(signal.reason));
		};
		signal.addEventListener("abort", abort, { once: true });
		child.once("exit", () => signal.removeEventListener("abort", abort));
	}
	if (timeout > 0 && child.pid !== undefined) {
		const timer = setTimeout(() => child.kill(killSignal), timeout);
		child.once("exit", () => clearTimeout(timer));
	}
	return child;
}

module.exports = { ChildProcess, spawnChild };
