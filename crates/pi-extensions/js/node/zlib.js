// node:zlib over the coders of Rust; Brotli and Zstandard fail by name.

const native = require("native:zlib");
const { Buffer } = require("node:buffer");
const { Transform } = require("node:stream");
const { codeError, invalidArgType, validateFunction } = require("pi:node-errors");
const { missing } = require("pi:missing");

/** Output of one call, unless the caller sets another limit. */
const MAX_OUTPUT = 256 * 1024 * 1024;

function bytesOf(value) {
	if (typeof value === "string") return Buffer.from(value);
	if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
	if (value instanceof ArrayBuffer) return new Uint8Array(value);
	throw invalidArgType("buffer", "of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer", value);
}

function create(name, options, limit) {
	const level = options?.level;
	return native.create(name, level === undefined || level < 0 ? undefined : level, limit);
}

function codeNow(name, input, options) {
	const step = create(name, options, options?.maxOutputLength ?? MAX_OUTPUT);
	const bytes = step(bytesOf(input), "finish");
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A stream over a coder. */
class Zlib extends Transform {
	#step;
	#name;
	#options;
	bytesWritten = 0;
	constructor(name, options) {
		super(options);
		this.#name = name;
		this.#options = options;
		this.#step = create(name, options, Number.MAX_SAFE_INTEGER);
	}
	#push(bytes, mode) {
		const output = this.#step(bytes, mode);
		if (output.length > 0) this.push(Buffer.from(output.buffer, output.byteOffset, output.byteLength));
	}
	_transform(chunk, _encoding, callback) {
		try {
			this.bytesWritten += chunk.length;
			// In small steps: a compressed chunk can become very large.
			for (let at = 0; at < chunk.length; at += 16384) this.#push(chunk.subarray(at, at + 16384), "write");
			callback();
		} catch (error) {
			callback(error);
		}
	}
	_flush(callback) {
		try {
			this.#push(new Uint8Array(0), "finish");
			callback();
		} catch (error) {
			callback(error);
		}
	}
	flush(kind, callback) {
		if (typeof kind === "function") callback = kind;
		this.write(Buffer.alloc(0), () => {
			this.#push(new Uint8Array(0), "flush");
			callback?.();
		});
	}
	reset() { this.#step = create(this.#name, this.#options, Number.MAX_SAFE_INTEGER); }
	close(callback) {
		if (callback) this.once("close", callback);
		this.destroy();
	}
	params(_level, _strategy, callback) { callback?.(codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "zlib.params is not available in this extension host")); }
}

const CODERS = {
	gzip: "Gzip", gunzip: "Gunzip", deflate: "Deflate", inflate: "Inflate",
	deflateRaw: "DeflateRaw", inflateRaw: "InflateRaw", unzip: "Unzip",
};
for (const name of Object.keys(CODERS)) {
	const title = CODERS[name];
	const Class = { [title]: class extends Zlib { constructor(options) { super(name, options); } } }[title];
	exports[title] = Class;
	exports[`create${title}`] = (options) => new Class(options);
	exports[`${name}Sync`] = (input, options) => codeNow(name, input, options);
	exports[name] = (input, options, callback) => {
		if (typeof options === "function") [options, callback] = [undefined, options];
		validateFunction(callback, "callback");
		const bytes = bytesOf(input);
		setImmediate(() => {
			let result;
			try {
				result = codeNow(name, bytes, options);
			} catch (error) {
				callback(error);
				return;
			}
			callback(null, result);
		});
	};
}
for (const family of ["Brotli", "Zstd"]) {
	const lower = family.toLowerCase();
	for (const kind of ["Compress", "Decompress"]) {
		exports[`${lower}${kind}`] = missing(`zlib.${lower}${kind}`);
		exports[`${lower}${kind}Sync`] = missing(`zlib.${lower}${kind}Sync`);
		exports[`create${family}${kind}`] = missing(`zlib.create${family}${kind}`);
		exports[`${family}${kind}`] = missing(`zlib.${family}${kind}`);
	}
}
exports.crc32 = (data, value = 0) => native.crc32(bytesOf(data), value);
exports.constants = {
	Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5,
	Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6,
	Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1,
	Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0,
	Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384,
	BROTLI_PARAM_QUALITY: 1, BROTLI_OPERATION_FLUSH: 1,
};
