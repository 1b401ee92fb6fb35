// Validators: a schema with the functions of `typebox/value` bound to it.

const value = require("pi:typebox/value");
const { missing } = require("pi:missing");

/** Checks values of one schema. */
class Validator {
	#context;
	#schema;
	constructor(context, schema) {
		this.#context = context;
		this.#schema = schema;
	}
	IsAccelerated() {
		return false;
	}
	Context() {
		return this.#context;
	}
	Type() {
		return this.#schema;
	}
	Code() {
		return "";
	}
	Check(one) {
		return value.Check(this.#context, this.#schema, one);
	}
	Parse(one) {
		return value.Parse(this.#context, this.#schema, one);
	}
	Errors(one) {
		return value.Errors(this.#context, this.#schema, one);
	}
	Clean(one) {
		return value.Clean(this.#context, this.#schema, one);
	}
	Convert(one) {
		return value.Convert(this.#context, this.#schema, one);
	}
	Create() {
		return value.Create(this.#context, this.#schema);
	}
	Default(one) {
		return value.Default(this.#context, this.#schema, one);
	}
	Decode(one) {
		return value.Decode(this.#context, this.#schema, one);
	}
	Encode(one) {
		return value.Encode(this.#context, this.#schema, one);
	}
}

/** Returns a validator; the arguments are `[context,] schema`. */
function Compile(...args) {
	return args.length >= 2 ? new Validator(args[0], args[1]) : new Validator({}, args[0]);
}

module.exports = { Code: missing("typebox/compile.Code"), Compile, Validator, default: Compile };
