// node:buffer: the class over Uint8Array, and what stands beside it in the module.

const encodings = require("pi:encodings");
const { codeError, describe, invalidArgType, outOfRange } = require("pi:node-errors");
const { missing } = require("pi:missing");

const MAX_LENGTH = 2 ** 32;
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

class FastBuffer extends Uint8Array {}

/** As a function or a constructor: deprecated, but old packages use it. */
function Buffer(value, encoding, length) {
	if (typeof value === "number") return Buffer.alloc(value);
	return Buffer.from(value, encoding, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(Buffer.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });

/** Returns a buffer over the memory of a Uint8Array, without a copy. */
function over(bytes) {
	return new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function checkSize(size) {
	if (typeof size !== "number") throw invalidArgType("size", "of type number", size);
	if (!(size >= 0 && size <= MAX_LENGTH)) throw outOfRange("size", `>= 0 && <= ${MAX_LENGTH}`, size);
}

Buffer.poolSize = 8192;

Buffer.from = function from(value, encodingOrOffset, length) {
	if (typeof value === "string") return over(encodings.encode(value, encodingOrOffset));
	if (value !== null && typeof value === "object") {
		if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer)) {
			const offset = encodingOrOffset === undefined ? 0 : Number(encodingOrOffset) || 0;
			if (offset > value.byteLength) throw codeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"offset" is outside of buffer bounds');
			const size = length === undefined ? value.byteLength - offset : Math.max(0, Number(length) || 0);
			if (offset + size > value.byteLength) throw codeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
			return new FastBuffer(value, offset, size);
		}
		if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return over(Uint8Array.from(value));
		const primitive = typeof value.valueOf === "function" ? value.valueOf() : value;
		if (primitive !== value && primitive !== null && (typeof primitive === "string" || typeof primitive === "object")) {
			return Buffer.from(primitive, encodingOrOffset, length);
		}
		if (value.type === "Buffer" && Array.isArray(value.data)) return over(Uint8Array.from(value.data));
		if (typeof value.length === "number" || Array.isArray(value)) return over(Uint8Array.from(value));
		if (value.buffer instanceof ArrayBuffer) return Buffer.from(value.buffer, encodingOrOffset, length);
		if (typeof value[Symbol.toPrimitive] === "function") {
			const text = value[Symbol.toPrimitive]("string");
			if (typeof text === "string") return Buffer.from(text, encodingOrOffset);
		}
	}
	throw codeError(TypeError, "ERR_INVALID_ARG_TYPE", `The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object. Received ${describe(value)}`);
};

Buffer.of = (...items) => over(Uint8Array.of(...items));
Buffer.copyBytesFrom = (view, offset = 0, length = undefined) => {
	const part = view.subarray(offset, length === undefined ? undefined : offset + length);
	return over(new Uint8Array(part.slice().buffer));
};
Buffer.alloc = function alloc(size, fill, encoding) {
	checkSize(size);
	const buffer = new FastBuffer(size);
	return fill === undefined || fill === 0 || size === 0 ? buffer : buffer.fill(fill, encoding);
};
Buffer.allocUnsafe = Buffer.allocUnsafeSlow = function allocUnsafe(size) {
	checkSize(size);
	return new FastBuffer(size);
};
Buffer.isBuffer = (value) => value instanceof FastBuffer;
Buffer.isEncoding = (name) => encodings.isEncoding(name);
Buffer.byteLength = function byteLength(value, encoding) {
	if (typeof value === "string") return encodings.byteLength(value, encoding);
	if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
	throw invalidArgType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
};
Buffer.compare = function compare(a, b) {
	if (!(a instanceof Uint8Array)) throw invalidArgType("buf1", "an instance of Buffer or Uint8Array", a);
	if (!(b instanceof Uint8Array)) throw invalidArgType("buf2", "an instance of Buffer or Uint8Array", b);
	return encodings.compare(a, b);
};
Buffer.concat = function concat(list, total) {
	if (!Array.isArray(list)) throw invalidArgType("list", "an instance of Array", list);
	const size = total ?? list.reduce((sum, one) => sum + one.length, 0);
	const buffer = Buffer.allocUnsafe(size);
	let at = 0;
	for (const one of list) {
		if (!(one instanceof Uint8Array)) throw invalidArgType(`list[${list.indexOf(one)}]`, "an instance of Buffer or Uint8Array", one);
		if (at >= size) break;
		const part = at + one.length > size ? one.subarray(0, size - at) : one;
		buffer.set(part, at);
		at += part.length;
	}
	return buffer;
};

/** Returns a position within 0…length; negative ones count from the end if `fromEnd`. */
function clamp(value, length, fallback, fromEnd = false) {
	if (value === undefined) return fallback;
	let at = Math.trunc(Number(value));
	if (Number.isNaN(at)) return fallback === length ? 0 : fallback;
	if (fromEnd && at < 0) at += length;
	return Math.min(Math.max(at, 0), length);
}

const methods = {
	toString(encoding, start, end) {
		const from = clamp(start, this.length, 0);
		const to = clamp(end, this.length, this.length);
		if (to <= from) return "";
		return encodings.decode(from === 0 && to === this.length ? this : this.subarray(from, to), encoding);
	},
	toJSON() { return { type: "Buffer", data: Array.from(this) }; },
	equals(other) {
		if (!(other instanceof Uint8Array)) throw invalidArgType("otherBuffer", "an instance of Buffer or Uint8Array", other);
		return this === other || (this.length === other.length && encodings.compare(this, other) === 0);
	},
	compare(target, targetStart = 0, targetEnd = target.length, start = 0, end = this.length) {
		return Buffer.compare(this.subarray(start, end), target.subarray(targetStart, targetEnd));
	},
	slice(start, end) {
		const from = clamp(start, this.length, 0, true);
		const to = clamp(end, this.length, this.length, true);
		return new FastBuffer(this.buffer, this.byteOffset + from, Math.max(0, to - from));
	},
	copy(target, targetStart = 0, start = 0, end = this.length) {
		if (!(target instanceof Uint8Array)) throw invalidArgType("target", "an instance of Buffer or Uint8Array", target);
		const count = Math.min(clamp(end, this.length, this.length) - start, target.length - targetStart);
		if (count <= 0) return 0;
		target.set(this.subarray(start, start + count), targetStart);
		return count;
	},
	write(text, offset, length, encoding) {
		if (typeof text !== "string") throw invalidArgType("argument", "of type string", text);
		if (typeof offset === "string") [encoding, offset, length] = [offset, 0, undefined];
		else if (typeof length === "string") [encoding, length] = [length, undefined];
		const at = offset ?? 0;
		if (at < 0 || at > this.length) throw outOfRange("offset", `>= 0 && <= ${this.length}`, at);
		const room = Math.min(length ?? this.length - at, this.length - at);
		let bytes = encodings.encode(text, encoding);
		if (bytes.length > room) bytes = bytes.subarray(0, encodings.wholeCharacters(bytes, room, encoding));
		this.set(bytes, at);
		return bytes.length;
	},
	fill(value, offset, end, encoding) {
		if (typeof offset === "string") [encoding, offset, end] = [offset, 0, undefined];
		else if (typeof end === "string") [encoding, end] = [end, undefined];
		const from = offset ?? 0;
		const to = end ?? this.length;
		if (from < 0 || from > this.length) throw outOfRange("offset", `>= 0 && <= ${this.length}`, from);
		if (to < 0 || to > this.length) throw outOfRange("end", `>= 0 && <= ${this.length}`, to);
		if (typeof value === "string" || value instanceof Uint8Array) {
			const bytes = typeof value === "string" ? encodings.encode(value, encoding) : value;
			if (bytes.length === 0) {
				if (typeof value === "string" && value.length > 0) throw codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'value' is invalid. Received '${value}'`);
				Uint8Array.prototype.fill.call(this, 0, from, to);
			} else if (bytes.length === 1) Uint8Array.prototype.fill.call(this, bytes[0], from, to);
			else for (let at = from; at < to; at++) this[at] = bytes[(at - from) % bytes.length];
			return this;
		}
		Uint8Array.prototype.fill.call(this, typeof value === "boolean" ? Number(value) : value & 255, from, to);
		return this;
	},
	indexOf(value, offset, encoding) { return find(this, value, offset, encoding, false); },
	lastIndexOf(value, offset, encoding) { return find(this, value, offset, encoding, true); },
	includes(value, offset, encoding) { return find(this, value, offset, encoding, false) >= 0; },
	swap16() { return swap(this, 2); },
	swap32() { return swap(this, 4); },
	swap64() { return swap(this, 8); },
	[INSPECT]() {
		const shown = Array.from(this.subarray(0, 50), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
		const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : "";
		return `<Buffer${shown ? ` ${shown}` : ""}${more}>`;
	},
};

function find(buffer, value, offset, encoding, isLast) {
	if (typeof offset === "string") [encoding, offset] = [offset, undefined];
	let at = offset === undefined || Number.isNaN(Number(offset)) ? (isLast ? buffer.length : 0) : Math.trunc(Number(offset));
	if (at < 0) at += buffer.length;
	if (at < 0) {
		if (isLast) return -1;
		at = 0;
	}
	if (typeof value === "number") {
		return isLast ? Uint8Array.prototype.lastIndexOf.call(buffer, value & 255, at) : Uint8Array.prototype.indexOf.call(buffer, value & 255, at);
	}
	const bytes = typeof value === "string" ? encodings.encode(value, encoding) : value;
	if (!(bytes instanceof Uint8Array)) throw invalidArgType("value", "of type number or string or an instance of Buffer or Uint8Array", value);
	return encodings.find(buffer, bytes, Math.min(at, buffer.length), isLast);
}

function swap(buffer, size) {
	if (buffer.length % size !== 0) throw codeError(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${size * 8}-bits`);
	for (let at = 0; at < buffer.length; at += size) Uint8Array.prototype.reverse.call(buffer.subarray(at, at + size));
	return buffer;
}

/** Adds methods that are not enumerable, as those of a class. */
function addMethods(source) {
	for (const name of Reflect.ownKeys(source)) {
		Object.defineProperty(Buffer.prototype, name, { value: source[name], writable: true, configurable: true });
	}
}
addMethods(methods);
addMethods({ toLocaleString: methods.toString });
addMethods(require("pi:buffer-numbers"));
for (const name of ["latin1", "utf8", "hex", "base64", "ascii", "ucs2"]) {
	addMethods({
		[`${name}Slice`](start, end) { return this.toString(name, start, end); },
		[`${name}Write`](text, offset, length) { return this.write(text, offset, length, name); },
	});
}
Object.defineProperty(Buffer.prototype, "parent", { get() { return this.buffer; }, configurable: true });
Object.defineProperty(Buffer.prototype, "offset", { get() { return this.byteOffset; }, configurable: true });

const constants = { MAX_LENGTH, MAX_STRING_LENGTH: 2 ** 29 - 24 };
module.exports = {
	Buffer,
	SlowBuffer: Buffer,
	constants,
	kMaxLength: MAX_LENGTH,
	kStringMaxLength: constants.MAX_STRING_LENGTH,
	INSPECT_MAX_BYTES: 50,
	get Blob() { return globalThis.Blob; },
	get File() { return globalThis.File; },
	atob: globalThis.atob,
	btoa: globalThis.btoa,
	isUtf8: (bytes) => encodings.isUtf8(bytes),
	isAscii: (bytes) => new Uint8Array(bytes.buffer ?? bytes).every((byte) => byte < 128),
	transcode: (bytes, from, to) => Buffer.from(over(bytes).toString(from), to),
	resolveObjectURL: missing("buffer.resolveObjectURL"),
};
