// Tables: columns that fit, and cells that are wrapped.

const { visibleWidth, wrapTextWithAnsi } = require("pi:tui/text");

/** Ends the styles of a cell that goes on in the next line, but not its background. */
const CELL_RESET = "\x1b[22;23;24;25;27;28;29;39m";
/** Longest word that a column makes room for. */
const MAX_WORD = 30;

const longestWord = (text) => Math.max(0, ...text.split(/\s+/).map((word) => Math.min(MAX_WORD, visibleWidth(word))));

/** Returns the lines of a table, or its source where there is no room for it. */
exports.table = function table(token, width, blocks, next, style) {
	const count = token.header.length;
	if (count === 0) return [];
	const room = width - (3 * count + 1);
	if (room < count) return token.raw ? wrapTextWithAnsi(token.raw, width) : [];
	const text = (cell) => (cell === undefined ? "" : blocks.inline(cell.tokens, style));
	const header = token.header.map(text);
	const rows = token.rows.map((row) => token.header.map((_, at) => text(row[at])));
	const widths = columnWidths([header, ...rows], count, room);

	const rule = (left, middle, right) => left + widths.map((columns) => "─".repeat(columns + 2)).join(middle) + right;
	const lines = [rule("┌", "┬", "┐")];
	const put = (row, decorate) => {
		const cells = row.map((cell, at) => wrapCell(cell, widths[at]));
		const height = Math.max(...cells.map((cell) => cell.length));
		for (let n = 0; n < height; n++) {
			const parts = cells.map((cell, at) => {
				const part = cell[n] ?? "";
				return decorate(part + " ".repeat(Math.max(0, widths[at] - visibleWidth(part))));
			});
			lines.push(`│ ${parts.join(" │ ")} │`);
		}
	};
	put(header, (cell) => blocks.theme.bold(cell));
	for (const row of rows) {
		lines.push(rule("├", "┼", "┤"));
		put(row, (cell) => cell);
	}
	if (rows.length === 0) lines.push(rule("├", "┼", "┤"));
	lines.push(rule("└", "┴", "┘"));
	return lines;
};

function wrapCell(cell, columns) {
	const lines = wrapTextWithAnsi(cell, Math.max(1, columns));
	return lines.map((line, at) => (at + 1 < lines.length ? line + CELL_RESET : line));
}

/** Returns the columns of each cell: their own if there is room, else shared by what they need. */
function columnWidths(rows, count, room) {
	const natural = new Array(count).fill(1);
	const least = new Array(count).fill(1);
	for (const row of rows) {
		row.forEach((cell, at) => {
			natural[at] = Math.max(natural[at], visibleWidth(cell));
			least[at] = Math.max(least[at], longestWord(cell));
		});
	}
	const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
	if (sum(natural) <= room) return natural;
	const base = sum(least) > room ? shrunk(least, room) : least;
	const wish = natural.map((columns, at) => Math.max(0, columns - base[at]));
	const extra = room - sum(base);
	const total = sum(wish);
	const widths = base.map((columns, at) => columns + (total > 0 ? Math.floor((wish[at] / total) * extra) : 0));
	let rest = room - sum(widths);
	while (rest > 0) {
		const before = rest;
		for (let at = 0; at < count && rest > 0; at++) {
			if (widths[at] >= natural[at]) continue;
			widths[at]++;
			rest--;
		}
		if (rest === before) break;
	}
	return widths;
}

/** Shares too little room: one column each, the rest by what words need. */
function shrunk(least, room) {
	const widths = least.map(() => 1);
	const extra = room - least.length;
	const weights = least.map((columns) => Math.max(0, columns - 1));
	const total = weights.reduce((sum, weight) => sum + weight, 0);
	if (extra <= 0 || total === 0) return widths;
	weights.forEach((weight, at) => {
		widths[at] += Math.floor((weight / total) * extra);
	});
	let rest = extra - widths.reduce((sum, columns) => sum + columns - 1, 0);
	for (let at = 0; at < widths.length && rest > 0; at++, rest--) widths[at]++;
	return widths;
}
