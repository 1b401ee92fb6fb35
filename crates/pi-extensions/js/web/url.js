// URL and URLSearchParams.

const native = require("native:url");
const { codeError } = require("pi:node-errors");

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

function parse(input, base) {
	const text = String(input).toWellFormed();
	const parts = base === undefined ? native.parse(text) : native.parse(text, String(base).toWellFormed());
	return parts ?? undefined;
}

class URL {
	#parts;
	#params;
	constructor(input, base = undefined) {
		if (arguments.length === 0) throw codeError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
		const parts = parse(input, base);
		if (parts === undefined) {
			const error = codeError(TypeError, "ERR_INVALID_URL", "Invalid URL");
			error.input = String(input);
			if (base !== undefined) error.base = String(base);
			throw error;
		}
		this.#parts = parts;
	}
	static canParse(input, base = undefined) { return parse(input, base) !== undefined; }
	static parse(input, base = undefined) { return URL.canParse(input, base) ? new URL(input, base) : null; }
	static createObjectURL() { throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "URL.createObjectURL is not available in this extension host"); }
	static revokeObjectURL() {}

	get searchParams() {
		this.#params ??= linkParams(this.search, (text) => { this.#set("search", text); });
		return this.#params;
	}
	toString() { return this.href; }
	toJSON() { return this.href; }

	#set(part, value) {
		const parts = native.set(this.#parts[0], part, String(value).toWellFormed());
		if (parts !== null && parts !== undefined) this.#parts = parts;
		else if (part === "href") throw codeError(TypeError, "ERR_INVALID_URL", "Invalid URL");
	}
	static {
		for (const [index, name] of PARTS.entries()) {
			Object.defineProperty(URL.prototype, name, {
				configurable: true, enumerable: true,
				get() { return this.#parts[index]; },
				set: name === "origin" ? undefined : function (value) {
					this.#set(name, value);
					if (this.#params !== undefined && (name === "search" || name === "href")) resetParams(this.#params, this.search);
				},
			});
		}
	}
	[INSPECT](_depth, options, inspect) {
		const shown = Object.fromEntries(PARTS.slice(0, -1).map((name) => [name, this[name]]));
		return `URL ${inspect({ ...shown, searchParams: this.searchParams, hash: this.hash }, options)}`;
	}
}
Object.defineProperty(URL.prototype, "searchParams", { enumerable: true });
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: "URL", configurable: true });

const decode = (text) => native.decodeForm(text);
const encode = (text) => native.encodeForm(text.toWellFormed());

function parseQuery(text) {
	const query = text.startsWith("?") ? text.slice(1) : text;
	return query.split("&").filter((part) => part !== "").map((part) => {
		const at = part.indexOf("=");
		return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
	});
}

let linkParams;
let resetParams;

class URLSearchParams {
	#list = [];
	/** Tells the URL that owns these of a change. */
	#changed = () => {};
	constructor(init = undefined) {
		if (init === undefined || init === null) return;
		if (typeof init === "object" || typeof init === "function") {
			if (typeof init[Symbol.iterator] === "function") {
				for (const pair of init) {
					const values = pair !== null && typeof pair === "object" ? [...pair] : [];
					if (values.length !== 2) throw codeError(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
					this.#list.push([String(values[0]).toWellFormed(), String(values[1]).toWellFormed()]);
				}
			} else for (const key of Reflect.ownKeys(init)) if (typeof key === "string") this.#list.push([key.toWellFormed(), String(init[key]).toWellFormed()]);
		} else this.#list = parseQuery(String(init).toWellFormed());
	}
	static {
		linkParams = (search, changed) => {
			const params = new URLSearchParams(search);
			params.#changed = () => changed(params.toString());
			return params;
		};
		resetParams = (params, search) => { params.#list = parseQuery(search); };
	}
	get size() { return this.#list.length; }
	append(name, value) {
		this.#list.push([String(name).toWellFormed(), String(value).toWellFormed()]);
		this.#changed();
	}
	delete(name, value = undefined) {
		const key = String(name);
		this.#list = this.#list.filter(([one, text]) => one !== key || (value !== undefined && text !== String(value)));
		this.#changed();
	}
	get(name) { return this.#list.find(([one]) => one === String(name))?.[1] ?? null; }
	getAll(name) { return this.#list.filter(([one]) => one === String(name)).map(([, value]) => value); }
	has(name, value = undefined) { return this.#list.some(([one, text]) => one === String(name) && (value === undefined || text === String(value))); }
	set(name, value) {
		const key = String(name).toWellFormed();
		const at = this.#list.findIndex(([one]) => one === key);
		if (at < 0) this.#list.push([key, String(value).toWellFormed()]);
		else {
			this.#list[at] = [key, String(value).toWellFormed()];
			this.#list = this.#list.filter(([one], index) => one !== key || index <= at);
		}
		this.#changed();
	}
	sort() {
		this.#list = this.#list.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
		this.#changed();
	}
	forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
	toString() { return this.#list.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&"); }
	*entries() { for (let at = 0; at < this.#list.length; at++) yield [...this.#list[at]]; }
	*keys() { for (const [name] of this.entries()) yield name; }
	*values() { for (const [, value] of this.entries()) yield value; }
	[Symbol.iterator]() { return this.entries(); }
	[INSPECT](_depth, _options, inspect) {
		const list = this.#list.map(([name, value]) => `${inspect(name)} => ${inspect(value)}`);
		return `URLSearchParams {${list.length > 0 ? ` ${list.join(", ")} ` : ""}}`;
	}
}
Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { value: "URLSearchParams", configurable: true });

module.exports = { URL, URLSearchParams };
