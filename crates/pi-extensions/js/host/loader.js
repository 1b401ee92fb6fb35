// Modules: a cache per extension, evaluation in import order, require and import().

const natives = require;
const native = natives("modules");

const hostModules = new Map();
const nativeAreas = new Map();

/** Returns the exports of a module of this program. */
function requireHost(name) {
	let module = hostModules.get(name);
	if (module === undefined) {
		module = { exports: {} };
		hostModules.set(name, module);
		try {
			native.compileHost(name)(requireFromHost, module, module.exports);
		} catch (error) {
			hostModules.delete(name);
			throw error;
		}
	}
	return module.exports;
}

/** The `require` of host modules: other host modules and native functions. */
function requireFromHost(name) {
	if (name === "pi:loader") return loader;
	if (!name.startsWith("native:")) return requireHost(name);
	const area = name.slice("native:".length);
	if (!nativeAreas.has(area)) nativeAreas.set(area, natives(area));
	return nativeAreas.get(area);
}

/** Creates the namespace object of a module. */
function createNamespace() {
	const namespace = Object.create(null);
	Object.defineProperty(namespace, Symbol.toStringTag, { value: "Module" });
	return namespace;
}

/** Adds getters, so that a reader sees the current value of each export. */
function addExports(namespace, getters) {
	for (const name of Object.keys(getters)) {
		Object.defineProperty(namespace, name, { get: getters[name], enumerable: true, configurable: true });
	}
}

/** Adds the exports of another module, except for its default and for names that exist. */
function addStar(namespace, other) {
	for (const name of Object.keys(other)) {
		if (name === "default" || name in namespace) continue;
		Object.defineProperty(namespace, name, { get: () => other[name], enumerable: true, configurable: true });
	}
}

/** Returns the namespace of a CommonJS value: the value as default, and its keys. */
function namespaceOf(value) {
	const namespace = createNamespace();
	if (value !== null && (typeof value === "object" || typeof value === "function")) {
		for (const name of Object.keys(value)) {
			if (name === "default") continue;
			Object.defineProperty(namespace, name, { get: () => value[name], enumerable: true, configurable: true });
		}
	}
	Object.defineProperty(namespace, "default", { get: () => value, enumerable: true, configurable: true });
	Object.defineProperty(namespace, "module.exports", { get: () => value, enumerable: true, configurable: true });
	return namespace;
}

const hostNamespaces = new Map();
function hostNamespace(name) {
	let namespace = hostNamespaces.get(name);
	if (namespace === undefined) {
		namespace = namespaceOf(requireHost(name));
		hostNamespaces.set(name, namespace);
	}
	return namespace;
}

/** Modules in node_modules, which all extensions share. */
const sharedModules = new Map();

/** The modules of one extension. */
class ModuleGraph {
	#own = new Map();

	/** Imports a file and returns its namespace. */
	async import(path) {
		const module = this.#get(path);
		await this.#evaluate(module);
		return this.#namespace(module);
	}

	#get(path) {
		const cache = path.includes("/node_modules/") ? sharedModules : this.#own;
		let module = cache.get(path);
		if (module === undefined) {
			module = this.#create(path);
			cache.set(path, module);
		}
		return module;
	}

	#create(path) {
		if (path.endsWith(".json")) {
			const exports = JSON.parse(native.readText(path));
			return { id: path, filename: path, exports, loaded: true, dependencies: [] };
		}
		const { run, imports, isModule, isAsync } = native.compileFile(path);
		const module = { id: path, filename: path, exports: {}, loaded: false, children: [], paths: [] };
		const namespace = isModule ? createNamespace() : undefined;
		Object.defineProperty(module, "hidden", { value: { run, imports, isAsync, namespace, state: "new" } });
		return module;
	}

	#namespace(module) {
		const hidden = module.hidden;
		if (hidden === undefined) return namespaceOf(module.exports);
		hidden.namespace ??= namespaceOf(module.exports);
		return hidden.namespace;
	}

	/** Evaluates a module after its imports, in their order. A cycle sees what exists so far. */
	async #evaluate(module) {
		const hidden = module.hidden;
		if (hidden === undefined) return;
		if (hidden.state === "running" && hidden.promise !== undefined && !hidden.isWaiting) return;
		if (hidden.state === "failed") throw hidden.error;
		if (hidden.state !== "new") return;
		hidden.state = "running";
		try {
			const modules = [];
			for (const specifier of hidden.imports) modules.push(await this.#importFrom(module, specifier));
			const result = this.#run(module, modules);
			if (hidden.isAsync) await result;
			this.#finish(module);
		} catch (error) {
			hidden.state = "failed";
			hidden.error = error;
			throw error;
		}
	}

	#evaluateNow(module) {
		const hidden = module.hidden;
		if (hidden === undefined || hidden.state === "running" || hidden.state === "done") return;
		if (hidden.state === "failed") throw hidden.error;
		if (hidden.isAsync) {
			const error = new Error(`require() cannot be used on a module with top-level await: ${module.id}`);
			error.code = "ERR_REQUIRE_ASYNC_MODULE";
			throw error;
		}
		hidden.state = "running";
		try {
			const modules = hidden.imports.map((specifier) => this.#requireNamespace(module, specifier));
			this.#run(module, modules);
			this.#finish(module);
		} catch (error) {
			hidden.state = "failed";
			hidden.error = error;
			throw error;
		}
	}

	#finish(module) {
		module.hidden.state = "done";
		module.loaded = true;
	}

	#run(module, modules) {
		const { run, namespace } = module.hidden;
		const directory = module.filename.slice(0, module.filename.lastIndexOf("/")) || "/";
		const star = (other) => addStar(namespace, other);
		const exporting = (getters) => addExports(namespace, getters);
		return run.call(
			namespace === undefined ? module.exports : undefined,
			exporting, star, modules,
			(specifier) => this.#dynamic(module, specifier),
			this.#meta(module),
			module.exports, this.requireOf(module.filename), module, module.filename, directory,
		);
	}

	#meta(module) {
		const url = fileUrl(module.filename);
		return {
			url,
			resolve: (specifier) => {
				const [kind, name] = native.resolve(module.filename, String(specifier), false);
				return kind === "file" ? fileUrl(name) : name;
			},
			main: false,
		};
	}

	async #dynamic(module, specifier) {
		return this.#importFrom(module, String(specifier));
	}

	async #importFrom(module, specifier) {
		const [kind, name] = native.resolve(module.filename, specifier, false);
		return kind === "host" ? hostNamespace(name) : this.import(name);
	}

	#requireNamespace(module, specifier) {
		const [kind, name] = native.resolve(module.filename, specifier, false);
		if (kind === "host") return hostNamespace(name);
		const other = this.#get(name);
		this.#evaluateNow(other);
		return this.#namespace(other);
	}

	/** Returns the `require` of a file. */
	requireOf(filename) {
		const require = (specifier) => {
			const [kind, name] = native.resolve(filename, String(specifier), true);
			if (kind === "host") return requireHost(name);
			const module = this.#get(name);
			this.#evaluateNow(module);
			return module.hidden?.namespace !== undefined && module.loaded && module.hidden.imports !== undefined && isEsModule(module)
				? module.hidden.namespace
				: module.exports;
		};
		require.resolve = (specifier) => native.resolve(filename, String(specifier), true)[1];
		require.cache = Object.create(null);
		return require;
	}
}

function isEsModule(module) {
	return Object.keys(module.exports).length === 0;
}

/** Returns the URL of a path. */
function fileUrl(path) {
	return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

const loader = { requireHost, requireFromHost, ModuleGraph, fileUrl };
return loader;
