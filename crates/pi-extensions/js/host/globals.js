// Globals that the engine lacks. Each is loaded when it is first used.

const loader = require("pi:loader");
const { missing } = require("pi:missing");

/** Global names with the module and the export that they come from; without one, the module itself. */
const LAZY = {
	setTimeout: ["pi:timers", "setTimeout"],
	clearTimeout: ["pi:timers", "clearTimeout"],
	setInterval: ["pi:timers", "setInterval"],
	clearInterval: ["pi:timers", "clearInterval"],
	setImmediate: ["pi:timers", "setImmediate"],
	clearImmediate: ["pi:timers", "clearImmediate"],
	console: ["node:console", undefined],
	process: ["node:process", undefined],
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
	CompressionStream: ["pi:compression", "CompressionStream"],
	DecompressionStream: ["pi:compression", "DecompressionStream"],
	structuredClone: ["pi:clone", "structuredClone"],
	MessageChannel: ["pi:clone", "MessageChannel"],
	MessagePort: ["pi:clone", "MessagePort"],
	MessageEvent: ["pi:clone", "MessageEvent"],
	BroadcastChannel: ["pi:clone", "BroadcastChannel"],
	WebSocket: ["pi:websocket", "WebSocket"],
	CloseEvent: ["pi:websocket", "CloseEvent"],
	crypto: ["pi:webcrypto", "crypto"],
	Crypto: ["pi:webcrypto", "Crypto"],
	CryptoKey: ["pi:webcrypto", "CryptoKey"],
	SubtleCrypto: ["pi:webcrypto", "SubtleCrypto"],
	Intl: ["pi:intl", "Intl"],
	navigator: ["pi:navigator", "navigator"],
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
			const exported = loader.requireHost(module);
			const value = key === undefined ? exported : exported[key];
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

/** Keeps the target of a new WeakRef until the running job ends, as the language demands. */
function keepWeakTargets() {
	const Original = globalThis.WeakRef;
	let kept = [];
	define("WeakRef", class WeakRef extends Original {
		constructor(target) {
			super(target);
			if (kept.length === 0) queueMicrotask(() => { kept = []; });
			kept.push(target);
		}
	});
}

/** Defines the globals. */
exports.install = function install() {
	define("global", globalThis);
	keepWeakTargets();
	for (const name of Object.keys(LAZY)) defineLazy(name, LAZY[name]);
	define("EventSource", missing("EventSource"));
	const names = ["compile", "instantiate", "validate", "Module", "Instance", "Memory", "Table", "Global"];
	define("WebAssembly", Object.fromEntries(names.map((name) => [name, missing(`WebAssembly.${name}`)])));
};
