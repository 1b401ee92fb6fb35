// The text of a paragraph: emphasis, code, links, addresses.

const { getCapabilities } = require("pi:tui/terminal");
const { hyperlink } = require("pi:tui/text");

const ADDRESS = /(?:https?:\/\/|ftp:\/\/|www\.)[^\s<]+|[A-Za-z0-9._+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*[A-Za-z0-9])+(?![-_])/gi;

/** Returns what a style function puts before a text. */
function stylePrefix(style) {
	const [before] = style("\0").split("\0", 1);
	return before;
}
exports.stylePrefix = stylePrefix;

/** Removes the punctuation of the sentence around an address. */
function trimmed(address) {
	let text = address;
	for (;;) {
		const last = text.at(-1);
		const isSurplus = last === ")" && text.split(")").length > text.split("(").length;
		if (!isSurplus && !/[?!.,:;*_'"~]/.test(last ?? "")) return text;
		text = text.slice(0, -1);
	}
}

/** Cuts a text into texts and links. */
function withAddresses(text) {
	const parts = [];
	let from = 0;
	for (const match of text.matchAll(ADDRESS)) {
		const before = text[match.index - 1] ?? " ";
		if (/[A-Za-z0-9]/.test(before) || match.index < from) continue;
		const address = trimmed(match[0]);
		const isMail = !/^(?:[a-z]+:\/\/|www\.)/i.test(address);
		const href = isMail ? `mailto:${address}` : /^www\./i.test(address) ? `http://${address}` : address;
		if (match.index > from) parts.push({ type: "text", text: text.slice(from, match.index) });
		parts.push({ type: "link", href, text: address, tokens: [{ type: "text", text: address, isPlain: true }] });
		from = match.index + address.length;
	}
	if (from < text.length) parts.push({ type: "text", text: text.slice(from) });
	return parts;
}

/** Returns inline elements as text. The style of the text around them is set again after each. */
function inlineText(tokens, context) {
	const { theme, options, style } = context;
	const prefix = style.prefix ?? stylePrefix(style);
	const styled = (text) => text.split("\n").map((line) => (line === "" ? "" : style(line))).join("\n");
	let result = "";
	for (const token of tokens) {
		switch (token.type) {
			case "text": {
				const parts = token.isPlain || context.isLink ? [token] : withAddresses(token.text);
				if (parts.length === 1 && parts[0].type === "text") result += styled(token.text);
				else result += inlineText(parts.map((part) => ({ ...part, isPlain: true })), context) + (parts.at(-1)?.type === "link" ? prefix : "");
				break;
			}
			case "escape":
				result += styled(options.preserveBackslashEscapes ? token.raw : token.text);
				break;
			case "math":
				result += styled(token.text);
				break;
			case "strong":
				result += theme.bold(inlineText(token.tokens, context)) + prefix;
				break;
			case "em":
				result += theme.italic(inlineText(token.tokens, context)) + prefix;
				break;
			case "del":
				result += theme.strikethrough(inlineText(token.tokens, context)) + prefix;
				break;
			case "codespan":
				result += theme.code(token.text) + prefix;
				break;
			case "br":
				result += "\n";
				break;
			case "link":
				result += link(token, context) + prefix;
				break;
			case "image":
				result += styled(token.text);
				break;
			default:
				if (typeof (token.raw ?? token.text) === "string") result += styled(token.raw ?? token.text);
		}
	}
	while (prefix !== "" && result.endsWith(prefix)) result = result.slice(0, -prefix.length);
	return result;
}
exports.inlineText = inlineText;

function link(token, context) {
	const { theme } = context;
	const shown = theme.link(theme.underline(inlineText(token.tokens, { ...context, isLink: true })));
	if (getCapabilities().hyperlinks) return hyperlink(shown, token.href);
	const isSame = token.text === token.href || `mailto:${token.text}` === token.href;
	return isSame ? shown : shown + theme.linkUrl(` (${token.href})`);
}
