// Numbers in a Buffer: readUInt16LE and its many relatives.

const { codeError, invalidArgType, outOfRange } = require("pi:node-errors");

const methods = {};

function view(buffer) {
	return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function checkOffset(buffer, offset, size) {
	if (typeof offset !== "number") throw invalidArgType("offset", "of type number", offset);
	if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
	if (buffer.length < size) throw codeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
	if (offset < 0 || offset + size > buffer.length) throw outOfRange("offset", `>= 0 and <= ${buffer.length - size}`, offset);
}

function checkValue(value, min, max) {
	if (value < min || value > max) {
		const suffix = typeof min === "bigint" ? "n" : "";
		throw outOfRange("value", `>= ${min}${suffix} and <= ${max}${suffix}`, value);
	}
}

/** Defines the readers and writers of one DataView type, under all their names. */
function define(names, type, size, range) {
	for (const [end, isLittle] of size === 1 ? [["", true]] : [["LE", true], ["BE", false]]) {
		const get = `get${type}`;
		const set = `set${type}`;
		const read = function (offset = 0) {
			checkOffset(this, offset, size);
			return view(this)[get](offset, isLittle);
		};
		const write = function (value, offset = 0) {
			const number = range === undefined || typeof value === "bigint" ? value : Number(value);
			if (range !== undefined) checkValue(number, range[0], range[1]);
			checkOffset(this, offset, size);
			view(this)[set](offset, number, isLittle);
			return offset + size;
		};
		for (const name of names) {
			methods[`read${name}${end}`] = read;
			methods[`write${name}${end}`] = write;
		}
	}
}

define(["UInt8", "Uint8"], "Uint8", 1, [0, 255]);
define(["Int8"], "Int8", 1, [-128, 127]);
define(["UInt16", "Uint16"], "Uint16", 2, [0, 0xffff]);
define(["Int16"], "Int16", 2, [-0x8000, 0x7fff]);
define(["UInt32", "Uint32"], "Uint32", 4, [0, 0xffffffff]);
define(["Int32"], "Int32", 4, [-0x80000000, 0x7fffffff]);
define(["BigUInt64", "BigUint64"], "BigUint64", 8, [0n, 2n ** 64n - 1n]);
define(["BigInt64"], "BigInt64", 8, [-(2n ** 63n), 2n ** 63n - 1n]);
define(["Float"], "Float32", 4);
define(["Double"], "Float64", 8);

/** Defines readers and writers of 1 to 6 bytes. */
function defineVariable(isSigned, isLittle) {
	const end = isLittle ? "LE" : "BE";
	const read = function (offset, size) {
		checkOffset(this, offset, size);
		let value = 0;
		for (let at = 0; at < size; at++) value = value * 256 + this[isLittle ? offset + size - 1 - at : offset + at];
		return isSigned && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
	};
	const write = function (input, offset, size) {
		const value = Number(input);
		const limit = 2 ** (8 * size - (isSigned ? 1 : 0));
		checkValue(value, isSigned ? -limit : 0, limit - 1);
		checkOffset(this, offset, size);
		let rest = value < 0 ? value + 2 ** (8 * size) : value;
		for (let at = 0; at < size; at++) {
			this[isLittle ? offset + at : offset + size - 1 - at] = rest % 256;
			rest = Math.floor(rest / 256);
		}
		return offset + size;
	};
	for (const name of isSigned ? ["Int"] : ["UInt", "Uint"]) {
		methods[`read${name}${end}`] = read;
		methods[`write${name}${end}`] = write;
	}
}
for (const isSigned of [true, false]) for (const isLittle of [true, false]) defineVariable(isSigned, isLittle);

module.exports = methods;
