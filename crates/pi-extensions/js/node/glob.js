// Patterns of file names: `*`, `?`, `**`, `[a-z]` and `{a,b}`.

/** Returns the regular expression of a pattern for whole paths. */
exports.compile = function compile(pattern) {
	return new RegExp(`^${translate(pattern)}$`, "u");
};

/** Returns the source of the regular expression of a pattern. */
function translate(pattern) {
	let source = "";
	let depth = 0;
	for (let at = 0; at < pattern.length; at++) {
		const character = pattern[at];
		if (character === "*" && pattern[at + 1] === "*") {
			const isWhole = (at === 0 || pattern[at - 1] === "/") && (at + 2 >= pattern.length || pattern[at + 2] === "/");
			at += 1;
			if (!isWhole) source += "[^/]*";
			else if (pattern[at + 1] === "/") {
				source += "(?:[^/]+/)*";
				at += 1;
			} else source += ".*";
		} else if (character === "*") source += "[^/]*";
		else if (character === "?") source += "[^/]";
		else if (character === "{") {
			source += "(?:";
			depth += 1;
		} else if (character === "}" && depth > 0) {
			source += ")";
			depth -= 1;
		} else if (character === "," && depth > 0) source += "|";
		else if (character === "[" && pattern.indexOf("]", at + 2) !== -1) {
			const end = pattern.indexOf("]", at + 2);
			const set = pattern.slice(at + 1, end).replace(/^[!^]/, "^").replace(/[\\[\]&~]/gu, "\\$&");
			source += `[${set}]`;
			at = end;
		} else if (character === "\\" && at + 1 < pattern.length) {
			at += 1;
			source += escape(pattern[at]);
		} else source += escape(character);
	}
	return source + ")".repeat(depth);
}

function escape(character) {
	return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}
