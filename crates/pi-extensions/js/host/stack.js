// Stacks in the shape of V8, with positions of the source files.

const native = require("native:modules");

/** Returns the text of `error.stack`. */
function prepareStackTrace(error, frames) {
	let text;
	try {
		const name = error?.name ?? "Error";
		const message = error?.message ?? "";
		text = message === "" ? String(name) : `${name}: ${message}`;
	} catch {
		text = "Error";
	}
	for (const frame of frames) {
		const file = frame.getFileName() ?? "native";
		// Frames of the host say nothing to the author of an extension.
		if (file.startsWith("pi:")) continue;
		const name = frame.getFunctionName();
		let place = file;
		if (!frame.isNative()) {
			const [line, column] = native.originalPosition(file, frame.getLineNumber(), frame.getColumnNumber());
			place = `${file}:${line}:${column}`;
		}
		text += name ? `\n    at ${name} (${place})` : `\n    at ${place}`;
	}
	return text;
}

exports.install = function install() {
	Error.prepareStackTrace = prepareStackTrace;
};
