// `typebox/value`.

const value = require("pi:typebox/value");
const delta = require("pi:typebox/delta");
const { missing } = require("pi:missing");

const Value = {};
for (const name of [
	"Assert", "Check", "Clean", "Clone", "Convert", "Create", "Decode", "Default", "Diff", "Encode", "Equal", "Errors", "HasCodec",
	"Hash", "Parse", "Patch", "Pointer", "Repair",
]) {
	Value[name] = value[name] ?? delta[name];
}

const { copy, ...functions } = value;
module.exports = { ...functions, ...delta, Value, default: Value };
for (const name of ["Parser", "Pipeline", "UnionPrioritySort", "UnionScoreSelect"]) module.exports[name] = missing(`typebox/value.${name}`);
