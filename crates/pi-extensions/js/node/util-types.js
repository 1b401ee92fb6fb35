// node:util/types: tests for the kinds of values.

const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const typedTag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const isObject = (value) => value !== null && typeof value === "object";

/** Returns true if a getter that only works on real instances accepts the value. */
function accepts(getter) {
	return (value) => {
		try {
			getter.call(value);
			return true;
		} catch {
			return false;
		}
	};
}
const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;

const types = {
	isDate: (value) => isObject(value) && accepts(Date.prototype.getTime)(value),
	isRegExp: (value) => isObject(value) && value !== RegExp.prototype && accepts(getter(RegExp.prototype, "source"))(value),
	isMap: (value) => isObject(value) && accepts(getter(Map.prototype, "size"))(value),
	isSet: (value) => isObject(value) && accepts(getter(Set.prototype, "size"))(value),
	isWeakMap: (value) => value instanceof WeakMap,
	isWeakSet: (value) => value instanceof WeakSet,
	isPromise: (value) => value instanceof Promise,
	isProxy: () => false,
	isNativeError: (value) => Error.isError?.(value) ?? value instanceof Error,
	isAsyncFunction: (value) => typeof value === "function" && /^Async/.test(tagOf(value)),
	isGeneratorFunction: (value) => typeof value === "function" && /GeneratorFunction$/.test(tagOf(value)),
	isGeneratorObject: (value) => isObject(value) && /Generator$/.test(tagOf(value)),
	isMapIterator: (value) => isObject(value) && tagOf(value) === "Map Iterator",
	isSetIterator: (value) => isObject(value) && tagOf(value) === "Set Iterator",
	isArrayBuffer: (value) => isObject(value) && accepts(getter(ArrayBuffer.prototype, "byteLength"))(value),
	isSharedArrayBuffer: (value) => typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer,
	isAnyArrayBuffer: (value) => types.isArrayBuffer(value) || types.isSharedArrayBuffer(value),
	isArrayBufferView: ArrayBuffer.isView,
	isTypedArray: (value) => isObject(value) && typedTag.call(value) !== undefined,
	isDataView: (value) => value instanceof DataView,
	isArgumentsObject: (value) => isObject(value) && tagOf(value) === "Arguments",
	isBoxedPrimitive: (value) => isObject(value) && [Number, String, Boolean, Symbol, BigInt].some((Class) => value instanceof Class),
	isNumberObject: (value) => isObject(value) && value instanceof Number,
	isStringObject: (value) => isObject(value) && value instanceof String,
	isBooleanObject: (value) => isObject(value) && value instanceof Boolean,
	isSymbolObject: (value) => isObject(value) && value instanceof Symbol,
	isBigIntObject: (value) => isObject(value) && value instanceof BigInt,
	isModuleNamespaceObject: (value) => isObject(value) && tagOf(value) === "Module",
	isExternal: () => false,
	isKeyObject: (value) => isObject(value) && value.constructor?.name === "KeyObject",
	isCryptoKey: (value) => isObject(value) && value.constructor?.name === "CryptoKey",
};
for (const name of ["Uint8", "Uint8Clamped", "Uint16", "Uint32", "Int8", "Int16", "Int32", "Float32", "Float64", "BigInt64", "BigUint64"]) {
	types[`is${name}Array`] = (value) => isObject(value) && typedTag.call(value) === `${name}Array`;
}

module.exports = types;
