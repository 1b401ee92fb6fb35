// Functions on strings with escape sequences.

const native = require("native:text");

/** Marks the cell of the caret for the terminal's own cursor. */
const CURSOR_MARKER = "\x1b_pi:c\x07";

exports.CURSOR_MARKER = CURSOR_MARKER;

/** Marks a cell that the screen draws in reverse video, unless the terminal shows its cursor there. */
exports.renderFakeCursor = function renderFakeCursor(text) {
	return `\x1b_pi:fc\x07${text}\x1b_pi:/fc\x07`;
};

exports.visibleWidth = native.visibleWidth;
exports.stripTerminalSequences = native.strip;
exports.wrapTextWithAnsi = native.wrap;

exports.truncateToWidth = function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
	return native.truncate(text, maxWidth, ellipsis, Boolean(pad));
};

exports.sliceByColumn = function sliceByColumn(line, startCol, length, strict = false) {
	return native.slice(line, startCol, length, Boolean(strict));
};

exports.compositeTuiLine = function compositeTuiLine(base, overlay, startCol, overlayWidth, totalWidth) {
	return native.compose(base, overlay, startCol, overlayWidth, totalWidth);
};

exports.getOsc8LinkAtColumn = function getOsc8LinkAtColumn(line, column) {
	return native.linkAt(line, column) ?? undefined;
};

exports.replaceControlCharacters = function replaceControlCharacters(text) {
	return String(text).replace(/[\x00-\x1f\x7f-\x9f]+/g, " ");
};

exports.hyperlink = function hyperlink(text, url) {
	return `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;
};

/** Returns the score of matches at these places; lower is better. */
function scoreOf(text, places) {
	let total = 0;
	let last = -1;
	let run = 0;
	for (const at of places) {
		if (last === at - 1) {
			run++;
			total -= run * 5;
		} else {
			run = 0;
			if (last >= 0) total += (at - last - 1) * 2;
		}
		if (at === 0 || /[\s\-_./:]/.test(text[at - 1])) total -= 10;
		total += at * 0.1;
		last = at;
	}
	return total;
}

/** Returns the best score of a word: scattered, or where it stands in one piece. */
function score(query, text) {
	if (query === "") return 0;
	const scattered = [];
	for (let at = 0; at < text.length && scattered.length < query.length; at++) {
		if (text[at] === query[scattered.length]) scattered.push(at);
	}
	if (scattered.length < query.length) return undefined;
	let best = scoreOf(text, scattered);
	for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + 1)) {
		best = Math.min(best, scoreOf(text, Array.from(query, (_, n) => at + n)));
	}
	return query === text ? best - 100 : best;
}

/** Matches one word. Letters and digits may be exchanged: `gpt5` finds `5gpt`. */
function fuzzyMatch(query, text) {
	const wanted = query.toLowerCase();
	const lower = text.toLowerCase();
	let found = score(wanted, lower);
	if (found === undefined) {
		const [, first, second] = /^([a-z]+)([0-9]+)$/.exec(wanted) ?? /^([0-9]+)([a-z]+)$/.exec(wanted) ?? [];
		if (first !== undefined) {
			const exchanged = score(second + first, lower);
			if (exchanged !== undefined) found = exchanged + 5;
		}
	}
	return found === undefined ? { matches: false, score: 0 } : { matches: true, score: found };
}
exports.fuzzyMatch = fuzzyMatch;

/** Returns the items that match all words of a query, best first. */
exports.fuzzyFilter = function fuzzyFilter(items, query, getText) {
	const words = query.trim().split(/[\s/]+/).filter((word) => word !== "");
	if (words.length === 0) return items;
	const found = [];
	for (const item of items) {
		const text = getText(item);
		const results = words.map((word) => fuzzyMatch(word, text));
		if (results.every((result) => result.matches)) {
			found.push({ item, score: results.reduce((sum, result) => sum + result.score, 0) });
		}
	}
	return found.sort((a, b) => a.score - b.score).map((one) => one.item);
};

/** Returns the grapheme clusters of a text. */
exports.graphemes = native.graphemes;
