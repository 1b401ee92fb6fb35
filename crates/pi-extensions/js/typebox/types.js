// The builders of plain types.

const { mark, create, copy, without, isObject, isKind, isOptional, requiredNames } = require("pi:typebox/schema");
const template = require("pi:typebox/template");

const simple = (kind, type) => (options) => create(kind, { type }, options);

const TString = simple("String", "string");
const TNumber = simple("Number", "number");
const Integer = simple("Integer", "integer");
const TBoolean = simple("Boolean", "boolean");
const Null = simple("Null", "null");
const Undefined = simple("Undefined", "undefined");
const Void = simple("Void", "void");
const TBigInt = simple("BigInt", "bigint");
const TSymbol = simple("Symbol", "symbol");
const Any = (options) => create("Any", {}, options);
const Unknown = (options) => create("Unknown", {}, options);
const Never = (options) => create("Never", { not: {} }, options);

function Literal(value, options) {
	return create("Literal", { type: typeof value, const: value }, options);
}

function TArray(items, options) {
	return create("Array", { type: "array", items }, options);
}

function Tuple(items, options) {
	return create("Tuple", { type: "array", additionalItems: false, items, minItems: items.length }, options);
}

function TObject(properties, options) {
	const required = requiredNames(properties);
	const fields = required.length === 0 ? { type: "object", properties } : { type: "object", required, properties };
	return create("Object", fields, options);
}

function Union(types, options) {
	return create("Union", { anyOf: types }, options);
}

function Intersect(types, options) {
	return create("Intersect", { allOf: types }, options);
}

/** Returns the values of an enum of TypeScript, of an object or of a list. */
function TypeScriptEnumToEnumValues(type) {
	// Numeric members of a TypeScript enum have an entry back from number to name.
	return Object.keys(type).filter((key) => Number.isNaN(Number(key))).map((key) => type[key]);
}

function Enum(values, options) {
	return create("Enum", { enum: Array.isArray(values) ? values : TypeScriptEnumToEnumValues(values) }, options);
}

const Optional = (schema) => mark(copy(schema), "~optional", true);
const Readonly = (schema) => mark(copy(schema), "~readonly", true);
const Immutable = (schema) => mark(copy(schema), "~immutable", true);
const With = (schema, options) => copy(schema, options);

function Unsafe(schema) {
	return mark(copy(isObject(schema) ? schema : {}), "~unsafe", null);
}

const Ref = (name, options) => create("Ref", { $ref: name }, options);
const This = (options) => create("This", { $ref: "#" }, options);
const Rest = (items) => create("Rest", { type: "rest", items });
const Identifier = (name) => create("Identifier", { name });
const Parameter = (name, extending, equals) => create("Parameter", { name, extends: extending ?? Unknown(), equals: equals ?? Unknown() });

function TFunction(parameters, returnType, options) {
	return create("Function", { type: "function", parameters, returnType }, options);
}

function Constructor(parameters, instanceType, options) {
	return create("Constructor", { type: "constructor", parameters, instanceType }, options);
}

function Dependent(condition, then, otherwise, options) {
	return create("Dependent", { if: condition, then, else: otherwise }, options);
}

/** A type that refers to itself: definitions and the name of the one that is meant. */
function Cyclic(definitions, name, options) {
	const $defs = {};
	for (const key of Object.keys(definitions)) $defs[key] = copy(definitions[key], { $id: key });
	return create("Cyclic", { $defs, $ref: name }, options);
}

const StringKey = "^.*$";
const IntegerKey = "^-?(?:0|[1-9][0-9]*)$";
const NumberKey = "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$";

/** Returns the finite keys of a key type, or the pattern of its keys. */
function recordKeys(key) {
	if (key?.enum !== undefined) return { names: key.enum.map(String) };
	if (key?.const !== undefined) return { names: [String(key.const)] };
	if (key?.anyOf !== undefined) {
		const parts = key.anyOf.map(recordKeys);
		if (parts.every((part) => part.names !== undefined)) return { names: parts.flatMap((part) => part.names) };
		return { pattern: parts.length === 1 ? parts[0].pattern : StringKey };
	}
	if (isKind(key, "TemplateLiteral")) {
		const names = template.finiteValues(key.pattern);
		return names === undefined ? { pattern: key.pattern } : { names };
	}
	if (key?.type === "integer") return { pattern: IntegerKey };
	if (key?.type === "number") return { pattern: NumberKey };
	return { pattern: typeof key?.pattern === "string" ? key.pattern : StringKey };
}

function Record(key, value, options) {
	const { names, pattern } = recordKeys(key);
	if (names !== undefined) {
		return Object.assign(TObject(Object.fromEntries(names.map((name) => [name, value]))), options);
	}
	return Object.assign(create("Record", { type: "object", patternProperties: { [pattern]: value } }), options);
}

const RecordFromPattern = (pattern, value) => create("Record", { type: "object", patternProperties: { [pattern]: value } });
const RecordPattern = (record) => Object.keys(record.patternProperties)[0];
const RecordValue = (record) => record.patternProperties[RecordPattern(record)];

function RecordKey(record) {
	const pattern = RecordPattern(record);
	if (pattern === StringKey) return TString();
	if (pattern === IntegerKey) return Integer();
	if (pattern === NumberKey) return TNumber();
	return TString({ pattern });
}

function TemplateLiteral(parts, options) {
	return create("TemplateLiteral", { type: "string", pattern: template.patternOf(parts) }, options);
}

/** The second step of a codec. */
class EncodeBuilder {
	constructor(type, decode) {
		this.type = type;
		this.decode = decode;
	}
	Encode(encode) {
		return withCodec(this.type, this.decode, encode);
	}
}

/** The first step of a codec. */
class DecodeBuilder {
	constructor(type) {
		this.type = type;
	}
	Decode(decode) {
		return new EncodeBuilder(this.type, decode);
	}
}

function withCodec(type, decode, encode) {
	const before = type["~codec"];
	const codec = before === undefined
		? { decode, encode }
		: { decode: (value) => decode(before.decode(value)), encode: (value) => before.encode(encode(value)) };
	return mark(copy(type), "~codec", codec);
}

const Codec = (type) => new DecodeBuilder(type);

const Decode = (type, decode) => withCodec(type, decode, () => {
	throw new Error("Encode not implemented");
});
const Encode = (type, encode) => withCodec(type, () => {
	throw new Error("Decode not implemented");
}, encode);

/** Adds a condition that a value must meet. */
function Refine(type, check, error) {
	const refinement = error === undefined ? { check } : { check, error };
	return mark(copy(type), "~refine", [...(type["~refine"] ?? []), refinement]);
}

const guards = {};
for (const kind of [
	"Any", "Array", "BigInt", "Boolean", "Call", "Constructor", "Cyclic", "Dependent", "Enum", "Function", "Generic", "Identifier",
	"Infer", "Integer", "Intersect", "Literal", "Never", "Null", "Number", "Object", "Parameter", "Record", "Ref", "Rest", "String",
	"Symbol", "TemplateLiteral", "This", "Tuple", "Undefined", "Union", "Unknown", "Void", "Deferred",
]) {
	guards[`Is${kind}`] = (schema) => isKind(schema, kind);
}
const has = (name) => (schema) => isObject(schema) && Object.hasOwn(schema, name);
Object.assign(guards, {
	IsKind: isKind,
	IsOptional: isOptional,
	IsReadonly: has("~readonly"),
	IsImmutable: has("~immutable"),
	IsCodec: has("~codec"),
	IsRefine: has("~refine"),
	IsUnsafe: has("~unsafe"),
	IsSchema: (value) => isObject(value),
	IsEnumValue: (value) => typeof value === "string" || typeof value === "number",
	IsTypeScriptEnumLike: (value) => isObject(value),
	IsLiteralValue: (value) => ["string", "number", "boolean", "bigint"].includes(typeof value),
	IsLiteralString: (schema) => isKind(schema, "Literal") && typeof schema.const === "string",
	IsLiteralNumber: (schema) => isKind(schema, "Literal") && typeof schema.const === "number",
	IsLiteralBoolean: (schema) => isKind(schema, "Literal") && typeof schema.const === "boolean",
	IsLiteralBigInt: (schema) => isKind(schema, "Literal") && typeof schema.const === "bigint",
});

module.exports = {
	...guards,
	Any, Array: TArray, BigInt: TBigInt, Boolean: TBoolean, Codec, Constructor, Cyclic, Decode, DecodeBuilder, Dependent, Encode,
	EncodeBuilder, Enum, Function: TFunction, Identifier, Immutable, Integer, Intersect, Literal, Never, Null, Number: TNumber,
	Object: TObject, Optional, Parameter, Readonly, Record, RecordFromPattern, RecordKey, RecordPattern, RecordValue, Ref, Refine, Rest,
	String: TString, Symbol: TSymbol, TemplateLiteral, This, Tuple, TypeScriptEnumToEnumValues, Undefined, Union, Unknown, Unsafe, Void,
	With, StringKey, IntegerKey, NumberKey,
	RemoveOptional: (schema) => without(schema, "~optional"),
	RemoveReadonly: (schema) => without(schema, "~readonly"),
	RemoveImmutable: (schema) => without(schema, "~immutable"),
	AddOptional: Optional, AddReadonly: Readonly, AddImmutable: Immutable,
};
