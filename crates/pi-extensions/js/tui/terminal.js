// The terminal: its abilities, and the classes by which extensions know it.

const { missing } = require("pi:missing");

let cached;
let overrides = {};
let cell = { widthPx: 9, heightPx: 18 };

/** Terminals by their names: the protocol for images. All of them show colors and links. */
const PROGRAMS = { kitty: "kitty", ghostty: "kitty", wezterm: "kitty", warpterminal: "kitty", "iterm.app": "iterm2", vscode: null, alacritty: null, zed: null };

/** Returns the abilities of the terminal that the environment names. */
function detectCapabilities() {
	const env = globalThis.process?.env ?? {};
	const term = (env.TERM ?? "").toLowerCase();
	const trueColor = env.COLORTERM === "truecolor" || env.COLORTERM === "24bit";
	// A multiplexer shows neither images nor links of the terminal around it.
	if (env.TMUX || term.startsWith("tmux") || term.startsWith("screen")) return { images: null, trueColor, hyperlinks: false };
	let images = PROGRAMS[(env.TERM_PROGRAM ?? "").toLowerCase()];
	if (env.KITTY_WINDOW_ID || env.GHOSTTY_RESOURCES_DIR || term.includes("ghostty") || env.WEZTERM_PANE) images = "kitty";
	else if (env.ITERM_SESSION_ID) images = "iterm2";
	else if (env.WT_SESSION) images ??= null;
	if (images !== undefined) return { images, trueColor: true, hyperlinks: true };
	return { images: null, trueColor: trueColor || env.TERMINAL_EMULATOR === "JetBrains-JediTerm", hyperlinks: false };
}
exports.detectCapabilities = detectCapabilities;

exports.getCapabilities = function getCapabilities() {
	cached ??= { ...detectCapabilities(), ...overrides };
	return cached;
};

exports.resetCapabilitiesCache = function resetCapabilitiesCache() {
	cached = undefined;
};

exports.setCapabilities = function setCapabilities(capabilities) {
	cached = capabilities;
};

exports.setCapabilityOverrides = function setCapabilityOverrides(values) {
	overrides = { ...values };
	cached = undefined;
};

exports.getCellDimensions = function getCellDimensions() {
	return cell;
};

exports.setCellDimensions = function setCellDimensions(dimensions) {
	cell = dimensions;
};

exports.isAppleTerminalSession = function isAppleTerminalSession() {
	return globalThis.process?.env?.TERM_PROGRAM === "Apple_Terminal";
};

exports.getNativeClipboard = function getNativeClipboard() {
	return null;
};

exports.parseTerminalColorSchemeReport = function parseTerminalColorSchemeReport(data) {
	const kind = /\x1b\[\?997;([12])n/.exec(data)?.[1];
	return kind === undefined ? undefined : kind === "1" ? "dark" : "light";
};

/** Returns the sequence that tells the terminal what the program does. */
exports.formatProgramStatus = function formatProgramStatus(status) {
	const fields = [`state=${status.state}`];
	if (status.kind) fields.push(`kind=${status.kind}`);
	if (status.message) {
		const line = status.message.replace(/[\x00-\x1f\x7f]+/g, " ");
		const bytes = new TextEncoder().encode(line);
		fields.push(`msg=${btoa(String.fromCharCode(...bytes))}`);
	}
	return `\x1b]7501;${fields.join(":")}\x1b\\`;
};

/** The screen belongs to the program: an extension can ask for its size and write nothing to it. */
class ProcessTerminal {
	get columns() {
		return globalThis.process?.stdout?.columns ?? 80;
	}
	get rows() {
		return globalThis.process?.stdout?.rows ?? 24;
	}
	get kittyProtocolActive() {
		return require("pi:tui/keys").isKittyProtocolActive();
	}
}
const ACTIONS = ["start", "stop", "drainInput", "write", "moveBy", "hideCursor", "showCursor", "clearLine", "clearFromCursor", "clearScreen", "setTitle", "setProgress", "setProgramStatus"];
for (const name of ACTIONS) {
	Object.defineProperty(ProcessTerminal.prototype, name, { value: missing(`ProcessTerminal.${name}`), configurable: true, writable: true });
}
exports.ProcessTerminal = ProcessTerminal;
