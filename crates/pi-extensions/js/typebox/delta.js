// Differences of values: edits, pointers, hashes.

const { equal } = require("pi:typebox/check");
const { isObject } = require("pi:typebox/schema");

const unescape = (part) => part.replaceAll("~1", "/").replaceAll("~0", "~");
const escape = (part) => String(part).replaceAll("~", "~0").replaceAll("/", "~1");
const Indices = (pointer) => (pointer === "" ? [] : pointer.slice(1).split("/").map(unescape));

function Get(value, pointer) {
	let at = value;
	for (const part of Indices(pointer)) at = at?.[part];
	return at;
}

function Has(value, pointer) {
	const parts = Indices(pointer);
	const last = parts.pop();
	if (last === undefined) return true;
	const parent = Get(value, parts.map((part) => `/${escape(part)}`).join(""));
	return parent !== null && typeof parent === "object" && Object.hasOwn(parent, last);
}

/** Returns the object that holds the last part of a pointer, made if it is absent. */
function holder(value, parts) {
	let at = value;
	for (const part of parts) {
		if (at[part] === null || typeof at[part] !== "object") at[part] = {};
		at = at[part];
	}
	return at;
}

function Set(value, pointer, update) {
	const parts = Indices(pointer);
	const last = parts.pop();
	if (last === undefined) return update;
	if (["__proto__", "constructor", "prototype"].some((name) => last === name || parts.includes(name))) throw new Error(`Invalid pointer: ${pointer}`);
	holder(value, parts)[last] = update;
	return value;
}

function Delete(value, pointer) {
	const parts = Indices(pointer);
	const last = parts.pop();
	const parent = last === undefined ? undefined : Get(value, parts.map((part) => `/${escape(part)}`).join(""));
	if (Array.isArray(parent)) parent.splice(Number(last), 1);
	else if (isObject(parent)) delete parent[last];
	return value;
}

/** Returns the edits that turn one value into another. */
function Diff(left, right, path = "") {
	if (equal(left, right)) return [];
	if (isObject(left) && isObject(right)) {
		const edits = [];
		for (const key of Object.keys(right)) if (!Object.hasOwn(left, key)) edits.push({ type: "insert", path: `${path}/${escape(key)}`, value: right[key] });
		for (const key of Object.keys(left)) if (Object.hasOwn(right, key)) edits.push(...Diff(left[key], right[key], `${path}/${escape(key)}`));
		for (const key of Object.keys(left)) if (!Object.hasOwn(right, key)) edits.push({ type: "delete", path: `${path}/${escape(key)}` });
		return edits;
	}
	if (Array.isArray(left) && Array.isArray(right)) {
		const edits = [];
		const common = Math.min(left.length, right.length);
		for (let at = 0; at < common; at++) edits.push(...Diff(left[at], right[at], `${path}/${at}`));
		for (let at = common; at < right.length; at++) edits.push({ type: "insert", path: `${path}/${at}`, value: right[at] });
		for (let at = left.length - 1; at >= common; at--) edits.push({ type: "delete", path: `${path}/${at}` });
		return edits;
	}
	return [{ type: "update", path, value: right }];
}

/** Applies edits to a copy of a value. */
function Patch(value, edits) {
	const { Clone } = require("pi:typebox/value");
	let result = Clone(value);
	for (const edit of edits) {
		if (edit.path === "") result = Clone(edit.value);
		else if (edit.type === "delete") Delete(result, edit.path);
		else Set(result, edit.path, Clone(edit.value));
	}
	return result;
}

/** Returns a hash of 64 bits (FNV-1a over the JSON of the value, with sorted keys). */
function Hash(value) {
	const sorted = (one) => {
		if (Array.isArray(one)) return one.map(sorted);
		if (isObject(one)) return Object.fromEntries(Object.keys(one).sort().map((key) => [key, sorted(one[key])]));
		return typeof one === "bigint" ? `${one}n` : one;
	};
	const text = `${typeof value}:${JSON.stringify(sorted(value))}`;
	let hash = 0xcbf29ce484222325n;
	for (let at = 0; at < text.length; at++) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
	return hash.toString(16).padStart(16, "0");
}

const { create } = require("pi:typebox/schema");
const edit = (type, fields) => create("Object", { type: "object", properties: { type: { const: type }, ...fields } });
const Insert = edit("insert", { path: { type: "string" }, value: {} });
const Update = edit("update", { path: { type: "string" }, value: {} });
const Delete_ = edit("delete", { path: { type: "string" } });

module.exports = {
	Diff, Patch, Hash, Pointer: { Delete, Get, Has, Indices, Set },
	Insert, Update, Delete: Delete_, Edit: create("Union", { anyOf: [Insert, Update, Delete_] }),
};
