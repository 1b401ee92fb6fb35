// The modules of one extension: a cache, evaluation in import order, require and import().
//
// A module without top-level await runs at once, so that `require` can be used on it. A module that
// waits gives a promise, and so does every module that imports it. A cycle never waits for itself.

const native = require("native:modules");
const { requireHost, absentModule } = require("pi:loader");
const {
	addExports, addStar, completeNamespace, createNamespace, fileUrl, namespaceOf, namespaceOfJson, readDataUrl,
} = require("pi:namespace");

/** Modules in node_modules, which all extensions share. */
const sharedModules = new Map();

const hostNamespaces = new Map();

/** Returns the namespace of a module of this program. Those of Node have a default export. */
function hostNamespace(name) {
	let namespace = hostNamespaces.get(name);
	if (namespace === undefined) {
		const exports = requireHost(name);
		namespace = name.startsWith("node:") ? namespaceOf(exports) : exports;
		hostNamespaces.set(name, namespace);
	}
	return namespace;
}

const absentModules = new Map();
function absent(name) {
	if (!absentModules.has(name)) {
		const module = absentModule(name);
		absentModules.set(name, { module, namespace: new Proxy(module, { get: (target, key) => (key === "default" ? target : target[key]) }) });
	}
	return absentModules.get(name);
}

/** State of a module that only the loader sees. */
const states = new WeakMap();

function directoryOf(path) {
	return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** Returns the directories in which packages are searched. */
function searchPaths(directory) {
	const paths = [];
	for (let at = directory; ; at = directoryOf(at)) {
		if (!at.endsWith("/node_modules")) paths.push(at === "/" ? "/node_modules" : `${at}/node_modules`);
		if (at === "/") return paths;
	}
}

class ModuleGraph {
	#own = new Map();

	/** Imports a file and returns its namespace. */
	async import(path) {
		const module = this.#get("file", path);
		await this.#evaluate(module, undefined);
		return this.#namespace(module);
	}

	#cacheOf(path) {
		return path.includes("/node_modules/") ? sharedModules : this.#own;
	}

	#get(kind, path) {
		const cache = this.#cacheOf(path);
		let module = cache.get(path);
		if (module === undefined) {
			module = this.#create(kind, path);
			cache.set(path, module);
		}
		return module;
	}

	#create(kind, path) {
		const directory = directoryOf(path);
		const module = {
			id: path, path: directory, exports: {}, filename: path, loaded: false, children: [],
			require: undefined, paths: searchPaths(directory),
		};
		module.require = this.requireOf(path);
		const data = kind === "data" ? readDataUrl(path) : undefined;
		if (path.endsWith(".node")) throw new Error(`Native addons cannot be loaded in this extension host: ${path}`);
		if (data?.type === "application/json" || (data === undefined && path.endsWith(".json"))) {
			module.exports = parseJson(path, data?.text ?? native.readText(path));
			module.loaded = true;
			states.set(module, { state: "done", namespace: namespaceOfJson(module.exports) });
			return module;
		}
		const compiled = data === undefined ? native.compileFile(path) : native.compileText(path, data.text);
		const { run, imports, isModule, isAsync } = compiled;
		if (isModule) module.exports = createNamespace();
		states.set(module, { run, imports, isModule, isAsync, state: "new", namespace: undefined, promise: undefined, waitsFor: new Set() });
		return module;
	}

	/** Returns the namespace of a module, also of one in a cycle that has not run to its end. */
	#namespace(module) {
		const state = states.get(module);
		if (state.namespace !== undefined) return state.namespace;
		const { exports } = module;
		if (state.isModule && exports?.__esModule === true) return exports;
		const namespace = namespaceOf(exports);
		if (state.state === "done") state.namespace = namespace;
		return namespace;
	}

	/**
	 * Evaluates a module after its imports, in their order. Returns a promise if it has to wait.
	 * `importer` is the module that asks.
	 */
	#evaluate(module, importer) {
		const state = states.get(module);
		if (state.state === "done" || state.state === "running") return undefined;
		if (state.state === "waiting") {
			return importer !== undefined && reaches(module, importer) ? undefined : state.promise;
		}
		state.state = "running";
		try {
			const namespaces = [];
			return this.#link(module, namespaces, 0);
		} catch (error) {
			throw this.#failed(module, error);
		}
	}

	/** Evaluates the imports from `index` on, then the module itself. */
	#link(module, namespaces, index) {
		const state = states.get(module);
		for (let at = index; at < state.imports.length; at++) {
			const other = this.#resolve(module.filename, state.imports[at], false);
			if (other.namespace !== undefined) {
				namespaces.push(other.namespace);
				continue;
			}
			module.children.push(other.module);
			const pending = this.#evaluate(other.module, module);
			namespaces.push(this.#namespace(other.module));
			if (pending !== undefined) {
				return this.#wait(module, other.module, pending, () => {
					// CommonJS exports may have been replaced meanwhile.
					namespaces[at] = this.#namespace(other.module);
					return this.#link(module, namespaces, at + 1);
				});
			}
		}
		const result = this.#run(module, namespaces);
		if (!state.isAsync) return this.#finish(module);
		return this.#wait(module, undefined, result, () => this.#finish(module));
	}

	/** Goes on when a promise settles; meanwhile the module waits for `other`. */
	#wait(module, other, pending, next) {
		const state = states.get(module);
		if (other !== undefined) state.waitsFor.add(other);
		state.state = "waiting";
		const promise = (async () => {
			try {
				await pending;
				if (other !== undefined) state.waitsFor.delete(other);
				await next();
			} catch (error) {
				throw this.#failed(module, error);
			}
		})();
		state.promise ??= promise;
		return promise;
	}

	#finish(module) {
		const state = states.get(module);
		state.state = "done";
		module.loaded = true;
		if (state.isModule && module.exports?.__esModule === true) completeNamespace(module.exports);
		return undefined;
	}

	/** Forgets a module that failed, so that a later import tries again. */
	#failed(module, error) {
		const cache = this.#cacheOf(module.filename);
		if (cache.get(module.filename) === module) cache.delete(module.filename);
		return error;
	}

	#run(module, namespaces) {
		const state = states.get(module);
		const namespace = module.exports;
		const exporting = (getters) => addExports(namespace, getters, () => state.state === "done");
		const args = [
			exporting,
			(other) => addStar(namespace, other),
			namespaces,
			(specifier) => this.#dynamic(module, specifier),
			this.#meta(module),
			module.exports, module.require, module, module.filename, module.path,
		];
		// A plain call adds no frame of the engine to stacks.
		const { run } = state;
		return state.isModule ? run(...args) : run.apply(module.exports, args);
	}

	#meta(module) {
		return {
			main: false,
			resolve: (specifier) => {
				const [kind, name] = native.resolve(module.filename, String(specifier), false);
				if (kind === "file") return fileUrl(name);
				return kind === "absent" ? `node:${name}` : name;
			},
			url: module.filename.startsWith("/") ? fileUrl(module.filename) : module.filename,
		};
	}

	async #dynamic(module, specifier) {
		const other = this.#resolve(module.filename, `${specifier}`, false);
		if (other.namespace !== undefined) return other.namespace;
		const state = states.get(module);
		if (state.state !== "done") state.waitsFor.add(other.module);
		try {
			await this.#evaluate(other.module, module);
		} finally {
			state.waitsFor.delete(other.module);
		}
		return this.#namespace(other.module);
	}

	/** Returns the module that a specifier names, or the namespace of a module of this program. */
	#resolve(filename, specifier, isRequire) {
		const [kind, name] = native.resolve(filename, specifier, isRequire);
		if (kind === "host") return isRequire ? { exports: requireHost(name) } : { namespace: hostNamespace(name) };
		if (kind === "absent") return isRequire ? { exports: absent(name).module } : { namespace: absent(name).namespace };
		return { module: this.#get(kind, name) };
	}

	#require(filename, specifier) {
		if (typeof specifier !== "string") {
			const error = new TypeError(`The "id" argument must be of type string. Received ${specifier === null ? "null" : typeof specifier}`);
			error.code = "ERR_INVALID_ARG_TYPE";
			throw error;
		}
		const other = this.#resolve(filename, specifier, true);
		if (other.module === undefined) return other.exports;
		const pending = this.#evaluate(other.module, this.#cacheOf(filename).get(filename));
		if (pending !== undefined) {
			pending.catch(() => {});
			const error = new Error(`require() cannot be used on a module with top-level await: ${other.module.id}`);
			error.code = "ERR_REQUIRE_ASYNC_MODULE";
			throw error;
		}
		return other.module.exports;
	}

	/** Returns the `require` of a file. */
	requireOf(filename) {
		const require = (specifier) => this.#require(filename, specifier);
		require.resolve = (specifier, options) => {
			const bases = options?.paths?.map((path) => `${path}/noop.js`) ?? [filename];
			for (const [at, base] of bases.entries()) {
				try {
					const [kind, name] = native.resolve(base, String(specifier), true);
					return kind === "absent" ? `node:${name}` : name;
				} catch (error) {
					if (at === bases.length - 1) throw error;
				}
			}
			return undefined;
		};
		require.resolve.paths = (specifier) => (/^\.{0,2}\//.test(specifier) ? [directoryOf(filename)] : searchPaths(directoryOf(filename)));
		require.cache = this.#cache();
		require.extensions = Object.create(null);
		require.main = undefined;
		return require;
	}

	/** Returns `require.cache`: a view of the modules by their paths, from which they can be removed. */
	#cache() {
		const find = (key) => this.#own.get(key) ?? sharedModules.get(key);
		return new Proxy(Object.create(null), {
			get: (_target, key) => find(key),
			has: (_target, key) => find(key) !== undefined,
			deleteProperty: (_target, key) => {
				this.#own.delete(key);
				sharedModules.delete(key);
				return true;
			},
			ownKeys: () => [...new Set([...this.#own.keys(), ...sharedModules.keys()])],
			getOwnPropertyDescriptor: (_target, key) => {
				const value = find(key);
				return value && { value, enumerable: true, configurable: true, writable: true };
			},
		});
	}
}

/** Returns true if a module waits for another one, directly or through others. */
function reaches(module, wanted, seen = new Set()) {
	if (module === wanted) return true;
	if (seen.has(module)) return false;
	seen.add(module);
	for (const next of states.get(module)?.waitsFor ?? []) if (reaches(next, wanted, seen)) return true;
	return false;
}

function parseJson(path, text) {
	try {
		return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
	} catch (error) {
		error.message = `${path}: ${error.message}`;
		throw error;
	}
}

exports.ModuleGraph = ModuleGraph;
