// node:path, for POSIX; the rules of Windows are in `path.win32`.

const { validateString, invalidArgType } = require("pi:node-errors");

/** Resolves "." and ".."; leading ".." stay if the path is relative. */
function normalizeParts(parts, isAbsolute) {
	const out = [];
	for (const part of parts) {
		if (part === "" || part === ".") continue;
		if (part !== "..") out.push(part);
		else if (out.length > 0 && out[out.length - 1] !== "..") out.pop();
		else if (!isAbsolute) out.push("..");
	}
	return out;
}

function normalize(path) {
	validateString(path, "path");
	if (path === "") return ".";
	const isRooted = path.startsWith("/");
	const text = normalizeParts(path.split("/"), isRooted).join("/");
	const tail = path.endsWith("/") && text !== "" ? "/" : "";
	if (isRooted) return `/${text}${tail}`;
	if (text === "") return path.endsWith("/") ? "./" : ".";
	return text + tail;
}

function isAbsolute(path) {
	validateString(path, "path");
	return path.startsWith("/");
}

function join(...parts) {
	for (const part of parts) validateString(part, "path");
	const text = parts.filter((part) => part !== "").join("/");
	return text === "" ? "." : normalize(text);
}

function resolve(...parts) {
	let text = "";
	for (let at = parts.length - 1; at >= 0 && !text.startsWith("/"); at--) {
		validateString(parts[at], `paths[${at}]`);
		if (parts[at] !== "") text = text === "" ? parts[at] : `${parts[at]}/${text}`;
	}
	if (!text.startsWith("/")) text = `${require("node:process").cwd()}/${text}`;
	return `/${normalizeParts(text.split("/"), true).join("/")}`;
}

function relative(from, to) {
	validateString(from, "from");
	validateString(to, "to");
	if (from === to) return "";
	const start = normalizeParts(resolve(from).split("/"), true);
	const end = normalizeParts(resolve(to).split("/"), true);
	let same = 0;
	while (same < start.length && same < end.length && start[same] === end[same]) same += 1;
	return [...start.slice(same).map(() => ".."), ...end.slice(same)].join("/");
}

/** Returns the path without separators at its end; the root stays. */
function trimEnd(path) {
	let end = path.length;
	while (end > 1 && path[end - 1] === "/") end -= 1;
	return path.slice(0, end);
}

function dirname(path) {
	validateString(path, "path");
	const text = trimEnd(path);
	const at = text.lastIndexOf("/");
	if (at === -1) return ".";
	// Two slashes at the beginning are a root of their own.
	if (at === 0) return "/";
	return trimEnd(text.slice(0, at)) || "/";
}

function basename(path, suffix) {
	validateString(path, "path");
	if (suffix !== undefined) validateString(suffix, "suffix");
	const text = trimEnd(path);
	const name = text === "/" ? "" : text.slice(text.lastIndexOf("/") + 1);
	if (suffix !== undefined && suffix !== name && name.endsWith(suffix)) return name.slice(0, name.length - suffix.length);
	return name;
}

/** Returns the extension of a name: from its last dot, unless that is its first character. */
function extensionOf(name) {
	const at = name.lastIndexOf(".");
	if (at <= 0 || name === "..") return "";
	return name.slice(at);
}

function extname(path) {
	return extensionOf(basename(path));
}

function parse(path) {
	validateString(path, "path");
	const root = path.startsWith("/") ? "/" : "";
	const base = basename(path);
	const ext = extensionOf(base);
	const text = trimEnd(path);
	const at = text.lastIndexOf("/");
	const dir = at === -1 ? "" : at === 0 ? "/" : trimEnd(text.slice(0, at));
	return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) };
}

/** Returns the path of the parts that `parse` gives, for any separator. */
function formatWith(separator, object) {
	if (object === null || typeof object !== "object") throw invalidArgType("pathObject", "of type object", object);
	const extension = object.ext ? (object.ext.startsWith(".") ? object.ext : `.${object.ext}`) : "";
	const base = object.base || `${object.name ?? ""}${extension}`;
	const dir = object.dir || object.root;
	if (!dir) return base;
	return dir === object.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

function matchesGlob(path, pattern) {
	return require("pi:glob").compile(pattern).test(path);
}

const posix = {
	sep: "/",
	delimiter: ":",
	normalize,
	isAbsolute,
	join,
	resolve,
	relative,
	dirname,
	basename,
	extname,
	parse,
	format: (object) => formatWith("/", object),
	toNamespacedPath: (path) => path,
	matchesGlob,
	_makeLong: (path) => path,
};
posix.posix = posix;

let win32;
Object.defineProperty(posix, "win32", {
	enumerable: true,
	get() {
		if (win32 === undefined) {
			win32 = require("pi:path-win32").create(normalizeParts, formatWith, extensionOf);
			win32.posix = posix;
			win32.win32 = win32;
		}
		return win32;
	},
});

module.exports = posix;
