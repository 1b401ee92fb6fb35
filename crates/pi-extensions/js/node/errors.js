// Errors in the shape of Node's: a class, a code, and the sentences that callers match on.

/** Returns an error with a code. */
function codeError(Class, code, message) {
	const error = new Class(message);
	error.code = code;
	return error;
}

/** Describes a value for the end of "Received …". */
function describe(value) {
	if (value === null || value === undefined) return String(value);
	if (typeof value === "function") return value.name ? `function ${value.name}` : "function ";
	if (typeof value === "object") {
		const name = value.constructor?.name;
		return name ? `an instance of ${name}` : "[Object: null prototype] {}";
	}
	const text = typeof value === "string" ? `'${value.length > 25 ? `${value.slice(0, 25)}...` : value}'` : String(value);
	return `type ${typeof value} (${text}${typeof value === "bigint" ? "n" : ""})`;
}

/** Returns the error for an argument of the wrong type; `expected` as in "of type string". */
function invalidArgType(name, expected, value) {
	const kind = name.includes(".") ? "property" : "argument";
	return codeError(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" ${kind} must be ${expected}. Received ${describe(value)}`);
}

/** Returns the error for an argument with an unusable value. */
function invalidArgValue(name, value, reason = "is invalid") {
	const text = typeof value === "string" ? `'${value}'` : String(value);
	return codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument '${name}' ${reason}. Received ${text}`);
}

/** Returns the error for a number outside its range. */
function outOfRange(name, range, value) {
	const text = typeof value === "bigint" ? `${value}n` : String(value);
	return codeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${range}. Received ${text}`);
}

/** Returns the error of an operation that a signal stopped. */
function abortError(cause) {
	const error = codeError(Error, "ABORT_ERR", "The operation was aborted");
	error.name = "AbortError";
	if (cause !== undefined) error.cause = cause;
	return error;
}

function validateFunction(value, name) {
	if (typeof value !== "function") throw invalidArgType(name, "of type function", value);
}

function validateString(value, name) {
	if (typeof value !== "string") throw invalidArgType(name, "of type string", value);
}

module.exports = {
	codeError, describe, invalidArgType, invalidArgValue, outOfRange, abortError, validateFunction, validateString,
};
