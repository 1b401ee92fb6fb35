// Types written as TypeScript text: `Type.Script("{ a: string, b?: number }")`.

const types = require("pi:typebox/types");
const derive = require("pi:typebox/derive");

const TOKEN = /\s*(?:([A-Za-z_$][\w$]*)|(\d+(?:\.\d+)?)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(`(?:\\.|[^`\\])*`)|(=>|[{}()[\]<>|&?:;,.=-]))/y;

function tokenize(text) {
	const tokens = [];
	TOKEN.lastIndex = 0;
	while (/\S/.test(text.slice(TOKEN.lastIndex))) {
		const start = TOKEN.lastIndex;
		const match = TOKEN.exec(text);
		if (match === null) throw new SyntaxError(`Type.Script: unexpected text "${text.slice(start, start + 20).trim()}"`);
		tokens.push(match[0].trim());
	}
	return tokens;
}

const KEYWORDS = {
	string: "String", number: "Number", integer: "Integer", boolean: "Boolean", null: "Null", undefined: "Undefined", any: "Any",
	unknown: "Unknown", never: "Never", void: "Void", bigint: "BigInt", symbol: "Symbol",
};
const GENERICS = ["Partial", "Required", "Pick", "Omit", "Record", "Array", "Exclude", "Extract", "NonNullable", "Uppercase", "Lowercase", "Capitalize", "Uncapitalize"];

class Parser {
	constructor(context, text) {
		this.context = context;
		this.tokens = tokenize(text);
		this.at = 0;
	}
	peek() {
		return this.tokens[this.at];
	}
	take(expected) {
		const token = this.tokens[this.at];
		if (token === undefined || (expected !== undefined && token !== expected)) {
			throw new SyntaxError(`Type.Script: expected ${expected ?? "a type"} but found ${token ?? "the end"}`);
		}
		this.at++;
		return token;
	}
	accept(token) {
		if (this.peek() !== token) return false;
		this.at++;
		return true;
	}
	type() {
		this.accept("|");
		const parts = [this.intersection()];
		while (this.accept("|")) parts.push(this.intersection());
		return parts.length === 1 ? parts[0] : types.Union(parts);
	}
	intersection() {
		const parts = [this.postfix()];
		while (this.accept("&")) parts.push(this.postfix());
		return parts.length === 1 ? parts[0] : types.Intersect(parts);
	}
	postfix() {
		let type = this.primary();
		while (this.peek() === "[") {
			this.take("[");
			if (this.accept("]")) type = types.Array(type);
			else {
				type = derive.Index(type, this.type());
				this.take("]");
			}
		}
		return type;
	}
	primary() {
		const token = this.take();
		if (token === "(") {
			const type = this.type();
			this.take(")");
			return type;
		}
		if (token === "{") return this.object();
		if (token === "[") return this.tuple();
		if (token === "-") return types.Literal(-Number(this.take()));
		if (/^\d/.test(token)) return types.Literal(Number(token));
		if (/^["']/.test(token)) return types.Literal(token.slice(1, -1).replace(/\\(.)/g, "$1"));
		if (token.startsWith("`")) return types.TemplateLiteral(token.slice(1, -1));
		if (token === "true" || token === "false") return types.Literal(token === "true");
		if (token === "keyof") return derive.KeyOf(this.postfix());
		if (token === "readonly") return types.Readonly(this.postfix());
		if (Object.hasOwn(KEYWORDS, token)) return types[KEYWORDS[token]]();
		if (this.accept("<")) {
			const args = [this.type()];
			while (this.accept(",")) args.push(this.type());
			this.take(">");
			if (!GENERICS.includes(token)) throw new SyntaxError(`Type.Script: unknown generic type ${token}`);
			return (derive[token] ?? types[token])(...args);
		}
		if (Object.hasOwn(this.context, token)) return this.context[token];
		return types.Ref(token);
	}
	object() {
		const properties = {};
		while (!this.accept("}")) {
			const isReadonly = this.peek() === "readonly" && ![":", "?"].includes(this.tokens[this.at + 1]) && this.accept("readonly");
			if (this.accept("[")) {
				const key = this.type();
				this.accept(":");
				const keyType = this.peek() === "]" ? key : this.type();
				this.take("]");
				this.take(":");
				const value = this.type();
				this.accept(";") || this.accept(",");
				this.take("}");
				return types.Record(keyType, value);
			}
			const name = this.take().replace(/^(["'])(.*)\1$/, "$2");
			const isOptional = this.accept("?");
			this.take(":");
			let type = this.type();
			if (isReadonly) type = types.Readonly(type);
			properties[name] = isOptional ? types.Optional(type) : type;
			this.accept(";") || this.accept(",");
		}
		return types.Object(properties);
	}
	tuple() {
		const items = [];
		while (!this.accept("]")) {
			items.push(this.type());
			this.accept(",");
		}
		return types.Tuple(items);
	}
}

/** Returns the type of a text; the arguments are `[context,] text [, options]`. */
exports.Script = function Script(...args) {
	const [context, text, options] = typeof args[0] === "string" ? [{}, ...args] : args;
	const parser = new Parser(context, text);
	const type = parser.type();
	if (parser.peek() !== undefined) throw new SyntaxError(`Type.Script: unexpected ${parser.peek()}`);
	return Object.assign(type, options);
};
