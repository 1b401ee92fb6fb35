// Schemas as data: JSON Schema objects with marks that JSON does not show.

const MARKS = ["~kind", "~optional", "~readonly", "~immutable", "~codec", "~refine", "~unsafe"];

/** Sets a mark, which JSON and object spread leave out. */
function mark(schema, name, value) {
	return Object.defineProperty(schema, name, { value, enumerable: false, configurable: true, writable: true });
}

/** Creates a schema of a kind. */
function create(kind, fields, options) {
	return mark({ ...fields, ...options }, "~kind", kind);
}

/** Copies a schema with its marks. Options come last. */
function copy(schema, options) {
	const result = { ...schema };
	for (const name of MARKS) if (Object.hasOwn(schema, name)) mark(result, name, schema[name]);
	return options === undefined ? result : Object.assign(result, options);
}

/** Copies a schema without one of its marks. */
function without(schema, name) {
	const result = copy(schema);
	delete result[name];
	return result;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const kindOf = (schema) => (isObject(schema) ? schema["~kind"] : undefined);
const isKind = (schema, kind) => kindOf(schema) === kind;
const isOptional = (schema) => isObject(schema) && schema["~optional"] === true;

/** Returns the names of properties that are not optional. */
function requiredNames(properties) {
	return Object.keys(properties).filter((name) => !isOptional(properties[name]));
}

module.exports = { mark, create, copy, without, isObject, kindOf, isKind, isOptional, requiredNames };
