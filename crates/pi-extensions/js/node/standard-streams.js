// process.stdout, stderr and stdin.
//
// Standard output belongs to the program: what JavaScript writes goes to the output of the host.
// There is no standard input: the screen or the protocol of the program reads it.

const native = require("native:console");
const { Writable, Readable } = require("node:stream");

class OutputStream extends Writable {
	constructor(fd, write) {
		super({
			decodeStrings: false,
			write(chunk, encoding, callback) {
				const isText = typeof chunk === "string" && (encoding === "utf8" || encoding === "utf-8" || encoding === undefined);
				write(isText || typeof chunk !== "string" ? chunk : Buffer.from(chunk, encoding));
				callback();
			},
		});
		this.fd = fd;
	}
	/** A terminal while the program draws a screen on one. */
	get isTTY() {
		return native.terminalSize() ? true : undefined;
	}
	get columns() {
		return native.terminalSize()?.[0];
	}
	get rows() {
		return native.terminalSize()?.[1];
	}
	// The streams stay open as long as the program.
	end() {
		return this;
	}
	_destroy(error, callback) {
		callback(error);
	}
	getWindowSize() {
		return native.terminalSize();
	}
	getColorDepth() {
		return this.isTTY ? 24 : 1;
	}
	hasColors(count = 16) {
		return this.isTTY === true && count <= 2 ** this.getColorDepth();
	}
	cursorTo(column, row, callback) {
		return this.write(typeof row === "number" ? `\u001b[${row + 1};${column + 1}H` : `\u001b[${column + 1}G`, callback);
	}
	moveCursor(columns, rows, callback) {
		const move = (count, forward, back) => (count === 0 ? "" : `\u001b[${Math.abs(count)}${count > 0 ? forward : back}`);
		return this.write(move(columns, "C", "D") + move(rows, "B", "A"), callback);
	}
	clearLine(direction, callback) {
		return this.write(`\u001b[${direction < 0 ? 1 : direction > 0 ? 0 : 2}K`, callback);
	}
	clearScreenDown(callback) {
		return this.write("\u001b[0J", callback);
	}
}

class InputStream extends Readable {
	constructor() {
		super({ read() { this.push(null); } });
		this.fd = 0;
		this.isRaw = false;
	}
	get isTTY() {
		return native.terminalSize() ? true : undefined;
	}
	setRawMode() {
		return this;
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
}

let stdout, stderr, stdin;
Object.defineProperties(exports, {
	stdout: { enumerable: true, get: () => (stdout ??= new OutputStream(1, native.writeStdout)) },
	stderr: { enumerable: true, get: () => (stderr ??= new OutputStream(2, native.writeStderr)) },
	stdin: { enumerable: true, get: () => (stdin ??= new InputStream()) },
});
