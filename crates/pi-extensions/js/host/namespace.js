// Namespace objects of modules, in the shapes that pi's loader gives them.

/** Returns the namespace of an ES module; it is also its `module.exports`. */
exports.createNamespace = function createNamespace() {
	return Object.defineProperty({}, "__esModule", { value: true });
};

/**
 * Adds getters, so that a reader sees the current value of each export. Until the module has run, an
 * export that is not initialized is `undefined`, which a cycle of imports can see.
 */
exports.addExports = function addExports(namespace, getters, isDone) {
	for (const name of Object.keys(getters)) {
		const read = getters[name];
		const get = () => {
			if (isDone()) return read();
			try {
				return read();
			} catch (error) {
				if (error instanceof ReferenceError) return undefined;
				throw error;
			}
		};
		Object.defineProperty(namespace, name, { get, enumerable: true, configurable: true });
	}
};

/** Adds the exports of another module, except for its default and for names that exist. */
exports.addStar = function addStar(namespace, other) {
	for (const name of Object.keys(other)) {
		if (name === "default" || name === "module.exports" || Object.hasOwn(namespace, name)) continue;
		Object.defineProperty(namespace, name, { get: () => other[name], enumerable: true, configurable: true });
	}
};

/** Makes the namespace its own default if the module exports none. */
exports.completeNamespace = function completeNamespace(namespace) {
	if (Object.hasOwn(namespace, "default")) return;
	Object.defineProperty(namespace, "default", { value: namespace, enumerable: false, configurable: true, writable: true });
};

/**
 * Returns the namespace of a CommonJS value: the value as default, and its keys. What the value gets
 * later, or inherits, is found through the prototype.
 */
exports.namespaceOf = function namespaceOf(value) {
	const isObject = value !== null && (typeof value === "object" || typeof value === "function");
	const namespace = Object.create(isObject ? value : null);
	const isInterop = isObject && value.__esModule === true && "default" in value;
	const define = (name, get) => Object.defineProperty(namespace, name, { get, enumerable: true, configurable: true });
	const keys = isObject ? Object.keys(value).filter((name) => name !== "default" && name !== "__esModule") : [];
	for (const name of [...keys, "default", "module.exports"].sort()) {
		if (name === "default") define(name, isInterop ? () => value.default : () => value);
		else if (name === "module.exports") define(name, () => value);
		else define(name, () => value[name]);
	}
	Object.defineProperty(namespace, "__esModule", { value: true });
	Object.defineProperty(namespace, Symbol.toStringTag, { value: "Module" });
	return namespace;
};

/** Returns the namespace of a JSON file. */
exports.namespaceOfJson = function namespaceOfJson(value) {
	const namespace = Object.create(null);
	namespace.default = value;
	if (value !== null && typeof value === "object" && !Array.isArray(value)) {
		for (const name of Object.keys(value)) if (name !== "default") namespace[name] = value[name];
	}
	return namespace;
};

const SAFE = /[^A-Za-z0-9\-_.~!$&'()*+,;=:@/]+/gu;

/** Returns the URL of a path. */
exports.fileUrl = function fileUrl(path) {
	return `file://${path.replace(SAFE, encodeURIComponent)}`;
};

/** Returns media type and text of a `data:` URL. */
exports.readDataUrl = function readDataUrl(url) {
	const comma = url.indexOf(",");
	const [type, ...flags] = url.slice("data:".length, comma < 0 ? undefined : comma).split(";");
	const body = decodeURIComponent(comma < 0 ? "" : url.slice(comma + 1));
	if (!flags.includes("base64")) return { type, text: body };
	const bytes = Uint8Array.from(atob(body), (char) => char.charCodeAt(0));
	return { type, text: decodeUtf8(bytes) };
};

function decodeUtf8(bytes) {
	let escaped = "";
	for (const byte of bytes) escaped += `%${byte.toString(16).padStart(2, "0")}`;
	return decodeURIComponent(escaped);
}
