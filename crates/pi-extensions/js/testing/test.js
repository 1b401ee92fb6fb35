// `pi/test`: tests of extensions, with sessions whose model and user are scripted.

const native = require("native:testing");

const tests = [];

/** Declares a test. */
exports.test = function test(name, run) {
	tests.push({ name: String(name), run });
};

/** A value for a message, cut if it is long. */
function text(value) {
	let shown;
	try {
		shown = JSON.stringify(value) ?? String(value);
	} catch {
		shown = String(value);
	}
	return shown.length > 400 ? `${shown.slice(0, 200)} … ${shown.slice(-200)}` : shown;
}

function isEqual(left, right) {
	if (Object.is(left, right)) return true;
	if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false;
	if (Array.isArray(left) !== Array.isArray(right)) return false;
	const keys = Object.keys(left);
	if (keys.length !== Object.keys(right).length) return false;
	return keys.every((key) => Object.hasOwn(right, key) && isEqual(left[key], right[key]));
}

/** Assertions. */
exports.assert = {
	ok(value, message = "the value is not true") {
		if (!value) throw new Error(message);
	},
	equal(actual, expected, message) {
		if (!isEqual(actual, expected)) throw new Error(message ?? `expected ${text(expected)}, got ${text(actual)}`);
	},
	match(actual, pattern, message) {
		if (!pattern.test(actual)) throw new Error(message ?? `${text(actual)} does not match ${pattern}`);
	},
	async rejects(run, pattern = /./) {
		try {
			await (typeof run === "function" ? run() : run);
		} catch (error) {
			const found = error?.message ?? String(error);
			if (pattern.test(found)) return;
			throw new Error(`the error ${text(found)} does not match ${pattern}`);
		}
		throw new Error("nothing was thrown");
	},
};

const open = new Set();

/** Starts a session: { extensions: paths, files: { name: text }, replies, answers }. */
exports.session = async function session(options = {}) {
	const { replies = [], answers = [], ...wanted } = options;
	const id = await native.start(wanted);
	open.add(id);
	const started = {
		/** Adds an answer of the model: { text, thinking, toolCalls: [{ name, arguments }], error }. */
		reply: (reply) => native.reply(id, typeof reply === "string" ? { text: reply } : reply),
		/** Adds an answer of the user to the next dialog. */
		answer: (answer) => native.answer(id, answer),
		/** Sends a prompt or a command, waits for the end of the run and returns the last answer. */
		prompt: (prompt) => native.prompt(id, prompt),
		/** Ends the session. */
		async stop() {
			open.delete(id);
			await native.stop(id);
		},
	};
	for (const name of ["messages", "requests", "tools", "commands", "entries", "shown", "problems", "directory"]) {
		Object.defineProperty(started, name, { get: () => native.state(id)[name], enumerable: true });
	}
	for (const reply of replies) started.reply(reply);
	for (const answer of answers) started.answer(answer);
	return started;
};

/** Runs the tests that were declared. */
exports.runAll = async function runAll() {
	const results = [];
	for (const { name, run } of tests.splice(0)) {
		let error;
		try {
			await run();
		} catch (thrown) {
			error = thrown?.stack ?? String(thrown);
		}
		for (const id of [...open]) {
			open.delete(id);
			await native.stop(id);
		}
		results.push({ name, error });
	}
	return results;
};
