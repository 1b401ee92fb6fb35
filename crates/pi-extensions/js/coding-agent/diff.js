// Differences of two texts, line by line.

/** Returns the parts of a comparison: lines that stay, go or come, in order. */
function compare(before, after) {
	const [left, right] = [before.split("\n"), after.split("\n")];
	let start = 0;
	while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
	let end = 0;
	while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
	const a = left.slice(start, left.length - end);
	const b = right.slice(start, right.length - end);
	const kept = (lines) => lines.map((line) => ({ kind: " ", line }));
	return [...kept(left.slice(0, start)), ...middle(a, b), ...kept(left.slice(left.length - end))];
}

/** Compares lines that begin and end differently: the shortest list of changes (Myers). */
function middle(a, b) {
	const most = a.length + b.length;
	let frontier = new Map([[1, 0]]);
	const trace = [];
	for (let depth = 0; depth <= most; depth++) {
		trace.push(new Map(frontier));
		for (let k = -depth; k <= depth; k += 2) {
			const down = k === -depth || (k !== depth && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
			let x = down ? frontier.get(k + 1) ?? 0 : (frontier.get(k - 1) ?? 0) + 1;
			while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
			frontier.set(k, x);
			if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, depth);
		}
	}
	return [];
}

function backtrack(a, b, trace, depth) {
	const parts = [];
	let [x, y] = [a.length, b.length];
	for (let at = depth; at >= 0; at--) {
		const frontier = trace[at];
		const k = x - y;
		const down = k === -at || (k !== at && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
		const previous = down ? k + 1 : k - 1;
		const px = at === 0 ? 0 : frontier.get(previous) ?? 0;
		const py = at === 0 ? 0 : px - previous;
		while (x > px && y > py) {
			x -= 1;
			y -= 1;
			parts.unshift({ kind: " ", line: a[x] });
		}
		if (at === 0) break;
		if (down) {
			y -= 1;
			parts.unshift({ kind: "+", line: b[y] });
		} else {
			x -= 1;
			parts.unshift({ kind: "-", line: a[x] });
		}
	}
	return grouped(parts);
}

/** Puts removed lines before added ones within a change. */
function grouped(parts) {
	const result = [];
	let open = [];
	const flush = () => {
		result.push(...open.filter((part) => part.kind === "-"), ...open.filter((part) => part.kind === "+"));
		open = [];
	};
	for (const part of parts) {
		if (part.kind === " ") {
			flush();
			result.push(part);
		} else open.push(part);
	}
	flush();
	return result;
}

/** Returns the ranges of parts around changes, `context` lines on each side. */
function hunks(parts, context) {
	const ranges = [];
	for (const [at, part] of parts.entries()) {
		if (part.kind === " ") continue;
		const [start, end] = [Math.max(0, at - context), Math.min(parts.length, at + context + 1)];
		const last = ranges.at(-1);
		if (last !== undefined && start <= last[1]) last[1] = end;
		else ranges.push([start, end]);
	}
	return ranges;
}

/** Numbers the lines of both texts. */
function numbered(before, after) {
	const parts = compare(before, after);
	// The empty text after a last line break is no line.
	if (parts.at(-1)?.line === "" && parts.at(-1).kind === " ") parts.pop();
	let [old, next] = [0, 0];
	for (const part of parts) {
		if (part.kind !== "+") old += 1;
		if (part.kind !== "-") next += 1;
		part.number = part.kind === "-" ? old : next;
		[part.old, part.next] = [old, next];
	}
	return parts;
}

/** Returns a difference for the eye, with line numbers. */
exports.generateDiffString = function generateDiffString(before, after, contextLines = 4) {
	const parts = numbered(before, after);
	const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
	const lines = [];
	let reached = 0;
	for (const [start, end] of hunks(parts, contextLines)) {
		if (start > reached) lines.push(` ${"".padStart(width)} ...`);
		for (const { kind, number, line } of parts.slice(start, end)) lines.push(`${kind}${String(number).padStart(width)} ${line}`);
		reached = end;
	}
	if (reached > 0 && reached < parts.length) lines.push(` ${"".padStart(width)} ...`);
	return { diff: lines.join("\n"), firstChangedLine: parts.find((part) => part.kind !== " ")?.number };
};

/** Returns a difference that `patch` applies. */
exports.generateUnifiedPatch = function generateUnifiedPatch(path, before, after, contextLines = 4) {
	const parts = numbered(before, after);
	let text = `--- ${path}\n+++ ${path}\n`;
	for (const [start, end] of hunks(parts, contextLines)) {
		const shown = parts.slice(start, end);
		const range = (skip, field) => {
			const lines = shown.filter((part) => part.kind !== skip);
			const first = lines.length > 0 ? lines[0][field] : shown[0][field];
			return `${first},${lines.length}`;
		};
		text += `@@ -${range("+", "old")} +${range("-", "next")} @@\n`;
		for (const { kind, line } of shown) text += `${kind}${line}\n`;
	}
	return text;
};
