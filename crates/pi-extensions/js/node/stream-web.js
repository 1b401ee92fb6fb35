// node:stream/web: the streams of the web platform by their names.

const names = [
	"ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamBYOBReader", "ReadableStreamDefaultController",
	"ReadableByteStreamController", "WritableStream", "WritableStreamDefaultWriter", "WritableStreamDefaultController",
	"TransformStream", "TransformStreamDefaultController", "ByteLengthQueuingStrategy", "CountQueuingStrategy",
	"TextEncoderStream", "TextDecoderStream", "CompressionStream", "DecompressionStream",
];
for (const name of names) Object.defineProperty(exports, name, { enumerable: true, get: () => globalThis[name] });
