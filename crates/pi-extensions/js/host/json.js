// The messages of JSON.parse, as V8 has them: extensions match on them and show them to models.

/** Finds the first place where a text is not JSON. Returns { at, expected } or { at: -1 }. */
function findProblem(text) {
	let at = 0;
	const fail = (expected) => { throw { at, expected }; };
	const space = () => { while (at < text.length && " \t\n\r".includes(text[at])) at++; };
	const string = () => {
		at++;
		for (;;) {
			if (at >= text.length) fail("unterminated");
			const one = text[at];
			if (one === '"') break;
			if (one < " ") fail("control");
			if (one === "\\") {
				at++;
				if (at >= text.length) fail("unterminated");
				if (text[at] === "u") {
					if (!/^[0-9a-fA-F]{4}/.test(text.slice(at + 1, at + 5))) fail("unicode");
					at += 4;
				} else if (!'"\\/bfnrt'.includes(text[at])) fail("escape");
			}
			at++;
		}
		at++;
	};
	const value = () => {
		space();
		const one = text[at];
		if (one === "{") {
			at++;
			space();
			if (text[at] === "}") { at++; return; }
			for (let isFirst = true; ; isFirst = false) {
				space();
				if (text[at] !== '"') fail(isFirst ? "property name or '}'" : "double-quoted property name");
				string();
				space();
				if (text[at] !== ":") fail("':' after property name");
				at++;
				value();
				space();
				if (text[at] === "}") { at++; return; }
				if (text[at] !== ",") fail("',' or '}' after property value");
				at++;
			}
		}
		if (one === "[") {
			at++;
			space();
			if (text[at] === "]") { at++; return; }
			for (;;) {
				value();
				space();
				if (text[at] === "]") { at++; return; }
				if (text[at] !== ",") fail("',' or ']' after array element");
				at++;
			}
		}
		if (one === '"') return string();
		const word = ["true", "false", "null"].find((name) => name[0] === one);
		if (word !== undefined) {
			for (const letter of word) {
				if (text[at] !== letter) fail();
				at++;
			}
			return undefined;
		}
		const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(text.slice(at, at + 400))?.[0];
		if (number === undefined) {
			if (one === "-") {
				at++;
				fail("number");
			}
			fail();
		}
		at += number.length;
		if (/^-?0$/.test(number) && /\d/.test(text[at] ?? "")) fail("digit");
		return undefined;
	};
	try {
		value();
		space();
		if (at < text.length) return { at, expected: "end" };
		return { at: -1 };
	} catch (problem) {
		if (typeof problem?.at !== "number") throw problem;
		return problem;
	}
}

const PHRASES = {
	unterminated: "Unterminated string in JSON", control: "Bad control character in string literal in JSON",
	unicode: "Bad Unicode escape in JSON", escape: "Bad escaped character in JSON", end: "Unexpected non-whitespace character after JSON",
	number: "No number after minus sign in JSON", digit: "Unexpected number in JSON",
};

/** Returns the message for a text that JSON.parse refused. */
function messageFor(text) {
	const { at, expected } = findProblem(text);
	if (at < 0) return undefined;
	if (at >= text.length && PHRASES[expected] === undefined) {
		return expected === undefined || text.trim() === "" ? "Unexpected end of JSON input" : withPlace(`Expected ${expected} in JSON`, text, at);
	}
	if (PHRASES[expected] !== undefined) return withPlace(PHRASES[expected], text, at);
	if (expected !== undefined) return withPlace(`Expected ${expected} in JSON`, text, at);
	const start = Math.max(0, at - 10);
	const end = Math.min(text.length, at + 10);
	const shown = `${start > 0 ? "..." : ""}"${text.slice(start, end)}"${end < text.length ? "... " : " "}`;
	return `Unexpected token '${String.fromCodePoint(text.codePointAt(at))}', ${shown}is not valid JSON`;
}

function withPlace(message, text, at) {
	const before = text.slice(0, at).split("\n");
	return `${message} at position ${at} (line ${before.length} column ${before.at(-1).length + 1})`;
}

/** Installs the function. */
exports.install = function install() {
	const original = JSON.parse;
	const wrapper = {
		parse(text, reviver) {
			try {
				return reviver === undefined ? original(text) : original(text, reviver);
			} catch (error) {
				if (!(error instanceof SyntaxError)) throw error;
				const source = String(text);
				const message = ["undefined", "[object Object]"].includes(source) ? `"${source}" is not valid JSON` : messageFor(source);
				throw message === undefined ? error : new SyntaxError(message);
			}
		},
	}.parse;
	Object.defineProperty(JSON, "parse", { value: wrapper, writable: true, configurable: true });
};
