// Globals that the engine lacks. Each is loaded when it is first used.

const loader = require("pi:loader");

/** Global names with the module and the export that they come from. */
const LAZY = {
	setTimeout: ["pi:timers", "setTimeout"],
	clearTimeout: ["pi:timers", "clearTimeout"],
	setInterval: ["pi:timers", "setInterval"],
	clearInterval: ["pi:timers", "clearInterval"],
	setImmediate: ["pi:timers", "setImmediate"],
	clearImmediate: ["pi:timers", "clearImmediate"],
	Buffer: ["node:buffer", "Buffer"],
	Event: ["pi:event", "Event"],
	CustomEvent: ["pi:event", "CustomEvent"],
	EventTarget: ["pi:event", "EventTarget"],
	AbortController: ["pi:abort", "AbortController"],
	AbortSignal: ["pi:abort", "AbortSignal"],
	URL: ["pi:url", "URL"],
	URLSearchParams: ["pi:url", "URLSearchParams"],
	Blob: ["pi:blob", "Blob"],
	File: ["pi:blob", "File"],
	FormData: ["pi:blob", "FormData"],
	Headers: ["pi:headers", "Headers"],
	Request: ["pi:request", "Request"],
	Response: ["pi:request", "Response"],
	fetch: ["pi:fetch", "fetch"],
	ReadableStream: ["pi:readable-stream", "ReadableStream"],
	ReadableStreamDefaultReader: ["pi:readable-stream", "ReadableStreamDefaultReader"],
	ReadableStreamBYOBReader: ["pi:readable-stream", "ReadableStreamBYOBReader"],
	ReadableStreamDefaultController: ["pi:readable-stream", "ReadableStreamDefaultController"],
	ReadableByteStreamController: ["pi:readable-stream", "ReadableByteStreamController"],
	WritableStream: ["pi:writable-stream", "WritableStream"],
	WritableStreamDefaultWriter: ["pi:writable-stream", "WritableStreamDefaultWriter"],
	WritableStreamDefaultController: ["pi:writable-stream", "WritableStreamDefaultController"],
	TransformStream: ["pi:writable-stream", "TransformStream"],
	TransformStreamDefaultController: ["pi:writable-stream", "TransformStreamDefaultController"],
	CountQueuingStrategy: ["pi:writable-stream", "CountQueuingStrategy"],
	ByteLengthQueuingStrategy: ["pi:writable-stream", "ByteLengthQueuingStrategy"],
	TextEncoder: ["pi:text", "TextEncoder"],
	TextDecoder: ["pi:text", "TextDecoder"],
	TextEncoderStream: ["pi:text", "TextEncoderStream"],
	TextDecoderStream: ["pi:text", "TextDecoderStream"],
};

function defineLazy(name, [module, key]) {
	Object.defineProperty(globalThis, name, {
		configurable: true,
		enumerable: false,
		get() {
			const value = loader.requireHost(module)[key];
			define(name, value);
			return value;
		},
		set(value) {
			define(name, value);
		},
	});
}

function define(name, value) {
	Object.defineProperty(globalThis, name, { value, configurable: true, enumerable: false, writable: true });
}

/** Defines the globals. */
exports.install = function install() {
	define("global", globalThis);
	for (const name of Object.keys(LAZY)) defineLazy(name, LAZY[name]);
};
