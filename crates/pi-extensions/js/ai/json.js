// JSON that is not complete yet, or not quite valid.

const native = require("native:ai");

/** Returns the object that the text so far gives; an empty one if there is none. */
function parseStreamingJson(text) {
	return native.parsePartial(text ?? "");
}

const repairJson = (text) => native.repairJson(text);

function parseJsonWithRepair(text) {
	try {
		return JSON.parse(text);
	} catch (error) {
		const repaired = repairJson(text);
		if (repaired === text) throw error;
		return JSON.parse(repaired);
	}
}

/** Parses the complete arguments of a call. An error is part of the result. */
function parseToolCallArguments(text) {
	if (text.trim() === "") return { arguments: {} };
	try {
		const value = parseJsonWithRepair(text);
		return { arguments: value !== null && typeof value === "object" && !Array.isArray(value) ? value : {} };
	} catch (error) {
		return { arguments: {}, argumentsError: `${error.message}\n\nReceived arguments:\n${text}` };
	}
}

/** The arguments of a call while they arrive. */
class ToolCallArgumentsStream {
	#text = "";
	#parser = native.openPartial();

	get text() {
		return this.#text;
	}
	/** Adds text and returns the arguments so far. */
	append(delta) {
		this.#text += delta;
		return this.#parser(delta);
	}
	/** Replaces the text. */
	replace(text) {
		this.#text = text;
		this.#parser = native.openPartial();
		return { arguments: this.#parser(text) };
	}
	/** Returns the arguments of the complete text. */
	finish() {
		return parseToolCallArguments(this.#text);
	}
}

/** Returns the assignments that turn one value into another. */
function edits(before, after, path) {
	if (Object.is(before, after)) return [];
	const isContainer = (value) => value !== null && typeof value === "object";
	if (!isContainer(after)) return [{ kind: "set", path, value: after }];
	const list = [];
	let base = before;
	if (!isContainer(before) || Array.isArray(before) !== Array.isArray(after)) {
		base = Array.isArray(after) ? [] : {};
		list.push({ kind: "set", path, value: Array.isArray(after) ? [] : {} });
	}
	for (const key of Object.keys(after)) {
		const at = Array.isArray(after) ? Number(key) : key;
		list.push(...edits(base[key], after[key], [...path, at]));
	}
	return list;
}

/** A document while it arrives. */
class StreamingJsonParser {
	#parser = native.openPartial();
	#value = undefined;

	/** Adds text and returns the assignments that it causes. */
	append(text) {
		const next = this.#parser(text);
		const list = edits(this.#value, next, []);
		this.#value = next;
		return list;
	}
	/** Returns the value so far. */
	snapshot() {
		return this.#value;
	}
}

module.exports = { parseStreamingJson, repairJson, parseJsonWithRepair, parseToolCallArguments, ToolCallArgumentsStream, StreamingJsonParser };
