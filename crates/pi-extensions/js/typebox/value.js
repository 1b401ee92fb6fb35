// Values of schemas: defaults, conversion, cleaning, creation, codecs, comparison.

const { Check, Errors, split, equal, patternOf } = require("pi:typebox/check");
const { copy, isObject } = require("pi:typebox/schema");

class AssertError extends Error {
	constructor(source, value, errors) {
		super(source);
		Object.defineProperty(this, "cause", { value: { source, errors, value }, writable: false, configurable: false, enumerable: false });
	}
}
class ParseError extends AssertError {}
class DecodeError extends AssertError {}
class EncodeError extends AssertError {}
class CreateError extends Error {
	constructor(schema, message) {
		super(message);
		this.schema = schema;
	}
}

function Clone(value) {
	if (Array.isArray(value)) return value.map(Clone);
	if (value instanceof Date) return new Date(value);
	if (value instanceof Map) return new Map([...value].map(([key, one]) => [Clone(key), Clone(one)]));
	if (value instanceof Set) return new Set([...value].map(Clone));
	if (ArrayBuffer.isView(value)) return value.slice();
	if (value === null || typeof value !== "object") return value;
	const result = Object.create(Object.getPrototypeOf(value));
	for (const key of Object.keys(value)) result[key] = Clone(value[key]);
	return result;
}

/** Returns the schema with its reference resolved, and the definitions that it brings. */
function opened(context, schema) {
	if (schema?.$defs !== undefined) context = { ...context, ...schema.$defs };
	const ref = schema?.$ref;
	if (ref === undefined) return [context, schema];
	const target = Object.hasOwn(context, ref) ? context[ref] : undefined;
	return target === undefined ? [context, undefined] : [context, target];
}

/** Returns the schema of a property, undefined if the object does not know it. */
function propertySchema(schema, key) {
	if (schema.properties !== undefined && Object.hasOwn(schema.properties, key)) return schema.properties[key];
	for (const pattern of Object.keys(schema.patternProperties ?? {})) if (patternOf(pattern).test(key)) return schema.patternProperties[pattern];
	return isObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
}

const itemSchema = (schema, index) => {
	const tuple = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : undefined);
	if (tuple !== undefined && index < tuple.length) return tuple[index];
	return isObject(schema.items) ? schema.items : undefined;
};

/** Applies a function to the parts of a value, with the schema of each part. */
function descend(context, schema, value, apply) {
	if (Array.isArray(value)) {
		return value.map((item, index) => {
			const part = itemSchema(schema, index);
			return part === undefined ? item : apply(context, part, item);
		});
	}
	if (!isObject(value)) return value;
	for (const key of Object.keys(value)) {
		const part = propertySchema(schema, key);
		if (part !== undefined) value[key] = apply(context, part, value[key]);
	}
	return value;
}

/** Returns the choice of a union that fits a value: a match, or the one with the most common keys. */
function bestChoice(context, choices, value) {
	const match = choices.find((choice) => Check(context, choice, value));
	if (match !== undefined || !isObject(value)) return match;
	let best;
	let most = 0;
	for (const choice of choices) {
		const [, open] = opened(context, choice);
		let score = 0;
		for (const [key, part] of Object.entries(open?.properties ?? {})) {
			if (!Object.hasOwn(value, key)) continue;
			score += part.const !== undefined && part.const === value[key] ? 100 : 1;
		}
		if (score > most) [best, most] = [choice, score];
	}
	return best;
}

function defaults(context, schema, value) {
	[context, schema] = opened(context, schema);
	if (schema === undefined || typeof schema === "boolean") return value;
	if (value === undefined && Object.hasOwn(schema, "default")) {
		value = typeof schema.default === "function" ? schema.default() : Clone(schema.default);
	}
	for (const part of schema.allOf ?? []) value = defaults(context, part, value);
	if (schema.anyOf !== undefined) {
		if (value === undefined) {
			const choice = schema.anyOf.find((one) => Object.hasOwn(one, "default"));
			return choice === undefined ? value : defaults(context, choice, value);
		}
		for (const choice of schema.anyOf) {
			const filled = defaults(context, choice, Clone(value));
			if (Check(context, choice, filled)) return filled;
		}
		return value;
	}
	if (isObject(value)) {
		for (const [key, part] of Object.entries(schema.properties ?? {})) {
			const filled = defaults(context, part, value[key]);
			if (filled !== undefined) value[key] = filled;
		}
		return value;
	}
	return descend(context, schema, value, defaults);
}

const NUMERIC = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Converts a plain value to a type of JSON Schema; a value that has no such form stays. */
function convertScalar(type, value) {
	const kind = typeof value;
	if (type === "string") {
		if (value === null) return "null";
		return kind === "number" || kind === "boolean" || kind === "bigint" ? String(value) : value;
	}
	if (type === "number" || type === "integer") {
		let number = value;
		if (kind === "boolean") number = value ? 1 : 0;
		else if (kind === "bigint") number = Number(value);
		else if (value === null || (kind === "string" && value.toLowerCase() === "false")) number = 0;
		else if (kind === "string" && value.toLowerCase() === "true") number = 1;
		else if (kind === "string" && NUMERIC.test(value)) number = Number(value);
		return type === "integer" && typeof number === "number" ? Math.trunc(number) : number;
	}
	if (type === "boolean") {
		if (kind === "number" && (value === 0 || value === 1)) return value === 1;
		if (kind === "string") {
			const text = value.toLowerCase();
			if (text === "true" || text === "1") return true;
			if (text === "false" || text === "0") return false;
		}
		return value;
	}
	if (type === "null") return value === undefined || value === 0 || value === false || value === "" || (kind === "string" && value.toLowerCase() === "null") ? null : value;
	if (type === "bigint") return kind === "string" && /^-?\d+$/.test(value) ? BigInt(value) : kind === "number" && Number.isInteger(value) ? BigInt(value) : value;
	return value;
}

function convert(context, schema, value) {
	[context, schema] = opened(context, schema);
	if (schema === undefined || typeof schema === "boolean") return value;
	for (const part of schema.allOf ?? []) value = convert(context, part, value);
	if (schema.anyOf !== undefined) {
		if (schema.anyOf.some((choice) => Check(context, choice, value))) return value;
		for (const choice of schema.anyOf) {
			const converted = convert(context, choice, Clone(value));
			if (Check(context, choice, converted)) return converted;
		}
		return value;
	}
	if (schema.const !== undefined) {
		const converted = convertScalar(typeof schema.const, value);
		return converted === schema.const ? converted : value;
	}
	if (schema.enum !== undefined) return schema.enum.find((one) => one === value || (one !== null && String(one) === String(value))) ?? value;
	if (schema.type === "array" && !Array.isArray(value) && value !== undefined) value = [value];
	if (Array.isArray(value) || isObject(value)) return descend(context, schema, value, convert);
	return value === undefined ? value : convertScalar(schema.type, value);
}

function clean(context, schema, value) {
	[context, schema] = opened(context, schema);
	if (schema === undefined || typeof schema === "boolean") return value;
	if (schema.anyOf !== undefined) {
		const choice = bestChoice(context, schema.anyOf, value);
		return choice === undefined ? value : clean(context, choice, value);
	}
	if (schema.allOf !== undefined) {
		const known = schema.allOf.flatMap((part) => Object.keys(opened(context, part)[1]?.properties ?? {}));
		if (isObject(value)) for (const key of Object.keys(value)) if (!known.includes(key)) delete value[key];
		return value;
	}
	if (Array.isArray(value) && Array.isArray(schema.items) && schema.additionalItems === false) value = value.slice(0, schema.items.length);
	if (isObject(value) && (schema.properties !== undefined || schema.patternProperties !== undefined || schema.additionalProperties !== undefined)) {
		for (const key of Object.keys(value)) {
			const part = propertySchema(schema, key);
			const isKnown = Object.hasOwn(schema.properties ?? {}, key) || Object.keys(schema.patternProperties ?? {}).some((pattern) => patternOf(pattern).test(key));
			if (isKnown) continue;
			if (schema.additionalProperties === true) continue;
			if (part === undefined || !Check(context, part, value[key])) delete value[key];
		}
	}
	return descend(context, schema, value, clean);
}

/** Creates a value that a schema allows. */
function create(context, schema) {
	[context, schema] = opened(context, schema);
	if (schema === undefined) throw new CreateError(schema, "Cannot create a value of an unknown reference");
	if (Object.hasOwn(schema, "default")) return typeof schema.default === "function" ? schema.default() : Clone(schema.default);
	if (schema.const !== undefined) return schema.const;
	if (schema.enum !== undefined) return schema.enum[0];
	if (schema.anyOf !== undefined) return create(context, schema.anyOf[0]);
	if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((part) => create(context, part)));
	switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
		case "string":
			if (schema.pattern !== undefined || schema.format !== undefined) throw new CreateError(schema, "Cannot create a string with a pattern or format without a default");
			return " ".repeat(schema.minLength ?? 0);
		case "number": case "integer": return schema.minimum ?? (schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1);
		case "boolean": return false;
		case "null": return null;
		case "bigint": return 0n;
		case "symbol": return Symbol();
		case "array": {
			if (Array.isArray(schema.items)) return schema.items.map((item) => create(context, item));
			return Array.from({ length: schema.minItems ?? 0 }, () => create(context, schema.items));
		}
		case "object": {
			const result = {};
			for (const name of schema.required ?? []) result[name] = create(context, schema.properties?.[name] ?? {});
			return result;
		}
		case "undefined": case "void": return undefined;
		default:
			if (schema.not !== undefined) throw new CreateError(schema, "Cannot create a value of type never");
			return undefined;
	}
}

/** Applies the codecs of a schema: inner ones first when decoding, last when encoding. */
function transform(direction) {
	const apply = (context, schema, value) => {
		[context, schema] = opened(context, schema);
		if (schema === undefined || typeof schema === "boolean") return value;
		const codec = schema["~codec"];
		if (direction === "encode" && codec !== undefined) value = codec.encode(value);
		for (const part of schema.allOf ?? []) value = apply(context, part, value);
		if (schema.anyOf !== undefined) {
			const choice = direction === "decode" ? bestChoice(context, schema.anyOf, value) : schema.anyOf.find((one) => HasCodec(context, one)) ?? bestChoice(context, schema.anyOf, value);
			if (choice !== undefined) value = apply(context, choice, value);
		} else {
			value = descend(context, schema, value, apply);
		}
		return direction === "decode" && codec !== undefined ? codec.decode(value) : value;
	};
	return apply;
}
const decode = transform("decode");
const encode = transform("encode");

const withArgs = (apply) => (...args) => {
	const [context, schema, value] = split(args);
	return apply(context, schema, value);
};

const Default = withArgs(defaults);
const Convert = withArgs(convert);
const Clean = withArgs(clean);
const Create = (...args) => (args.length >= 2 ? create(args[0], args[1]) : create({}, args[0]));

function HasCodec(...args) {
	const [context, schema] = args.length >= 2 ? args : [{}, args[0]];
	const seen = new Set();
	const search = (part) => {
		if (part === null || typeof part !== "object" || seen.has(part)) return false;
		seen.add(part);
		if (part["~codec"] !== undefined) return true;
		if (part.$ref !== undefined && Object.hasOwn(context, part.$ref) && search(context[part.$ref])) return true;
		return Object.values(part).some(search);
	};
	return search(schema);
}

const Assert = withArgs((context, schema, value) => {
	if (!Check(context, schema, value)) throw new AssertError("Assert", value, Errors(context, schema, value));
});

const Parse = withArgs((context, schema, value) => {
	if (!Check(context, schema, value)) throw new ParseError("Parse", value, Errors(context, schema, value));
	return value;
});

const Decode = withArgs((context, schema, value) => {
	const prepared = clean(context, schema, convert(context, schema, defaults(context, schema, Clone(value))));
	if (!Check(context, schema, prepared)) throw new DecodeError("Decode", value, Errors(context, schema, prepared));
	return decode(context, schema, prepared);
});

const Encode = withArgs((context, schema, value) => {
	const encoded = encode(context, schema, Clone(value));
	const prepared = clean(context, schema, convert(context, schema, defaults(context, schema, encoded)));
	if (!Check(context, schema, prepared)) throw new EncodeError("Encode", value, Errors(context, schema, prepared));
	return prepared;
});

/** Makes a value valid with the fewest changes. */
const Repair = withArgs((context, schema, value) => {
	const fix = (part, one) => {
		const [, open] = opened(context, part);
		if (one === undefined) return create(context, part);
		const converted = convert(context, open, Clone(one));
		if (Check(context, open, converted)) return converted;
		if (isObject(converted) && open.properties !== undefined) {
			const result = clean(context, open, converted);
			for (const name of open.required ?? []) result[name] = fix(open.properties[name], result[name]);
			for (const name of Object.keys(open.properties)) if (Object.hasOwn(result, name)) result[name] = fix(open.properties[name], result[name]);
			return result;
		}
		return create(context, part);
	};
	return fix(schema, value);
});

module.exports = {
	Assert, AssertError, Check, Clean, Clone, Convert, Create, CreateError, Decode, DecodeError, DecodeUnsafe: withArgs(decode), Default,
	Encode, EncodeError, EncodeUnsafe: withArgs(encode), Equal: equal, Errors, HasCodec, Parse, ParseError, Repair, copy,
	IsOptionalUndefined: (schema, key, value) => value[key] === undefined && !(schema.required ?? []).includes(key),
};
