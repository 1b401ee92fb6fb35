// Text: limits on output, sizes, languages, front matter.

const yaml = require("native:yaml");

const DEFAULT_MAX_LINES = 2000;
const DEFAULT_MAX_BYTES = 50 * 1024;
const LONGEST_LINE = 500;

/** Returns the number of bytes of a text in UTF-8. */
function byteLength(text) {
	let bytes = 0;
	for (let at = 0; at < text.length; at++) {
		const unit = text.charCodeAt(at);
		if (unit < 0x80) bytes += 1;
		else if (unit < 0x800) bytes += 2;
		else if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
			bytes += 4;
			at += 1;
		} else bytes += 3;
	}
	return bytes;
}

function formatSize(bytes) {
	if (bytes < 1024) return `${bytes}B`;
	if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
	return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

/** Returns the lines of a text; a line break at the end begins no line. */
function linesOf(text) {
	if (text === "") return [];
	const lines = text.split("\n");
	if (text.endsWith("\n")) lines.pop();
	return lines;
}

/** Returns what all results have in common. */
function measure(content, options) {
	const maxLines = options?.maxLines ?? DEFAULT_MAX_LINES;
	const maxBytes = options?.maxBytes ?? DEFAULT_MAX_BYTES;
	const lines = linesOf(content);
	const totalBytes = byteLength(content);
	const isWhole = lines.length <= maxLines && totalBytes <= maxBytes;
	return { maxLines, maxBytes, lines, totalBytes, isWhole };
}

function result(measured, fields) {
	const { maxLines, maxBytes, lines, totalBytes } = measured;
	return {
		content: fields.content, truncated: fields.truncatedBy !== null, truncatedBy: fields.truncatedBy, totalLines: lines.length, totalBytes,
		outputLines: fields.outputLines, outputBytes: fields.outputBytes, lastLinePartial: fields.lastLinePartial ?? false,
		firstLineExceedsLimit: fields.firstLineExceedsLimit ?? false, maxLines, maxBytes,
	};
}

const whole = (measured, content) =>
	result(measured, { content, truncatedBy: null, outputLines: measured.lines.length, outputBytes: measured.totalBytes });

/** Keeps whole lines from the beginning. */
function truncateHead(content, options) {
	const measured = measure(content, options);
	if (measured.isWhole) return whole(measured, content);
	const { maxLines, maxBytes, lines } = measured;
	if (byteLength(lines[0]) > maxBytes) {
		return result(measured, { content: "", truncatedBy: "bytes", outputLines: 0, outputBytes: 0, firstLineExceedsLimit: true });
	}
	const kept = [];
	let bytes = 0;
	let truncatedBy = "lines";
	for (const line of lines) {
		if (kept.length >= maxLines) break;
		const size = byteLength(line) + (kept.length > 0 ? 1 : 0);
		if (bytes + size > maxBytes) {
			truncatedBy = "bytes";
			break;
		}
		kept.push(line);
		bytes += size;
	}
	return result(measured, { content: kept.join("\n"), truncatedBy, outputLines: kept.length, outputBytes: bytes });
}

/** Returns the end of a text that fits into a number of bytes. */
function endOf(text, maxBytes) {
	const chars = [...text];
	let bytes = 0;
	let at = chars.length;
	while (at > 0 && bytes + byteLength(chars[at - 1]) <= maxBytes) {
		at -= 1;
		bytes += byteLength(chars[at]);
	}
	return chars.slice(at).join("");
}

/** Keeps whole lines from the end; of a last line that is too long, its end. */
function truncateTail(content, options) {
	const measured = measure(content, options);
	if (measured.isWhole) return whole(measured, content);
	const { maxLines, maxBytes, lines } = measured;
	const kept = [];
	let bytes = 0;
	let truncatedBy = "lines";
	let lastLinePartial = false;
	for (let at = lines.length - 1; at >= 0 && kept.length < maxLines; at--) {
		const size = byteLength(lines[at]) + (kept.length > 0 ? 1 : 0);
		if (bytes + size > maxBytes) {
			truncatedBy = "bytes";
			if (kept.length === 0) {
				kept.unshift(endOf(lines[at], maxBytes));
				bytes = byteLength(kept[0]);
				lastLinePartial = true;
			}
			break;
		}
		kept.unshift(lines[at]);
		bytes += size;
	}
	return result(measured, { content: kept.join("\n"), truncatedBy, outputLines: kept.length, outputBytes: bytes, lastLinePartial });
}

function truncateLine(line, maxChars = LONGEST_LINE) {
	if (line.length <= maxChars) return { text: line, wasTruncated: false };
	return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

/** Returns `:5-14` for ten lines from line 5. */
function formatReadLineRange(offset, limit) {
	const number = (value) => {
		const parsed = typeof value === "string" ? Number(value) : value;
		return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : undefined;
	};
	const start = number(offset);
	const count = number(limit);
	if (start === undefined && count === undefined) return "";
	const first = start ?? 1;
	return count === undefined ? `:${first}` : `:${first}-${first + count - 1}`;
}

/** Splits a text into its front matter and the rest. */
function parseFrontmatter(content) {
	const text = content.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
	const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1;
	if (end < 0) return { frontmatter: {}, body: text };
	const frontmatter = yaml.parse(text.slice(4, Math.max(end, 4))) ?? {};
	return { frontmatter, body: text.slice(end + 4).trim() };
}

const stripFrontmatter = (content) => parseFrontmatter(content).body;

/** Languages by extension, as the highlighter names them. */
const LANGUAGES = `
	ts typescript tsx typescript mts typescript cts typescript js javascript jsx javascript mjs javascript cjs javascript py python
	rb ruby rs rust go go java java kt kotlin swift swift c c h c cpp cpp cc cpp cxx cpp hpp cpp cs csharp php php sh bash bash bash
	zsh bash fish fish ps1 powershell sql sql html html htm html css css scss scss sass sass less less json json yaml yaml yml yaml
	toml toml xml xml md markdown markdown markdown dockerfile dockerfile makefile makefile cmake cmake lua lua perl perl r r
	scala scala clj clojure ex elixir exs elixir erl erlang hs haskell ml ocaml vim vim graphql graphql proto protobuf tf hcl hcl hcl
`;
let languages;

function getLanguageFromPath(path) {
	if (languages === undefined) {
		const words = LANGUAGES.trim().split(/\s+/);
		languages = new Map();
		for (let at = 0; at < words.length; at += 2) languages.set(words[at], words[at + 1]);
	}
	const name = path.slice(path.lastIndexOf("/") + 1);
	return languages.get(name.slice(name.lastIndexOf(".") + 1).toLowerCase());
}

module.exports = {
	DEFAULT_MAX_LINES, DEFAULT_MAX_BYTES, byteLength, formatSize, truncateHead, truncateTail, truncateLine, formatReadLineRange,
	parseFrontmatter, stripFrontmatter, getLanguageFromPath,
};
