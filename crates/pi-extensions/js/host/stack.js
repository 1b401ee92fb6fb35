// Stacks and messages of errors in the shape of V8, with positions of the source files.

const native = require("native:modules");

let messages;

/**
 * Rewrites the message of an engine error. The patterns are loaded with the first error; where stack
 * or memory is exhausted that may fail, and the message stays as it is.
 */
function rewrite(error, frames) {
	try {
		messages ??= require("pi:messages");
	} catch {
		return;
	}
	messages.rewrite(error, frames);
}

/** Frames of an error, until someone reads its stack. */
class Captured {
	#frames;
	#text;
	constructor(frames) { this.#frames = frames; }
	textFor(error) {
		if (this.#text === undefined) {
			this.#text = headOf(error) + framesText(this.#frames);
			this.#frames = undefined;
		}
		return this.#text;
	}
}

function headOf(error) {
	try {
		const name = error?.name ?? "Error";
		const message = error?.message ?? "";
		const code = typeof error?.code === "string" && error.code.startsWith("ERR_") ? ` [${error.code}]` : "";
		return message === "" ? `${name}${code}` : `${name}${code}: ${message}`;
	} catch {
		return "Error";
	}
}

function framesText(frames) {
	let text = "";
	for (const frame of frames) {
		const file = frame.getFileName() ?? "native";
		// Frames of the host say nothing to the author of an extension.
		if (file.startsWith("pi:") || file.startsWith("node:")) continue;
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

/** True while `Error.captureStackTrace` runs, which stores the result as a property. */
let isCapturing = false;

function prepareStackTrace(error, frames) {
	const isLazy = !isCapturing && Error.isError(error) && !(error instanceof DOMException);
	if (isLazy) rewrite(error, frames);
	return isLazy ? new Captured(frames) : headOf(error) + framesText(frames);
}

exports.install = function install() {
	Error.prepareStackTrace = prepareStackTrace;
	Error.stackTraceLimit = 10;
	const stack = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
	Object.defineProperty(Error.prototype, "stack", {
		configurable: true,
		get() {
			const value = stack.get.call(this);
			return value instanceof Captured ? value.textFor(this) : value;
		},
		set: stack.set,
	});
	const capture = Error.captureStackTrace;
	Error.captureStackTrace = function captureStackTrace(target, constructor) {
		isCapturing = true;
		try {
			capture(target, constructor ?? captureStackTrace);
		} finally {
			isCapturing = false;
		}
	};
};
