// node:assert.

const { codeError, invalidArgType } = require("pi:node-errors");

const util = () => require("node:util");

class AssertionError extends Error {
	constructor(options) {
		super(options.message ?? `${show(options.actual)} ${options.operator} ${show(options.expected)}`);
		this.name = "AssertionError";
		this.code = "ERR_ASSERTION";
		this.generatedMessage = options.message === undefined;
		this.actual = options.actual;
		this.expected = options.expected;
		this.operator = options.operator;
	}
	toString() {
		return `${this.name} [${this.code}]: ${this.message}`;
	}
}

function show(value) {
	return util().inspect(value, { depth: 2, breakLength: Infinity });
}

/** Throws unless a condition holds. */
function check(condition, message, details, text) {
	if (condition) return;
	if (message instanceof Error) throw message;
	throw new AssertionError({ ...details, message: message ?? text });
}

function compare(operator, text, test) {
	return (actual, expected, message) => {
		check(test(actual, expected), message, { actual, expected, operator }, `${text}\n\n${show(actual)} !== ${show(expected)}\n`);
	};
}

/** Equality of `==`, in depth. */
function isLooselyEqual(one, other) {
	if (one == other || (Number.isNaN(one) && Number.isNaN(other))) return true;
	if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return false;
	if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
	const keys = Object.keys(one);
	if (keys.length !== Object.keys(other).length) return false;
	return keys.every((key) => Object.hasOwn(other, key) && isLooselyEqual(one[key], other[key]));
}

/** Returns true if every property that `expected` has is equal. */
function isPartlyEqual(actual, expected) {
	if (expected === null || typeof expected !== "object" || actual === null || typeof actual !== "object") return util().isDeepStrictEqual(actual, expected);
	return Object.keys(expected).every((key) => Object.hasOwn(actual, key) && isPartlyEqual(actual[key], expected[key]));
}

/** Returns true if an error is as expected: a class, a pattern, a test or properties. */
function isExpected(error, expected) {
	if (expected === undefined || typeof expected === "string") return true;
	if (expected instanceof RegExp) return expected.test(String(error));
	if (typeof expected === "function") {
		if (expected.prototype !== undefined && error instanceof expected) return true;
		if (Error.isPrototypeOf(expected)) return false;
		return expected.call({}, error) === true;
	}
	const keys = expected instanceof Error ? ["name", "message", ...Object.keys(expected)] : Object.keys(expected);
	return keys.every((key) => (expected[key] instanceof RegExp && typeof error[key] === "string" ? expected[key].test(error[key]) : util().isDeepStrictEqual(error[key], expected[key])));
}

function thrownBy(callback) {
	if (typeof callback !== "function") throw invalidArgType("fn", "of type function", callback);
	try {
		callback();
	} catch (error) {
		return { error };
	}
	return undefined;
}

async function rejectedBy(value) {
	try {
		await (typeof value === "function" ? value() : value);
	} catch (error) {
		return { error };
	}
	return undefined;
}

function checkThrown(thrown, expected, message, operator) {
	const text = typeof expected === "string" ? expected : message;
	check(thrown !== undefined, text, { operator }, operator === "rejects" ? "Missing expected rejection." : "Missing expected exception.");
	if (isExpected(thrown.error, expected)) return;
	if (expected !== null && typeof expected === "object") check(false, message, { actual: thrown.error, expected, operator }, "The error is not as expected");
	throw thrown.error;
}

function checkNotThrown(thrown, message, operator) {
	check(thrown === undefined, message instanceof Error || typeof message === "string" ? message : undefined, { actual: thrown?.error, operator }, `Got unwanted ${operator === "doesNotReject" ? "rejection" : "exception"}.\nActual message: "${thrown?.error?.message}"`);
}

function assert(value, message) {
	check(value, message, { actual: value, expected: true, operator: "==" }, "The expression evaluated to a falsy value");
}

const STRICT = "Expected values to be strictly";
Object.assign(assert, {
	AssertionError,
	ok: (value, message) => assert(value, message),
	fail(message) {
		if (message instanceof Error) throw message;
		throw new AssertionError({ message: message ?? "Failed", operator: "fail" });
	},
	equal: compare("==", "Expected values to be loosely equal:", (one, other) => one == other || (Number.isNaN(one) && Number.isNaN(other))),
	notEqual: compare("!=", "Expected values to be loosely unequal:", (one, other) => one != other),
	strictEqual: compare("strictEqual", `${STRICT} equal:`, Object.is),
	notStrictEqual: compare("notStrictEqual", `Expected "actual" to be strictly unequal to:`, (one, other) => !Object.is(one, other)),
	deepEqual: compare("deepEqual", "Expected values to be loosely deep-equal:", isLooselyEqual),
	notDeepEqual: compare("notDeepEqual", "Expected values not to be loosely deep-equal:", (one, other) => !isLooselyEqual(one, other)),
	deepStrictEqual: compare("deepStrictEqual", `${STRICT} deep-equal:`, (one, other) => util().isDeepStrictEqual(one, other)),
	notDeepStrictEqual: compare("notDeepStrictEqual", `Expected "actual" not to be strictly deep-equal to:`, (one, other) => !util().isDeepStrictEqual(one, other)),
	partialDeepStrictEqual: compare("partialDeepStrictEqual", "Expected values to be partially and strictly deep-equal:", isPartlyEqual),
	throws: (callback, expected, message) => checkThrown(thrownBy(callback), expected, message, "throws"),
	doesNotThrow: (callback, expected, message) => checkNotThrown(thrownBy(callback), message ?? expected, "doesNotThrow"),
	rejects: async (value, expected, message) => checkThrown(await rejectedBy(value), expected, message, "rejects"),
	doesNotReject: async (value, expected, message) => checkNotThrown(await rejectedBy(value), message ?? expected, "doesNotReject"),
	match(text, pattern, message) {
		if (!(pattern instanceof RegExp)) throw invalidArgType("regexp", "an instance of RegExp", pattern);
		check(typeof text === "string" && pattern.test(text), message, { actual: text, expected: pattern, operator: "match" }, `The input did not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`);
	},
	doesNotMatch(text, pattern, message) {
		check(!(typeof text === "string" && pattern.test(text)), message, { actual: text, expected: pattern, operator: "doesNotMatch" }, `The input was expected to not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`);
	},
	ifError(value) {
		if (value === null || value === undefined) return;
		throw value instanceof Error ? value : new AssertionError({ message: `ifError got unwanted exception: ${show(value)}`, actual: value, expected: null, operator: "ifError" });
	},
	CallTracker: class CallTracker {
		constructor() {
			throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "assert.CallTracker is not available in this extension host");
		}
	},
});
assert.strict = Object.assign((value, message) => assert(value, message), assert, {
	equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;

module.exports = assert;
