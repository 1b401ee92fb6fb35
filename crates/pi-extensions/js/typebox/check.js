// Checks values against schemas: those of the builders, and plain JSON Schema.

const { isObject } = require("pi:typebox/schema");
const formats = require("pi:typebox/formats");

const patterns = new Map();
function patternOf(text) {
	let pattern = patterns.get(text);
	if (pattern === undefined) {
		pattern = new RegExp(text, "u");
		patterns.set(text, pattern);
	}
	return pattern;
}

const TYPES = {
	string: (value) => typeof value === "string",
	number: (value) => typeof value === "number" && Number.isFinite(value),
	integer: (value) => Number.isInteger(value),
	boolean: (value) => typeof value === "boolean",
	null: (value) => value === null,
	undefined: (value) => value === undefined,
	void: (value) => value === undefined,
	bigint: (value) => typeof value === "bigint",
	symbol: (value) => typeof value === "symbol",
	array: (value) => Array.isArray(value),
	object: (value) => isObject(value),
	function: (value) => typeof value === "function",
	constructor: (value) => typeof value === "function",
};

/** Returns true if two values have the same content. */
function equal(left, right) {
	if (Object.is(left, right)) return true;
	if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false;
	if (Array.isArray(left) !== Array.isArray(right)) return false;
	if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime();
	const keys = Object.keys(left);
	return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
}

/** One check. Without a list of errors it stops at the first one. */
class Checker {
	constructor(context, root, errors) {
		this.context = context;
		this.root = root;
		this.errors = errors;
		this.definitions = [];
	}

	fail(keyword, schemaPath, instancePath, params, message) {
		this.errors?.push({ keyword, schemaPath, instancePath, params, message });
		return false;
	}

	/** Checks parts until the first failure, or all of them if errors are collected. */
	all(parts) {
		let ok = true;
		for (const part of parts) {
			if (part()) continue;
			ok = false;
			if (this.errors === undefined) return false;
		}
		return ok;
	}

	/** Checks without reporting errors. */
	passes(schema, value) {
		const checker = new Checker(this.context, this.root, undefined);
		checker.definitions = this.definitions;
		return checker.check(schema, value, "", "");
	}

	/** Returns the schema that a reference names. */
	target(ref) {
		for (const definitions of this.definitions) if (Object.hasOwn(definitions, ref)) return definitions[ref];
		if (Object.hasOwn(this.context, ref)) return this.context[ref];
		if (ref === "#" || ref === this.root?.$id) return this.root;
		if (!ref.startsWith("#/")) return undefined;
		let at = this.root;
		for (const part of ref.slice(2).split("/")) at = at?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
		return at;
	}

	check(schema, value, schemaPath, instancePath) {
		if (schema === true) return true;
		const at = schemaPath === "" ? "#" : schemaPath;
		if (schema === false) return this.fail("boolean", at, instancePath, {}, "schema is false");
		const definitions = schema.$defs;
		if (definitions === undefined) return this.keywords(schema, value, at, instancePath);
		this.definitions = [definitions, ...this.definitions];
		try {
			return this.keywords(schema, value, at, instancePath);
		} finally {
			this.definitions = this.definitions.slice(1);
		}
	}

	keywords(schema, value, at, path) {
		if (schema.$ref !== undefined) {
			const target = this.target(schema.$ref);
			return target === undefined ? this.fail("$ref", at, path, { ref: schema.$ref }, `must resolve reference "${schema.$ref}"`) : this.check(target, value, "#", path);
		}
		const parts = [];
		if (schema.type !== undefined) parts.push(() => this.type(schema, value, at, path));
		if (schema.const !== undefined) {
			parts.push(() => equal(schema.const, value) || (schema.type !== undefined && !isOfType(schema.type, value) && schema["~kind"] !== "Literal" ? false : this.fail("const", at, path, { allowedValue: schema.const }, "must be equal to constant")));
		}
		if (schema.enum !== undefined) {
			parts.push(() => schema.enum.some((one) => equal(one, value)) || this.fail("enum", at, path, { allowedValues: schema.enum }, "must be equal to one of the allowed values"));
		}
		if (typeof value === "string") parts.push(() => this.string(schema, value, at, path));
		else if (typeof value === "number" || typeof value === "bigint") parts.push(() => this.number(schema, value, at, path));
		else if (Array.isArray(value)) parts.push(() => this.array(schema, value, at, path));
		else if (isObject(value)) parts.push(() => this.object(schema, value, at, path));
		parts.push(() => this.combined(schema, value, at, path));
		return this.all(parts);
	}

	type(schema, value, at, path) {
		if (schema["~kind"] === "Literal" && schema.const !== undefined) return true;
		if (isOfType(schema.type, value)) return true;
		const names = Array.isArray(schema.type) ? schema.type : [schema.type];
		return this.fail("type", at, path, { type: schema.type }, Array.isArray(schema.type) ? `must be either ${names.join(" or ")}` : `must be ${schema.type}`);
	}

	string(schema, value, at, path) {
		const { minLength, maxLength, pattern, format } = schema;
		const length = minLength === undefined && maxLength === undefined ? 0 : [...value].length;
		return this.all([
			() => minLength === undefined || length >= minLength || this.fail("minLength", at, path, { limit: minLength }, `must not have fewer than ${minLength} characters`),
			() => maxLength === undefined || length <= maxLength || this.fail("maxLength", at, path, { limit: maxLength }, `must not have more than ${maxLength} characters`),
			() => pattern === undefined || (pattern instanceof RegExp ? pattern : patternOf(pattern)).test(value) || this.fail("pattern", at, path, { pattern }, `must match pattern "${pattern}"`),
			() => format === undefined || formats[format] === undefined || formats[format](value) || this.fail("format", at, path, { format }, `must match format "${format}"`),
		]);
	}

	number(schema, value, at, path) {
		if (Number.isNaN(value)) return true;
		const limit = (keyword, comparison, holds) => () => {
			const bound = schema[keyword];
			return bound === undefined || holds(bound) || this.fail(keyword, at, path, { comparison, limit: bound }, `must be ${comparison} ${bound}`);
		};
		const { multipleOf } = schema;
		const isMultiple = () => {
			if (typeof value === "bigint") return value % BigInt(multipleOf) === 0n;
			const ratio = value / multipleOf;
			return Math.abs(ratio - Math.round(ratio)) < 1e-9;
		};
		return this.all([
			limit("exclusiveMaximum", "<", (bound) => value < bound),
			limit("exclusiveMinimum", ">", (bound) => value > bound),
			limit("maximum", "<=", (bound) => value <= bound),
			limit("minimum", ">=", (bound) => value >= bound),
			() => multipleOf === undefined || isMultiple() || this.fail("multipleOf", at, path, { multipleOf }, `must be multiple of ${multipleOf}`),
		]);
	}

	array(schema, value, at, path) {
		const { items, prefixItems, additionalItems, minItems, maxItems, uniqueItems, contains } = schema;
		const tuple = prefixItems ?? (Array.isArray(items) ? items : undefined);
		const rest = prefixItems !== undefined ? items : Array.isArray(items) ? additionalItems : items;
		const restName = prefixItems !== undefined || !Array.isArray(items) ? "items" : "additionalItems";
		const tooShort = minItems !== undefined && value.length < minItems;
		return this.all([
			() => !tooShort || this.fail("minItems", at, path, { limit: minItems }, `must not have fewer than ${minItems} items`),
			() => maxItems === undefined || value.length <= maxItems || this.fail("maxItems", at, path, { limit: maxItems }, `must not have more than ${maxItems} items`),
			() => this.all(value.map((item, index) => () => {
				if (tuple !== undefined && index < tuple.length) return this.check(tuple[index], item, `${at}/${prefixItems === undefined ? "items" : "prefixItems"}/${index}`, `${path}/${index}`);
				return rest === undefined || this.check(rest, item, `${at}/${restName}`, `${path}/${index}`);
			})),
			() => {
				if (uniqueItems !== true) return true;
				const duplicates = value.flatMap((item, index) => (value.slice(0, index).some((other) => equal(other, item)) ? [index] : []));
				return duplicates.length === 0 || this.fail("uniqueItems", at, path, { duplicateItems: duplicates }, "must not have duplicate items");
			},
			() => {
				if (contains === undefined) return true;
				const minimum = schema.minContains ?? 1;
				const count = value.filter((item) => this.passes(contains, item)).length;
				if (count < minimum) return this.fail("contains", at, path, { minContains: minimum }, `must contain at least ${minimum} valid item`);
				const maximum = schema.maxContains;
				return maximum === undefined || count <= maximum || this.fail("contains", at, path, { maxContains: maximum }, `must contain at most ${maximum} valid items`);
			},
		]);
	}

	object(schema, value, at, path) {
		const { properties = {}, patternProperties = {}, additionalProperties, required, propertyNames, minProperties, maxProperties } = schema;
		const keys = Object.keys(value);
		const known = (key) => Object.hasOwn(properties, key) || Object.keys(patternProperties).some((pattern) => patternOf(pattern).test(key));
		return this.all([
			() => {
				const absent = (required ?? []).filter((name) => !Object.hasOwn(value, name) && !(name in value));
				return absent.length === 0 || this.fail("required", at, path, { requiredProperties: absent }, `must have required properties ${absent.join(", ")}`);
			},
			() => this.all(Object.entries(schema.dependentRequired ?? {}).map(([property, names]) => () => {
				if (!Object.hasOwn(value, property) || names.every((name) => Object.hasOwn(value, name))) return true;
				return this.fail("dependentRequired", at, path, { property, dependencies: names }, `must have properties ${names.join(", ")} when property ${property} is present`);
			})),
			() => this.all(Object.keys(properties).map((key) => () => {
				if (!Object.hasOwn(value, key)) return true;
				if (value[key] === undefined && !(required ?? []).includes(key)) return true;
				return this.check(properties[key], value[key], `${at}/properties/${key}`, `${path}/${key}`);
			})),
			() => this.all(Object.entries(patternProperties).flatMap(([pattern, part]) => keys.filter((key) => patternOf(pattern).test(key)).map((key) => () => this.check(part, value[key], `${at}/patternProperties/${pattern}`, `${path}/${key}`)))),
			() => {
				if (additionalProperties === undefined || additionalProperties === true) return true;
				const wrong = keys.filter((key) => !known(key) && !this.check(additionalProperties, value[key], `${at}/additionalProperties`, `${path}/${key}`));
				return wrong.length === 0 || this.fail("additionalProperties", at, path, { additionalProperties: wrong }, "must not have additional properties");
			},
			() => {
				if (propertyNames === undefined) return true;
				const wrong = keys.filter((key) => !this.check(propertyNames, key, `${at}/propertyNames`, `${path}/${key}`));
				return wrong.length === 0 || this.fail("propertyNames", at, path, { propertyNames: wrong }, `property names ${wrong.join(", ")} are invalid`);
			},
			() => minProperties === undefined || keys.length >= minProperties || this.fail("minProperties", at, path, { limit: minProperties }, `must not have fewer than ${minProperties} properties`),
			() => maxProperties === undefined || keys.length <= maxProperties || this.fail("maxProperties", at, path, { limit: maxProperties }, `must not have more than ${maxProperties} properties`),
		]);
	}

	combined(schema, value, at, path) {
		const { allOf, anyOf, oneOf, not } = schema;
		const parts = [];
		if (allOf !== undefined) parts.push(() => this.all(allOf.map((part, index) => () => this.check(part, value, `${at}/allOf/${index}`, path))));
		if (anyOf !== undefined) {
			parts.push(() => {
				if (anyOf.some((part) => this.passes(part, value))) return true;
				if (this.errors !== undefined) for (const [index, part] of anyOf.entries()) this.check(part, value, `${at}/anyOf/${index}`, path);
				return this.fail("anyOf", at, path, {}, "must match a schema in anyOf");
			});
		}
		if (oneOf !== undefined) {
			parts.push(() => {
				const passing = oneOf.flatMap((part, index) => (this.passes(part, value) ? [index] : []));
				if (passing.length === 1) return true;
				if (passing.length === 0 && this.errors !== undefined) for (const [index, part] of oneOf.entries()) this.check(part, value, `${at}/oneOf/${index}`, path);
				return this.fail("oneOf", at, path, { passingSchemas: passing }, "must match exactly one schema in oneOf");
			});
		}
		if (not !== undefined) parts.push(() => !this.passes(not, value) || this.fail("not", at, path, {}, "must not be valid"));
		if (schema.if !== undefined) {
			parts.push(() => {
				const branch = this.passes(schema.if, value) ? "then" : "else";
				if (schema[branch] === undefined || this.passes(schema[branch], value)) return true;
				if (schema[branch] === false) this.check(false, value, `${at}/${branch}`, path);
				return this.fail("if", at, path, { failingKeyword: branch }, `must match "${branch}" schema`);
			});
		}
		if (schema["~refine"] !== undefined) {
			parts.push(() => this.all(schema["~refine"].map(({ check, error }, index) => () => {
				if (check(value)) return true;
				const message = typeof error === "function" ? error(value) : error;
				return this.fail("~refine", at, path, { index, message }, message ?? "must satisfy refinement");
			})));
		}
		return this.all(parts);
	}
}

function isOfType(type, value) {
	if (Array.isArray(type)) return type.some((one) => isOfType(one, value));
	return TYPES[type] === undefined || TYPES[type](value);
}

/** Splits the arguments `[context,] schema, value`. */
function split(args) {
	return args.length >= 3 ? args : [{}, ...args];
}

/** Returns true if a value matches a schema. */
function Check(...args) {
	const [context, schema, value] = split(args);
	return new Checker(context, schema, undefined).check(schema, value, "", "");
}

/** Returns the errors of a value. */
function Errors(...args) {
	const [context, schema, value] = split(args);
	const errors = [];
	new Checker(context, schema, errors).check(schema, value, "", "");
	return errors;
}

module.exports = { Check, Errors, split, equal, isOfType, patternOf };
