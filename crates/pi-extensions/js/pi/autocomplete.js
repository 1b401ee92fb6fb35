// Autocomplete providers of extensions, on top of the completions of the screen.

const native = require("native:ui");

/** Providers in the order in which they were added; each one wraps those before it. */
let chain = [];

/** The answer of the screen itself, so that a provider that passes it on is recognized. */
let builtinAnswer;

/** The completions of the screen itself, as a provider. */
function builtinProvider(binding) {
	return {
		async getSuggestions(lines, cursorLine, cursorCol, options) {
			const answer = await native.suggestions(binding.id, lines.join("\n"), offset(lines, cursorLine, cursorCol), options?.force === true);
			builtinAnswer = answer ? { items: answer.items.map(({ value, label, description }) => ({ value, label, description: description ?? undefined })), prefix: answer.prefix } : null;
			return builtinAnswer;
		},
		applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
			const line = lines[cursorLine] ?? "";
			const start = cursorCol - prefix.length;
			const changed = [...lines];
			changed[cursorLine] = line.slice(0, start) + item.value + line.slice(cursorCol);
			return { lines: changed, cursorLine, cursorCol: start + item.value.length };
		},
		shouldTriggerFileCompletion: () => true,
	};
}

/** Returns the offset of a position in the joined lines, in UTF-16 units. */
function offset(lines, cursorLine, cursorCol) {
	return lines.slice(0, cursorLine).reduce((sum, line) => sum + line.length + 1, 0) + cursorCol;
}

/** Returns the outermost provider; without those of extensions, that of the screen. */
function currentProvider(binding) {
	if (chain.some((one) => one.binding.isStale)) chain = [];
	return chain.at(-1)?.provider ?? builtinProvider(binding);
}

/** Adds a provider that wraps the present one. */
function addProvider(binding, factory) {
	const current = currentProvider(binding);
	const provider = factory(current);
	if (chain.length === 0) native.addCompletions(binding.id);
	chain.push({ binding, provider });
	require("pi:editor-slot").providerChanged(binding);
}

/** Asks the providers. Returns null if the screen's own completions are meant. */
async function complete(text, cursor, force) {
	if (chain.length === 0 || chain.some((one) => one.binding.isStale)) return null;
	const { binding, provider } = chain.at(-1);
	const before = text.slice(0, cursor).split("\n");
	const lines = text.split("\n");
	const cursorLine = before.length - 1;
	const cursorCol = before[cursorLine].length;
	builtinAnswer = undefined;
	try {
		const signal = new AbortController().signal;
		const found = await provider.getSuggestions(lines, cursorLine, cursorCol, { signal, force });
		if (found === builtinAnswer || !Array.isArray(found?.items) || found.items.length === 0) return null;
		const items = found.items.map((item) => applied(provider, lines, cursorLine, cursorCol, item, found.prefix));
		return { prefix: String(found.prefix), items };
	} catch (error) {
		native.report(binding.id, error);
		return null;
	}
}

/** Returns an item with the text that applying it inserts in the place of the prefix. */
function applied(provider, lines, cursorLine, cursorCol, item, prefix) {
	const plain = { value: String(item.value), label: String(item.label ?? item.value), description: item.description === undefined ? undefined : String(item.description), back: 0 };
	const start = cursorCol - prefix.length;
	const line = lines[cursorLine] ?? "";
	const result = provider.applyCompletion?.(lines, cursorLine, cursorCol, item, prefix);
	const changed = result?.lines?.[result.cursorLine];
	const after = line.slice(cursorCol);
	const isLocal = typeof changed === "string" && result.cursorLine === cursorLine && changed.startsWith(line.slice(0, start)) && changed.endsWith(after);
	if (!isLocal) return plain;
	const end = changed.length - after.length;
	return { ...plain, value: changed.slice(start, end), back: Math.max(0, end - result.cursorCol) };
}

module.exports = { addProvider, currentProvider, calls: { complete } };
