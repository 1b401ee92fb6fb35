// The globals of a codemode script. The value is a function that receives the functions of Rust
// and returns `run` and `settle`. Everything that a script could replace is taken at the start, so
// that a script that changes prototypes only changes its own view.
(function (host) {
	"use strict";
	const { parse, stringify } = JSON;
	const { freeze, defineProperty, create, keys } = Object;
	const { ownKeys, getOwnPropertyDescriptor, has } = Reflect;
	const call = Function.prototype.call;
	const then = call.bind(Promise.prototype.then);
	const wellFormed = call.bind(String.prototype.toWellFormed);
	const NativePromise = Promise;
	const NativeError = Error;
	const NativeTypeError = TypeError;
	const string = String;
	const isArray = Array.isArray;
	const { isSafeInteger } = Number;

	// The engine loops over lengths in native code, which cannot be interrupted. No array of more
	// elements fits into the memory of a script.
	const MOST_ELEMENTS = 2 ** 24;
	const prototype = Array.prototype;
	const RangeProblem = RangeError;
	const apply = Reflect.apply;
	const unbounded = ["at", "constructor", "entries", "keys", "pop", "push", "values"];
	for (const name of Object.getOwnPropertyNames(prototype)) {
		const method = prototype[name];
		if (typeof method !== "function" || unbounded.includes(name)) continue;
		const bounded = {
			[name](...args) {
				if (this?.length > MOST_ELEMENTS) {
					throw new RangeProblem(`${name}: a length of more than ${MOST_ELEMENTS} is not supported`);
				}
				return apply(method, this, args);
			},
		}[name];
		defineProperty(bounded, "length", { value: method.length });
		defineProperty(prototype, name, { value: bounded, writable: true, configurable: true });
	}

	const safe = (text) => wellFormed(string(text));

	/** Returns a value as text: strings as they are, other values as JSON. Throws for others. */
	function format(value) {
		if (value === null || typeof value !== "object" || value instanceof NativeError) return safe(value);
		return safe(stringify(value) ?? value);
	}

	/** Returns a value as text for the console, whatever it is. */
	function inspect(value) {
		try {
			return format(value);
		} catch {
			return "[a value that is not JSON]";
		}
	}

	/** Throws the text that a function of Rust returned in place of nothing. */
	function check(problem) {
		if (problem !== undefined) throw new NativeError(problem);
	}

	/** The promises of calls that have no result yet, by number. */
	const pending = create(null);

	function request(name, args) {
		const number = host.request(name, args);
		if (typeof number === "string") return NativePromise.reject(new NativeError(number));
		return new NativePromise((resolve, reject) => {
			pending[number] = { resolve, reject };
		});
	}

	function settle(number, isError, text) {
		const { resolve, reject } = pending[number];
		delete pending[number];
		if (isError) return reject(new NativeError(text));
		try {
			resolve(text === undefined ? undefined : parse(text));
		} catch (error) {
			reject(error);
		}
	}

	function callTool(name, args) {
		if (args !== undefined && (args === null || typeof args !== "object" || isArray(args))) {
			const problem = "The arguments of a tool are one object, such as tools.read({ path }).";
			return NativePromise.reject(new NativeTypeError(problem));
		}
		let text;
		try {
			text = stringify(args ?? {});
		} catch (error) {
			return NativePromise.reject(error);
		}
		return request(name, text ?? "{}");
	}

	/** The methods of `tools`, made when the script first uses one. */
	let methods;
	function toolMethods() {
		if (methods === undefined) {
			methods = create(null);
			const names = parse(host.toolNames());
			for (const id of keys(names)) methods[id] = (args) => callTool(names[id], args);
		}
		return methods;
	}
	const tools = new Proxy(create(null), {
		get(_target, key) {
			if (typeof key !== "string" || key === "then" || key === "toJSON") return undefined;
			const method = toolMethods()[key];
			if (method !== undefined) return method;
			const named = host.findTool(safe(key));
			if (named !== undefined) return (args) => callTool(named, args);
			const near = host.similarTools(safe(key));
			const meant = near === undefined ? "" : ` Did you mean ${near}?`;
			throw new NativeTypeError(
				`There is no tool tools.${key}.${meant} Find tools with ALL_TOOLS or searchTools(query); test with ("${key}" in tools).`,
			);
		},
		has: (_target, key) => has(toolMethods(), key),
		ownKeys: () => ownKeys(toolMethods()),
		getOwnPropertyDescriptor: (_target, key) => getOwnPropertyDescriptor(toolMethods(), key),
		set: () => false,
		defineProperty: () => false,
		deleteProperty: () => false,
	});

	const log = (...values) => {
		let line = "";
		for (let at = 0; at < values.length; at++) line += (at === 0 ? "" : " ") + inspect(values[at]);
		check(host.console(line));
	};
	const reading = (text) => (text === undefined ? undefined : parse(text));
	const models = {};
	for (const name of ["getModelsOfType", "getAvailableOfType", "getModelOfType", "classify", "generateImages"]) {
		models[name] = async (...args) => reading(host.models(name, stringify(args)));
	}

	/** Throws unless a condition holds. */
	function expect(holds, problem) {
		if (!holds) throw new NativeTypeError(problem);
	}

	function checkKey(name, key) {
		expect(typeof key === "string", `The key of ${name}() is a string.`);
	}

	class Exit extends NativeError {}

	const globals = {
		tools,
		models: freeze(models),
		console: freeze({ log, info: log, warn: log, error: log, debug: log }),
		text: (value) => check(host.text(format(value))),
		image: (value) => {
			const given = typeof value === "string" ? { image_url: value } : value;
			check(host.image(stringify(given) ?? "null"));
		},
		exit: () => {
			host.exit();
			throw new Exit("The script has ended.");
		},
		store: (key, value) => {
			checkKey("store", key);
			const text = stringify(value);
			// Only `undefined` removes a key.
			expect(text !== undefined || value === undefined, `store("${key}"): the value is not JSON.`);
			check(host.store(safe(key), text));
		},
		load: (key) => {
			checkKey("load", key);
			return reading(host.load(safe(key)));
		},
		searchTools: async (query, options) => {
			const { limit = 8, namespace } = options ?? {};
			expect(typeof query === "string", "The query of searchTools() is a string.");
			expect(isSafeInteger(limit) && limit > 0, "The limit of searchTools() is a whole number from 1.");
			expect(namespace === undefined || typeof namespace === "string", "The namespace of searchTools() is a string.");
			return parse(host.searchTools(safe(query), limit, namespace && safe(namespace)));
		},
		describeTool: async (name) => {
			expect(typeof name === "string", "describeTool() takes the name of a tool.");
			return host.describeTool(safe(name));
		},
		describeNamespace: async (name) => {
			expect(typeof name === "string", "describeNamespace() takes the name of a namespace.");
			return reading(host.describeNamespace(safe(name)));
		},
	};
	for (const name of keys(globals)) {
		defineProperty(globalThis, name, { value: globals[name], enumerable: true });
	}
	let all;
	const allTools = () => (all ??= freeze(parse(host.allTools())));
	defineProperty(globalThis, "ALL_TOOLS", { get: allTools, enumerable: true });

	/** Names a thrown value; a value that is no error is its text. */
	function describe(error) {
		try {
			if (error instanceof NativeError || (typeof error === "object" && error !== null && "stack" in error)) {
				return [`${error.name}: ${error.message}`, string(error.stack ?? "")];
			}
			return [`Error: ${format(error)}`, ""];
		} catch {
			return ["Error: the script threw a value that cannot be described", ""];
		}
	}

	/** What a script returns is text or JSON: a function is nothing, a date a text, a BigInt an error. */
	function returned(value) {
		if (typeof value === "bigint") return stringify(value);
		if (typeof value === "function" || typeof value === "symbol") return undefined;
		return typeof value?.toJSON === "function" ? value.toJSON() : value;
	}

	function run(script) {
		then(
			script(),
			(value) => {
				try {
					const shown = returned(value);
					if (shown !== undefined) globals.text(shown);
					host.finish();
				} catch (error) {
					host.fail(...describe(error).map(safe));
				}
			},
			(error) => host.fail(...describe(error).map(safe)),
		);
	}
	return { run, settle };
})
