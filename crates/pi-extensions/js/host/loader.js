// Host modules: their exports, and the native functions that only they can reach.

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

/** Adds to `exports` getters that load a module when one of its names is first read. */
function exportLazily(exports, module, names) {
	for (const name of names) {
		Object.defineProperty(exports, name, {
			enumerable: true,
			configurable: true,
			get() {
				const value = requireHost(module)[name];
				Object.defineProperty(exports, name, { value, enumerable: true, configurable: true, writable: true });
				return value;
			},
			set(value) {
				Object.defineProperty(exports, name, { value, enumerable: true, configurable: true, writable: true });
			},
		});
	}
}

/** Stands for a module of Node that this program lacks: every member fails when it is called. */
function absentModule(name) {
	const { missing } = requireHost("pi:missing");
	const members = new Map();
	return new Proxy(Object.create(null), {
		get(_target, key) {
			if (typeof key !== "string" || key === "then" || key === "__esModule") return undefined;
			if (!members.has(key)) members.set(key, missing(`node:${name}.${key}`));
			return members.get(key);
		},
	});
}

const loader = { requireHost, requireFromHost, exportLazily, absentModule };
loader.ModuleGraph = requireHost("pi:graph").ModuleGraph;
loader.fileUrl = requireHost("pi:namespace").fileUrl;
return loader;
