// CompressionStream and DecompressionStream.

const native = require("native:zlib");
const { bytesOf } = require("pi:text");

const NAMES = {
	gzip: ["gzip", "gunzip"], deflate: ["deflate", "inflate"], "deflate-raw": ["deflateRaw", "inflateRaw"],
};

function createPair(format, index) {
	const name = NAMES[format]?.[index];
	if (name === undefined) throw new TypeError(`Unsupported compression format: '${format}'`);
	const step = native.create(name, undefined, Number.MAX_SAFE_INTEGER);
	const pass = (controller, bytes, mode) => {
		const output = step(bytes, mode);
		if (output.length > 0) controller.enqueue(output);
	};
	return new TransformStream({
		transform(chunk, controller) { pass(controller, bytesOf(chunk), "write"); },
		flush(controller) { pass(controller, new Uint8Array(0), "finish"); },
	});
}

class CompressionStream {
	#pair;
	constructor(format) { this.#pair = createPair(format, 0); }
	get readable() { return this.#pair.readable; }
	get writable() { return this.#pair.writable; }
}

class DecompressionStream {
	#pair;
	constructor(format) { this.#pair = createPair(format, 1); }
	get readable() { return this.#pair.readable; }
	get writable() { return this.#pair.writable; }
}

module.exports = { CompressionStream, DecompressionStream };
