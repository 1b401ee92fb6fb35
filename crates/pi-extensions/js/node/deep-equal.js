// Deep comparison, for util.isDeepStrictEqual and node:assert.

const types = require("node:util/types");

/** Compares two values; loosely if not `isStrict`. */
function isDeepEqual(a, b, isStrict, seen = new Map()) {
	if (isStrict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true; // eslint-disable-line eqeqeq
	if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
	if (isStrict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
	if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
	if (seen.get(a) === b) return true;
	seen.set(a, b);
	try {
		return hasEqualContent(a, b, isStrict, seen);
	} finally {
		seen.delete(a);
	}
}

function hasEqualContent(a, b, isStrict, seen) {
	const same = (x, y) => isDeepEqual(x, y, isStrict, seen);
	if (Array.isArray(a) !== Array.isArray(b)) return false;
	if (Array.isArray(a) && a.length !== b.length) return false;
	if (types.isDate(a)) {
		if (!Object.is(a.getTime(), b.getTime())) return false;
	} else if (types.isRegExp(a)) {
		if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
	} else if (a instanceof Error) {
		if (a.message !== b.message || a.name !== b.name || !same(a.cause, b.cause)) return false;
	} else if (types.isBoxedPrimitive(a)) {
		if (!Object.is(a.valueOf(), b.valueOf())) return false;
	} else if (types.isTypedArray(a)) {
		if (a.length !== b.length || !a.every((value, at) => (isStrict ? Object.is(value, b[at]) : value === b[at]))) return false;
		return true;
	} else if (types.isAnyArrayBuffer(a)) {
		return same(new Uint8Array(a), new Uint8Array(b));
	} else if (types.isSet(a)) {
		if (a.size !== b.size) return false;
		const left = [...b];
		for (const value of a) {
			const at = b.has(value) ? left.indexOf(value) : left.findIndex((other) => same(value, other));
			if (at < 0) return false;
			left.splice(at, 1);
		}
	} else if (types.isMap(a)) {
		if (a.size !== b.size) return false;
		for (const [key, value] of a) {
			if (b.has(key)) {
				if (!same(value, b.get(key))) return false;
			} else if (![...b].some(([other, item]) => same(key, other) && same(value, item))) return false;
		}
	}
	const keysOf = (value) => [...Object.keys(value), ...(isStrict ? Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)) : [])];
	const keys = keysOf(a);
	if (keys.length !== keysOf(b).length) return false;
	return keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

module.exports = { isDeepEqual };
