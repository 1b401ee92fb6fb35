// How the built-in tools show a call and a result: text in the colors of the theme.

const { formatReadLineRange } = require("pi:coding-agent/text");

/** Lines of a result that a collapsed tool shows. */
const SHOWN = { bash: 5, read: 10, write: 10, grep: 15, find: 20, ls: 20, edit: 40 };

const text = (value) => {
	const { Text } = require("@earendil-works/pi-tui");
	return new Text(value, 0, 0);
};

/** Returns a path for the eye: the home directory as `~`. */
function shortPath(path) {
	const home = process.env.HOME;
	if (typeof path !== "string") return "";
	return home && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path;
}

function callText(name, args, theme) {
	const title = theme.fg("toolTitle", theme.bold(name === "bash" ? "$" : name));
	const accent = (value) => theme.fg("accent", value);
	if (name === "bash") {
		const limit = args?.timeout ? theme.fg("muted", ` (timeout ${args.timeout}s)`) : "";
		return theme.fg("toolTitle", theme.bold(`$ ${args?.command ?? "..."}`)) + limit;
	}
	const path = args?.path === undefined ? "." : shortPath(args.path);
	if (name === "read") return `${title} ${accent(path)}${theme.fg("warning", formatReadLineRange(args?.offset, args?.limit))}`;
	if (name === "grep") return `${title} ${accent(`/${args?.pattern ?? ""}/`)}${theme.fg("toolOutput", ` in ${path}`)}`;
	if (name === "find") return `${title} ${accent(args?.pattern ?? "")}${theme.fg("toolOutput", ` in ${path}`)}`;
	return `${title} ${accent(path)}`;
}

const outputOf = (result) => (result?.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("\n");

function resultText(name, result, { expanded, isPartial }, theme, isError) {
	if (isPartial && outputOf(result) === "") return "";
	if (name === "edit" && result?.details?.diff && !isError) {
		return result.details.diff.split("\n").map((line) => {
			const color = line.startsWith("+") ? "toolDiffAdded" : line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext";
			return theme.fg(color, line);
		}).join("\n");
	}
	if (name === "write" && !isError) return "";
	const lines = outputOf(result).trimEnd().replaceAll("\t", "   ").split("\n");
	const color = isError ? "error" : "toolOutput";
	const most = expanded ? lines.length : SHOWN[name];
	const hidden = lines.length - most;
	// The end of a command's output says how it went; of other output, the beginning.
	const shown = name === "bash" ? lines.slice(-most) : lines.slice(0, most);
	const body = shown.map((line) => theme.fg(color, line)).join("\n");
	if (hidden <= 0) return body;
	const note = theme.fg("muted", name === "bash" ? `... (${hidden} earlier lines)` : `... (${hidden} more lines)`);
	return name === "bash" ? `${note}\n${body}` : `${body}\n${note}`;
}

/** Returns `renderCall` and `renderResult` of a tool. */
exports.renderersOf = function renderersOf(name) {
	return {
		renderCall(args, theme, context) {
			const component = context?.lastComponent;
			const value = callText(name, args, theme);
			if (typeof component?.setText !== "function") return text(value);
			component.setText(value);
			return component;
		},
		renderResult(result, options, theme, context) {
			return text(resultText(name, result, options ?? {}, theme, context?.isError ?? result?.isError));
		},
	};
};
