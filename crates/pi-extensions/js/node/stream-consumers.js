// node:stream/consumers.

const { Buffer } = require("node:buffer");

async function buffer(stream) {
	const chunks = [];
	for await (const chunk of stream) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
	return Buffer.concat(chunks);
}

async function text(stream) {
	const decoder = new TextDecoder();
	let result = "";
	for await (const chunk of stream) result += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
	return result + decoder.decode();
}

module.exports = {
	buffer, text,
	async json(stream) { return JSON.parse(await text(stream)); },
	async arrayBuffer(stream) {
		const bytes = await buffer(stream);
		return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
	},
	async blob(stream) { return new Blob([await buffer(stream)]); },
};
