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

	/** Returns a value as text: strings as they are, other values as JSON. */
	function format(value) {
		if (typeof value === "string") return safe(value);
		if (value instanceof NativeError) return safe(value);
		if (value !== null && (typeof value === "object" || typeof value === "boolean")) {
			try {
				return safe(stringify(value) ?? value);
			} catch {
				return "[a value that is not JSON]";
			}
		}
		return safe(value);
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
		if (args !== undefined && (args === null || typeof args !== "object" || Array.isArray(args))) {
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
			throw new NativeTypeError(
				`There is no tool tools.${key}. Find tools with ALL_TOOLS or searchTools(query); test with ("${key}" in tools).`,
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
		for (let at = 0; at < values.length; at++) line += (at === 0 ? "" : " ") + format(values[at]);
		check(host.console(line));
	};
	const reading = (text) => (text === undefined ? undefined : parse(text));
	const models = {};
	for (const name of ["getModelsOfType", "getAvailableOfType", "getModelOfType", "classify", "generateImages"]) {
		models[name] = async (...args) => reading(host.models(name, stringify(args)));
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
		store: (key, value) => check(host.store(safe(key), stringify(value))),
		load: (key) => reading(host.load(safe(key))),
		searchTools: async (query, options) =>
			parse(host.searchTools(safe(query), Number(options?.limit ?? 8), options?.namespace && safe(options.namespace))),
		describeTool: async (name) => host.describeTool(safe(name)),
		describeNamespace: async (name) => reading(host.describeNamespace(safe(name))),
	};
	for (const name of keys(globals)) {
		defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true });
	}
	let all;
	defineProperty(globalThis, "ALL_TOOLS", { get: () => (all ??= parse(host.allTools())), configurable: true });

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

	/** What a script returns is text or JSON: a function is nothing, and a BigInt an error. */
	function returned(value) {
		if (typeof value === "bigint") return stringify(value);
		return typeof value === "function" || typeof value === "symbol" ? undefined : value;
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
