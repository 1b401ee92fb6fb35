// node:path for Windows: drives, shares, both separators.

const { validateString } = require("pi:node-errors");

/** Splits a path into its root, such as `C:\`, `C:` or `\\server\share\`, and the rest. */
function split(path) {
	const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)([\\/]*)/.exec(path);
	if (share !== null) return { device: `\\\\${share[1]}\\${share[2]}`, root: "\\", rest: path.slice(share[0].length) };
	const drive = /^([A-Za-z]:)([\\/]*)/.exec(path);
	if (drive !== null) return { device: drive[1], root: drive[2] === "" ? "" : "\\", rest: path.slice(drive[0].length) };
	const root = /^[\\/]*/.exec(path)[0];
	return { device: "", root: root === "" ? "" : "\\", rest: path.slice(root.length) };
}

/** Creates the functions with the rules that both systems share. */
exports.create = function create(normalizeParts, formatWith, extensionOf) {
	const partsOf = (text) => text.split(/[\\/]+/);

	function normalize(path) {
		validateString(path, "path");
		if (path === "") return ".";
		const { device, root, rest } = split(path);
		const text = normalizeParts(partsOf(rest), root !== "").join("\\");
		const tail = /[\\/]$/.test(rest) && text !== "" ? "\\" : "";
		if (text === "" && root === "") return device === "" ? "." : `${device}.`;
		return `${device}${root}${text}${tail}`;
	}

	function isAbsolute(path) {
		validateString(path, "path");
		return split(path).root !== "";
	}

	function join(...parts) {
		for (const part of parts) validateString(part, "path");
		const text = parts.filter((part) => part !== "").join("\\");
		return text === "" ? "." : normalize(text);
	}

	function resolve(...parts) {
		let device = "";
		let text = "";
		let isRooted = false;
		for (let at = parts.length - 1; at >= -1 && !(isRooted && device !== ""); at--) {
			const part = at >= 0 ? parts[at] : require("node:process").cwd();
			validateString(part, `paths[${at}]`);
			if (part === "") continue;
			const found = split(part);
			if (found.device !== "" && device !== "" && found.device.toLowerCase() !== device.toLowerCase()) continue;
			if (device === "") device = found.device;
			if (!isRooted) {
				text = `${found.rest}\\${text}`;
				isRooted = found.root !== "";
			}
			if (at === -1) break;
		}
		const joined = normalizeParts(partsOf(text), isRooted).join("\\");
		return `${device}${isRooted ? "\\" : ""}${joined}` || ".";
	}

	function relative(from, to) {
		validateString(from, "from");
		validateString(to, "to");
		const start = split(resolve(from));
		const end = split(resolve(to));
		if (start.device.toLowerCase() !== end.device.toLowerCase()) return resolve(to);
		const one = normalizeParts(partsOf(start.rest), true);
		const other = normalizeParts(partsOf(end.rest), true);
		let same = 0;
		while (same < one.length && same < other.length && one[same].toLowerCase() === other[same].toLowerCase()) same += 1;
		return [...one.slice(same).map(() => ".."), ...other.slice(same)].join("\\");
	}

	function dirname(path) {
		validateString(path, "path");
		const { device, root, rest } = split(path);
		const text = rest.replace(/[\\/]+$/, "");
		const at = Math.max(text.lastIndexOf("\\"), text.lastIndexOf("/"));
		if (at === -1) return `${device}${root}` || ".";
		return `${path.slice(0, path.length - rest.length)}${text.slice(0, at).replace(/[\\/]+$/, "")}`;
	}

	function basename(path, suffix) {
		validateString(path, "path");
		const name = partsOf(split(path).rest.replace(/[\\/]+$/, "")).pop();
		if (suffix !== undefined && suffix !== name && name.endsWith(suffix)) return name.slice(0, name.length - suffix.length);
		return name;
	}

	function parse(path) {
		validateString(path, "path");
		const { device, rest } = split(path);
		const root = path.slice(0, path.length - rest.length) || device;
		const base = basename(path);
		const ext = extensionOf(base);
		const inner = rest.replace(/[\\/]+$/, "");
		const at = Math.max(inner.lastIndexOf("\\"), inner.lastIndexOf("/"));
		const dir = at === -1 ? root : `${root}${inner.slice(0, at)}`;
		return { root, dir, base, ext, name: base.slice(0, base.length - ext.length) };
	}

	function toNamespacedPath(path) {
		if (typeof path !== "string" || path === "") return path;
		const full = resolve(path);
		if (/^[A-Za-z]:\\/.test(full)) return `\\\\?\\${full}`;
		if (full.startsWith("\\\\") && !/^\\\\[?.]/.test(full)) return `\\\\?\\UNC\\${full.slice(2)}`;
		return path;
	}

	return {
		sep: "\\",
		delimiter: ";",
		normalize,
		isAbsolute,
		join,
		resolve,
		relative,
		dirname,
		basename,
		extname: (path) => extensionOf(basename(path)),
		parse,
		format: (object) => formatWith("\\", object),
		toNamespacedPath,
		matchesGlob: (path, pattern) => require("pi:glob").compile(pattern.replaceAll("\\", "/")).test(path.replaceAll("\\", "/")),
		_makeLong: toNamespacedPath,
	};
};
