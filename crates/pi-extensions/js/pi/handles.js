// Registered functions that Rust calls by number. Rust releases a number when it drops its side.

const handles = new Map();
let next = 1;

/** Keeps a value and returns its number. */
exports.add = function add(value) {
	const number = next++;
	handles.set(number, value);
	return number;
};

/** Returns the value of a number. */
exports.get = function get(number) {
	const value = handles.get(number);
	if (value === undefined) throw new Error("the extension that registered this is no longer loaded");
	return value;
};

exports.release = function release(number) {
	handles.delete(number);
};
