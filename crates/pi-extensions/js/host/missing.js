// Functions that this host does not have: they exist, so that code which only mentions them works,
// and fail by name when they are called.

/** Marks such functions, so that `pi extension check` can tell them from others. */
exports.MISSING = Symbol.for("pi.missing");

/** Creates a function that fails by name when it is called or constructed. */
exports.missing = function missing(name) {
	const fail = function () {
		const error = new Error(`${name} is not available in this extension host`);
		error.code = "ERR_METHOD_NOT_IMPLEMENTED";
		throw error;
	};
	Object.defineProperty(fail, "name", { value: name.slice(name.lastIndexOf(".") + 1) });
	Object.defineProperty(fail, exports.MISSING, { value: name });
	return fail;
};
