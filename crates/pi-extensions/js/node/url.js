// node:url: URLs and paths; the classes are the globals.

const { codeError, invalidArgType } = require("pi:node-errors");
const path = require("node:path");

/** Returns the path of a file URL. */
function fileURLToPath(value) {
	const url = typeof value === "string" ? new URL(value) : value;
	if (typeof url?.href !== "string" || typeof url.protocol !== "string") throw invalidArgType("path", "of type string or an instance of URL", value);
	if (url.protocol !== "file:") throw codeError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
	if (url.hostname !== "") throw codeError(TypeError, "ERR_INVALID_FILE_URL_HOST", `File URL host must be "localhost" or empty on ${require("node:process").platform}`);
	if (/%2f/i.test(url.pathname)) throw codeError(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
	return decodeURIComponent(url.pathname);
}

/** Returns the URL of a path. */
function pathToFileURL(value) {
	if (typeof value !== "string") throw invalidArgType("path", "of type string", value);
	let text = path.resolve(value);
	if (value.endsWith("/") && text !== "/") text += "/";
	const special = { "%": "%25", "\\": "%5C", "\n": "%0A", "\r": "%0D", "\t": "%09", "?": "%3F", "#": "%23" };
	return new URL(`file://${text.replace(/[%\\\n\r\t?#]/g, (character) => special[character])}`);
}

function urlToHttpOptions(url) {
	const options = {
		protocol: url.protocol,
		hostname: url.hostname.replace(/^\[|\]$/g, ""),
		hash: url.hash,
		search: url.search,
		pathname: url.pathname,
		path: `${url.pathname}${url.search}`,
		href: url.href,
	};
	if (url.port !== "") options.port = Number(url.port);
	if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
	return options;
}

/** The result of the older `parse`. */
class Url {
	constructor() {
		for (const name of ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname", "path", "href"]) this[name] = null;
	}
}

/** Splits a URL, which may be relative, into its parts. */
function parse(text, isQueryParsed = false) {
	if (typeof text !== "string") throw invalidArgType("url", "of type string", text);
	const url = new Url();
	const match = /^(?:([A-Za-z][A-Za-z0-9+.-]*:))?(\/\/)?(.*)$/s.exec(text.trim());
	let rest = match[3];
	if (match[1] !== undefined) url.protocol = match[1].toLowerCase();
	if (match[2] !== undefined && (url.protocol !== null || text.startsWith("//"))) {
		url.slashes = true;
		const end = rest.search(/[/?#]/);
		let authority = end === -1 ? rest : rest.slice(0, end);
		rest = end === -1 ? "" : rest.slice(end);
		const at = authority.lastIndexOf("@");
		if (at !== -1) {
			url.auth = decodeURIComponent(authority.slice(0, at));
			authority = authority.slice(at + 1);
		}
		const port = /:(\d*)$/.exec(authority);
		if (port !== null) {
			if (port[1] !== "") url.port = port[1];
			authority = authority.slice(0, port.index);
		}
		url.hostname = authority.toLowerCase().replace(/^\[|\]$/g, "");
		url.host = authority.toLowerCase() + (url.port === null ? "" : `:${url.port}`);
	} else if (match[2] !== undefined) rest = `//${rest}`;
	const hash = rest.indexOf("#");
	if (hash !== -1) {
		url.hash = rest.slice(hash);
		rest = rest.slice(0, hash);
	}
	const query = rest.indexOf("?");
	if (query !== -1) {
		url.search = rest.slice(query);
		url.query = url.search.slice(1);
		rest = rest.slice(0, query);
	}
	if (rest !== "") url.pathname = rest;
	else if (url.slashes && /^(https?|ftp|wss?):$/.test(url.protocol ?? "")) url.pathname = "/";
	if (isQueryParsed) url.query = require("node:querystring").parse(url.query ?? "");
	if (url.pathname !== null || url.search !== null) url.path = `${url.pathname ?? ""}${url.search ?? ""}`;
	url.href = format(url);
	return url;
}

/** Returns the text of a URL or of its parts. */
function format(value, options) {
	if (typeof value === "string") return parse(value).href;
	if (value instanceof URL) {
		const copy = new URL(value.href);
		if (options?.fragment === false) copy.hash = "";
		if (options?.search === false) copy.search = "";
		if (options?.auth === false) copy.username = copy.password = "";
		return copy.href;
	}
	const protocol = value.protocol ? (value.protocol.endsWith(":") ? value.protocol : `${value.protocol}:`) : "";
	const isWeb = /^(https?|ftp|wss?|file):$/.test(protocol);
	const auth = value.auth ? `${encodeURIComponent(value.auth).replace(/%3A/i, ":")}@` : "";
	const host = value.host ? auth + value.host : value.hostname ? `${auth}${value.hostname.includes(":") ? `[${value.hostname}]` : value.hostname}${value.port ? `:${value.port}` : ""}` : "";
	const slashes = value.slashes || (isWeb && host !== "") || protocol === "file:" ? "//" : "";
	let pathname = value.pathname ?? "";
	if (slashes !== "" && host !== "" && pathname !== "" && !pathname.startsWith("/")) pathname = `/${pathname}`;
	const query = value.query !== null && typeof value.query === "object" ? require("node:querystring").stringify(value.query) : "";
	const search = value.search ?? (query === "" ? "" : `?${query}`);
	const start = (text, character) => (text === "" || text.startsWith(character) ? text : character + text);
	return `${protocol}${slashes}${host}${pathname.replace(/[?#]/g, encodeURIComponent)}${start(search, "?").replaceAll("#", "%23")}${start(value.hash ?? "", "#")}`;
}

/** Resolves a URL against another. */
function resolve(from, to) {
	const base = new URL(from, "resolve://");
	const found = new URL(to, base);
	if (found.protocol === "resolve:") return `${found.pathname}${found.search}${found.hash}`;
	return found.href;
}

module.exports = {
	Url,
	parse,
	format,
	resolve,
	resolveObject: (from, to) => parse(resolve(from, to)),
	fileURLToPath,
	fileURLToPathBuffer: (url) => Buffer.from(fileURLToPath(url)),
	pathToFileURL,
	urlToHttpOptions,
	domainToASCII: (domain) => (URL.canParse(`ws://${domain}`) ? new URL(`ws://${domain}`).hostname : ""),
	domainToUnicode: (domain) => domain,
};
Object.defineProperties(module.exports, {
	URL: { enumerable: true, get: () => globalThis.URL },
	URLSearchParams: { enumerable: true, get: () => globalThis.URLSearchParams },
	URLPattern: { enumerable: true, get: () => globalThis.URLPattern },
});
