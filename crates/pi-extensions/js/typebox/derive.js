// Types that are made of other types: parts, keys, conditions, letter case.

const types = require("pi:typebox/types");
const { copy, isKind, isOptional, kindOf, mark } = require("pi:typebox/schema");
const { finiteValues } = require("pi:typebox/template");

const { IsUnion, Literal, Never, Optional, RemoveOptional, RemoveReadonly, Union } = types;

/** Returns one type for a list of choices. */
function choice(list) {
	if (list.length === 0) return Never();
	return list.length === 1 ? list[0] : Union(list);
}

/** Returns the properties of a type, those of all parts of an intersection or union. */
function propertiesOf(type) {
	if (type.properties !== undefined) return type.properties;
	if (type.allOf !== undefined) {
		const result = {};
		for (const part of type.allOf) {
			const properties = propertiesOf(part);
			for (const name of Object.keys(properties)) {
				result[name] = Object.hasOwn(result, name) ? evaluateParts([result[name], properties[name]]) : properties[name];
			}
		}
		return result;
	}
	if (isKind(type, "Cyclic")) return propertiesOf(type.$defs[type.$ref]);
	if (isKind(type, "Tuple")) return Object.fromEntries(type.items.map((item, index) => [index, item]));
	return {};
}

/** Returns the keys that a list or a type of literals names. */
function keysOf(keys) {
	if (Array.isArray(keys)) return keys.map(String);
	if (keys.const !== undefined) return [String(keys.const)];
	if (keys.anyOf !== undefined) return keys.anyOf.flatMap(keysOf);
	if (keys.enum !== undefined) return keys.enum.map(String);
	if (isKind(keys, "TemplateLiteral")) return finiteValues(keys.pattern) ?? [];
	return [];
}

/** Applies a change of properties to an object, or to each choice of a union. */
function changed(type, options, change) {
	if (IsUnion(type)) return copy(choice(type.anyOf.map((part) => changed(part, undefined, change))), options);
	return copy(types.Object(change(propertiesOf(type))), options);
}

const mapValues = (object, map) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));

const Partial = (type, options) => changed(type, options, (properties) => mapValues(properties, Optional));
const Required = (type, options) => changed(type, options, (properties) => mapValues(properties, RemoveOptional));
const ReadonlyObject = (type, options) => changed(type, options, (properties) => mapValues(properties, types.Readonly));

function Pick(type, keys, options) {
	const names = new Set(keysOf(keys));
	return changed(type, options, (properties) => Object.fromEntries(Object.entries(properties).filter(([name]) => names.has(name))));
}

function Omit(type, keys, options) {
	const names = new Set(keysOf(keys));
	return changed(type, options, (properties) => Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name))));
}

function KeyOf(type, options) {
	if (isKind(type, "Record")) return copy(types.RecordKey(type), options);
	if (isKind(type, "Array")) return copy(types.Number(), options);
	return copy(choice(Object.keys(propertiesOf(type)).map((name) => Literal(name))), options);
}

function Index(type, keys, options) {
	if (isKind(type, "Array")) return copy(type.items, options);
	if (isKind(type, "Record")) return copy(types.RecordValue(type), options);
	const properties = propertiesOf(type);
	const found = keysOf(keys).filter((name) => Object.hasOwn(properties, name)).map((name) => RemoveOptional(RemoveReadonly(properties[name])));
	return copy(choice(found), options);
}

const Interface = (heritage, properties, options) =>
	copy(types.Object({ ...Object.assign({}, ...heritage.map(propertiesOf)), ...properties }), options);

const Composite = (list, options) => copy(types.Object(propertiesOf({ allOf: list })), options);

/** Returns the one type that several types have in common. */
function evaluateParts(parts) {
	const flat = parts.flatMap((part) => part.allOf ?? [part]);
	const union = flat.findIndex((part) => IsUnion(part));
	if (union >= 0) {
		const others = flat.filter((_, at) => at !== union);
		const results = flat[union].anyOf.map((one) => evaluateParts([one, ...others])).filter((one) => !isKind(one, "Never"));
		return choice(results);
	}
	if (flat.length > 0 && flat.every((part) => part.properties !== undefined)) return Composite(flat);
	const isOptionalResult = flat.length > 0 && flat.every(isOptional);
	let result = flat[0] === undefined ? types.Unknown() : RemoveOptional(flat[0]);
	for (const part of flat.slice(1)) {
		if (extendsType(result, part)) continue;
		if (!extendsType(part, result)) return Never();
		result = part;
	}
	return isOptionalResult ? Optional(result) : result;
}

const Evaluate = (type, options) => {
	if (type.allOf !== undefined) return copy(evaluateParts(type.allOf), options);
	if (IsUnion(type)) return copy(choice(type.anyOf.map((part) => Evaluate(part))), options);
	return copy(type, options);
};

/** Returns true if every value of the left type is one of the right type. */
function extendsType(left, right) {
	if (["Any", "Unknown"].includes(kindOf(right)) || isKind(left, "Never")) return true;
	if (isKind(right, "Never")) return false;
	if (IsUnion(left)) return left.anyOf.every((part) => extendsType(part, right));
	if (left.enum !== undefined) return left.enum.every((value) => extendsType(Literal(value), right));
	if (IsUnion(right)) return right.anyOf.some((part) => extendsType(left, part));
	if (right.enum !== undefined) return right.enum.includes(left.const);
	if (right.allOf !== undefined) return right.allOf.every((part) => extendsType(left, part));
	if (left.allOf !== undefined) return extendsType(Evaluate(left), right);
	if (right.const !== undefined) return left.const === right.const;
	if (isKind(right, "Object")) {
		const properties = left.properties;
		if (properties === undefined) return false;
		return Object.entries(right.properties).every(([name, wanted]) =>
			Object.hasOwn(properties, name) ? extendsType(properties[name], wanted) && (isOptional(wanted) || !isOptional(properties[name])) : isOptional(wanted));
	}
	if (isKind(right, "Record")) {
		const value = types.RecordValue(right);
		if (isKind(left, "Record")) return extendsType(types.RecordValue(left), value);
		return left.properties !== undefined && Object.values(left.properties).every((one) => extendsType(one, value));
	}
	if (isKind(right, "Tuple")) {
		return isKind(left, "Tuple") && left.items.length === right.items.length && left.items.every((item, at) => extendsType(item, right.items[at]));
	}
	if (isKind(right, "Array")) {
		if (isKind(left, "Tuple")) return left.items.every((item) => extendsType(item, right.items));
		return isKind(left, "Array") && extendsType(left.items, right.items);
	}
	if (left.type === "integer" && right.type === "number") return true;
	return left.type !== undefined && left.type === right.type;
}

const Conditional = (left, right, yes, no, options) => copy(extendsType(left, right) ? yes : no, options);

const partsOf = (type) => (type.enum !== undefined ? type.enum.map((value) => Literal(value)) : type.anyOf ?? [type]);
const Exclude = (type, other, options) => copy(choice(partsOf(type).filter((part) => !extendsType(part, other))), options);
const Extract = (type, other, options) => copy(choice(partsOf(type).filter((part) => extendsType(part, other))), options);
const NonNullable = (type, options) => Exclude(type, Union([types.Null(), types.Undefined()]), options);

/** Changes the letter case of all literals of a type. */
function recase(change) {
	const apply = (type, options) => {
		if (typeof type.const === "string") return copy(Literal(change(type.const)), options);
		if (type.anyOf !== undefined) return copy(Union(type.anyOf.map((part) => apply(part))), options);
		return copy(type, options);
	};
	return apply;
}
const Uppercase = recase((text) => text.toUpperCase());
const Lowercase = recase((text) => text.toLowerCase());
const Capitalize = recase((text) => text.charAt(0).toUpperCase() + text.slice(1));
const Uncapitalize = recase((text) => text.charAt(0).toLowerCase() + text.slice(1));

const Parameters = (type, options) => types.Tuple(type.parameters, options);
const ConstructorParameters = Parameters;
const ReturnType = (type, options) => copy(type.returnType, options);
const InstanceType = (type, options) => copy(type.instanceType, options);

/** Replaces references by the types of a table. A reference into a cycle stays. */
function Instantiate(table, type) {
	const replace = (value, open) => {
		if (Array.isArray(value)) return value.map((item) => replace(item, open));
		if (value === null || typeof value !== "object") return value;
		if (isKind(value, "Ref") && Object.hasOwn(table, value.$ref)) {
			return open.includes(value.$ref) ? value : replace(table[value.$ref], [...open, value.$ref]);
		}
		const result = copy(value);
		for (const name of Object.keys(result)) result[name] = replace(result[name], open);
		if (result["~kind"] === "Object" && value.properties !== undefined) return mark(result, "~kind", "Object");
		return result;
	};
	return replace(type, []);
}

/** Resolves the references of several definitions among each other. */
function Module(definitions) {
	const reaches = (name, wanted, seen) => {
		const refs = [...JSON.stringify(definitions[name]).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]);
		return refs.some((ref) => ref === wanted || (Object.hasOwn(definitions, ref) && !seen.has(ref) && reaches(ref, wanted, seen.add(ref))));
	};
	const result = {};
	for (const name of Object.keys(definitions)) {
		result[name] = reaches(name, name, new Set([name])) ? types.Cyclic(definitions, name) : Instantiate(definitions, definitions[name]);
	}
	return result;
}

/** Builds an object with one property for each key. */
function Mapped(identifier, keys, property, options) {
	const entries = keysOf(keys).map((name) => [name, Instantiate({ [identifier.name]: Literal(name) }, property)]);
	return types.Object(Object.fromEntries(entries), options);
}

module.exports = {
	Capitalize, Composite, Conditional, ConstructorParameters, Evaluate, Exclude, Extract, Index, InstanceType, Instantiate, Interface,
	KeyOf, Lowercase, Mapped, Module, NonNullable, Omit, Parameters, Partial, Pick, PropertyKeys: (properties) => Object.keys(properties),
	PropertyValues: (properties) => Object.values(properties), ReadonlyObject, ReadonlyType: ReadonlyObject, Required, ReturnType,
	Uncapitalize, Uppercase, extendsType,
};
