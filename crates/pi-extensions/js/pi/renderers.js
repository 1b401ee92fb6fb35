// Renderers: functions of extensions that draw messages, entries, tool calls and Markdown.

const native = require("native:ui");
const { currentTheme, keybindingsOf } = require("pi:screen");

/** Registrations in load order: { binding, kind, name, render }. */
let registrations = [];

/** State of what was drawn, by key; the oldest is forgotten first. */
const drawn = new Map();
const MOST_DRAWN = 500;

/**
 * Registers a renderer. The kinds are `message` and `entry` with a custom type, `tool` with the name
 * and the definition of a tool, `anyTool` with a resolver, and `markdown` with a function that
 * changes text before it is drawn.
 */
function register(binding, kind, name, render) {
	registrations = registrations.filter((one) => !one.binding.isStale);
	// An extension has one renderer of a kind and name; the last one counts.
	const known = kind !== "anyTool" && registrations.find((one) => one.binding === binding && one.kind === kind && one.name === name);
	if (known) {
		known.render = render;
		return;
	}
	registrations.push({ binding, kind, name, render });
	native.registerRenderer(binding.id, kind, name);
}

/** Returns the state of a subject. */
function stateOf(key) {
	let state = drawn.get(key);
	if (state === undefined) {
		state = { state: {} };
		drawn.set(key, state);
		if (drawn.size > MOST_DRAWN) drawn.delete(drawn.keys().next().value);
	}
	return state;
}

/** Returns functions that name keys, with the keys of the user. */
function hints(binding) {
	const keyText = (action) => keybindingsOf().getKeys(action).join("/");
	const theme = currentTheme(binding.id);
	return {
		keyText,
		keyHint: (action, description) => theme.fg("dim", keyText(action)) + theme.fg("muted", ` ${description}`),
	};
}

function linesOf(component, width) {
	return component.render(width).map((line) => String(line).toWellFormed());
}

function find(id, kind, name) {
	return registrations.find((one) => one.binding.id === id && !one.binding.isStale && one.kind === kind && (name === undefined || one.name === name));
}

/** Draws a message or an entry. The component is made anew when it is expanded or collapsed. */
function drawCustom(id, { kind, key, width, expanded, subject }) {
	const registration = find(id, kind, subject[kind].customType);
	if (registration === undefined) return null;
	const { binding, render } = registration;
	const state = stateOf(`${kind}:${key}`);
	const generation = native.state(id, "themeGeneration", undefined);
	if (state.binding !== binding || state.expanded !== expanded || state.generation !== generation) {
		const options = { expanded, ...hints(binding) };
		if (kind === "message") options.outputPad = subject.outputPad;
		state.component = render(subject[kind], options, currentTheme(id));
		Object.assign(state, { binding, expanded, generation });
	}
	return state.component ? linesOf(state.component, width) : null;
}

/** Returns the renderers of a tool: what the resolvers choose, then those of the tool. */
function resolveTool(name) {
	const resolvers = registrations.filter((one) => one.kind === "anyTool" && !one.binding.isStale);
	const own = registrations.findLast((one) => one.kind === "tool" && one.name === name && !one.binding.isStale);
	let binding = own?.binding;
	const next = (at) => {
		if (at === resolvers.length) return own?.render;
		const chosen = resolvers[at].render(name, () => next(at + 1));
		if (chosen !== undefined && chosen !== own?.render) binding ??= resolvers[at].binding;
		return chosen;
	};
	const renderers = next(0);
	return { renderers, binding: binding ?? resolvers[0]?.binding };
}

/** Draws a tool call: the part of the call and that of the result. */
function drawTool(id, { key, width, expanded, subject }) {
	const { renderers, binding } = resolveTool(subject.toolName);
	if (!renderers?.renderCall && !renderers?.renderResult) return null;
	const row = stateOf(`tool:${key}`);
	const shell = renderers.renderShell === "self" ? "self" : "default";
	const inner = shell === "self" ? width : Math.max(1, width - 2 * subject.boxPad);
	const theme = currentTheme(binding.id);
	const context = (slot) => ({
		args: subject.args,
		toolCallId: subject.toolCallId,
		invalidate: () => native.redrawRendered(),
		lastComponent: row[slot],
		state: row.state,
		cwd: subject.cwd,
		executionStarted: subject.executionStarted,
		argsComplete: subject.argsComplete,
		isPartial: subject.isPartial,
		expanded,
		showImages: subject.showImages,
		isError: subject.isError,
		durationMs: subject.durationMs ?? undefined,
		outputPad: subject.outputPad,
		...hints(binding),
	});
	const part = (slot, make) => {
		try {
			const component = make(context(slot));
			row[slot] = component;
			return component ? linesOf(component, inner) : null;
		} catch (error) {
			reportOnce(binding.id, row, error);
			return null;
		}
	};
	const call = renderers.renderCall && part("call", (given) => renderers.renderCall(subject.args, theme, given));
	const options = { expanded, isPartial: subject.isPartial };
	const result =
		renderers.renderResult && subject.result
			? part("result", (given) => renderers.renderResult(subject.result, options, theme, given))
			: null;
	return { shell, call: call ?? null, result };
}

/** Reports an error of a renderer, once per subject: a subject is drawn often. */
function reportOnce(id, row, error) {
	if (row.hasFailed) return;
	row.hasFailed = true;
	native.report(id, error);
}

/** Changes Markdown. */
function transformMarkdown(id, { subject, width }) {
	const registration = find(id, "markdown");
	if (registration === undefined) return null;
	const { markdown, ...context } = subject;
	const changed = registration.render(markdown, { ...context, availableWidth: width });
	return typeof changed === "string" ? changed : null;
}

/** Draws a subject; null passes on. */
function renderSubject(id, request) {
	try {
		if (request.kind === "tool") return drawTool(id, request);
		if (request.kind === "markdown") return transformMarkdown(id, request);
		return drawCustom(id, request);
	} catch (error) {
		reportOnce(id, stateOf(`${request.kind}:${request.key}`), error);
		return null;
	}
}

module.exports = { register, calls: { renderSubject } };
