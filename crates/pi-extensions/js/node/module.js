// node:module: require functions and the names of built-in modules.

const loader = require("pi:loader");
const native = require("native:modules");
const { missing } = require("pi:missing");
const { codeError, invalidArgValue } = require("pi:node-errors");

/** Names of Node's modules that this host has. */
function builtinNames() {
	return native.builtins();
}

function isBuiltin(name) {
	const plain = name.startsWith("node:") ? name.slice(5) : name;
	return builtinNames().includes(plain) || builtinNames().includes(`node:${plain}`);
}

/** Returns the `require` of a file, as a path or URL. */
function createRequire(value) {
	const isUrl = typeof value === "object" || (typeof value === "string" && value.startsWith("file:"));
	const path = isUrl ? require("node:url").fileURLToPath(value) : value;
	if (typeof path !== "string" || !path.startsWith("/")) {
		throw invalidArgValue("filename", value, "must be a file URL object, file URL string, or absolute path string");
	}
	// The modules of a directory belong to the file `noop.js` in it.
	const require_ = new loader.ModuleGraph().requireOf(path.endsWith("/") ? `${path}noop.js` : path);
	const { resolve } = require_;
	require_.resolve = Object.assign((name, options) => (isBuiltin(String(name)) ? String(name) : resolve(name, options)), resolve);
	return require_;
}

function Module(id) {
	this.id = id;
	this.exports = {};
	this.loaded = false;
}

Object.assign(Module, {
	Module,
	createRequire,
	isBuiltin,
	/** Returns a built-in module by name; undefined if there is none. */
	loadBuiltin(name) {
		if (!isBuiltin(String(name))) return undefined;
		return loader.requireHost(String(name).startsWith("node:") ? String(name) : `node:${name}`);
	},
	findPackageJSON: missing("module.findPackageJSON"),
	register: missing("module.register"),
	registerHooks: missing("module.registerHooks"),
	stripTypeScriptTypes: missing("module.stripTypeScriptTypes"),
	syncBuiltinESMExports() {},
	enableCompileCache: () => ({ status: 3 }),
	getCompileCacheDir: () => undefined,
	flushCompileCache() {},
	findSourceMap: () => undefined,
	_cache: Object.create(null),
	_extensions: Object.create(null),
	_load: missing("module._load"),
	_resolveFilename(name, parent) {
		const from = parent?.filename;
		if (typeof from !== "string") throw codeError(Error, "MODULE_NOT_FOUND", `Cannot find module '${name}'`);
		return createRequire(from).resolve(name);
	},
	_nodeModulePaths(directory) {
		const paths = [];
		for (let path = directory; ; path = path.slice(0, path.lastIndexOf("/"))) {
			if (!path.endsWith("/node_modules")) paths.push(`${path}/node_modules`);
			if (path === "" || path === "/") return paths;
		}
	},
});
Object.defineProperty(Module, "builtinModules", { enumerable: true, get: () => builtinNames().map((name) => name.slice("node:".length)) });

module.exports = Module;
