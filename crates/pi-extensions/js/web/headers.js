// Headers: names without case, several values joined.

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function checkName(name) {
	const text = String(name);
	if (!NAME.test(text)) throw new TypeError(`Headers.append: ${text} is an invalid header name.`);
	return text.toLowerCase();
}

function checkValue(value) {
	const text = String(value).replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, "");
	if (/[\0\r\n]/.test(text) || /[^\0-\xff]/.test(text)) throw new TypeError(`Headers.append: ${JSON.stringify(text)} is an invalid header value.`);
	return text;
}

class Headers {
	/** Lower-case name → values. */
	#map = new Map();
	constructor(init = undefined) {
		if (init === undefined) return;
		if (init === null || typeof init !== "object") throw new TypeError("Headers constructor: init is not an object");
		if (typeof init[Symbol.iterator] === "function") {
			for (const pair of init) {
				const [name, value] = [...pair];
				this.append(name, value);
			}
		} else for (const name of Reflect.ownKeys(init)) if (typeof name === "string") this.append(name, init[name]);
	}
	append(name, value) {
		const key = checkName(name);
		const values = this.#map.get(key);
		if (values === undefined) this.#map.set(key, [checkValue(value)]);
		else values.push(checkValue(value));
	}
	set(name, value) { this.#map.set(checkName(name), [checkValue(value)]); }
	get(name) { return this.#map.get(checkName(name))?.join(", ") ?? null; }
	has(name) { return this.#map.has(checkName(name)); }
	delete(name) { this.#map.delete(checkName(name)); }
	getSetCookie() { return [...(this.#map.get("set-cookie") ?? [])]; }
	forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
	*entries() {
		for (const name of [...this.#map.keys()].sort()) {
			const values = this.#map.get(name);
			if (name === "set-cookie") for (const value of values) yield [name, value];
			else yield [name, values.join(", ")];
		}
	}
	*keys() { for (const [name] of this.entries()) yield name; }
	*values() { for (const [, value] of this.entries()) yield value; }
	[Symbol.iterator]() { return this.entries(); }
	[Symbol.for("nodejs.util.inspect.custom")](_depth, _options, inspect) { return `Headers ${inspect(Object.fromEntries(this))}`; }
}
Object.defineProperty(Headers.prototype, Symbol.toStringTag, { value: "Headers", configurable: true });

module.exports = { Headers };
