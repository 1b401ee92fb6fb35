// The clipboard of the desktop, through the program that the system has for it.

const PROGRAMS = [
	["pbcopy", []],
	["wl-copy", []],
	["xclip", ["-selection", "clipboard"]],
	["xsel", ["--clipboard", "--input"]],
	["clip.exe", []],
];

/** Copies a text; the promise is rejected if no program can do it. */
exports.copyToClipboard = async function copyToClipboard(text) {
	const { spawnSync } = require("node:child_process");
	for (const [program, args] of PROGRAMS) {
		const result = spawnSync(program, args, { input: text, timeout: 5000 });
		if (result.error === undefined && result.status === 0) return;
	}
	throw new Error("No clipboard program is available. Install wl-clipboard, xclip or xsel.");
};

/** Returns a note on the size of an image that was scaled down. */
exports.formatDimensionNote = function formatDimensionNote({ originalWidth, originalHeight, width, height, wasResized }) {
	if (!wasResized) return undefined;
	const scale = (originalWidth / width).toFixed(2);
	return `[Image: original ${originalWidth}x${originalHeight}, displayed at ${width}x${height}. Multiply coordinates by ${scale} to map to original image.]`;
};
