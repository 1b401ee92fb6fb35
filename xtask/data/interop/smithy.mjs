// A scripted Bedrock: smithy.mjs PORT MODULES
//
// Signatures are recomputed with @smithy/signature-v4, events are encoded with
// @smithy/eventstream-codec. The form of the events is that of the real service: text and reasoning
// have no start event. The key is AKIDEXAMPLE, its secret "secret". Answers follow the script of
// aimock.json, as far as the conversations need it.
import { createServer } from "node:http";
import { createHash, createHmac } from "node:crypto";
import { createRequire } from "node:module";

const [port, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { SignatureV4 } = require("@smithy/signature-v4");
const { EventStreamCodec } = require("@smithy/eventstream-codec");

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const codec = new EventStreamCodec((bytes) => decoder.decode(bytes), (text) => encoder.encode(text));

class Sha256 {
  constructor(secret) {
    this.hash = secret === undefined ? createHash("sha256") : createHmac("sha256", secret);
  }
  update(data) {
    this.hash.update(typeof data === "string" ? data : Buffer.from(data));
  }
  async digest() {
    return new Uint8Array(this.hash.digest());
  }
}

/** Returns what is wrong with the signature, if anything. */
async function problem(request, body) {
  const form = /Credential=AKIDEXAMPLE\/\d{8}\/([^/]+)\/bedrock\/aws4_request, SignedHeaders=([^,]+), Signature=/;
  const match = form.exec(request.headers.authorization ?? "");
  if (!match) return "no or malformed authorization";
  const headers = Object.fromEntries(match[2].split(";").map((name) => [name, request.headers[name]]));
  const time = headers["x-amz-date"].replace(/(....)(..)(..T..)(..)(..Z)/, "$1-$2-$3:$4:$5");
  const signer = new SignatureV4({
    service: "bedrock",
    region: match[1],
    sha256: Sha256,
    applyChecksum: false,
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" },
  });
  const signed = await signer.sign(
    { method: "POST", protocol: "http:", hostname: "127.0.0.1", path: request.url, query: {}, headers, body },
    { signingDate: new Date(time) },
  );
  return signed.headers.authorization === request.headers.authorization
    ? undefined
    : `expected ${signed.headers.authorization}, got ${request.headers.authorization}`;
}

const event = (kind, payload) =>
  codec.encode({
    headers: {
      ":event-type": { type: "string", value: kind },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: "event" },
      "x-count": { type: "integer", value: 7 },
    },
    body: encoder.encode(JSON.stringify(payload)),
  });

/** Encodes an answer of blocks: texts, thoughts and calls. */
function* answer(blocks, usage) {
  yield event("messageStart", { role: "assistant" });
  let calls = false;
  for (const [contentBlockIndex, block] of blocks.entries()) {
    const delta = (delta) => event("contentBlockDelta", { contentBlockIndex, delta });
    const halves = (text) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
    if (block.text) for (const text of halves(block.text)) yield delta({ text });
    if (block.thought) {
      for (const text of halves(block.thought)) yield delta({ reasoningContent: { text } });
      yield delta({ reasoningContent: { signature: "c2lnbmVk" } });
    }
    if (block.redacted) yield delta({ reasoningContent: { redactedContent: block.redacted } });
    if (block.city) {
      calls = true;
      const toolUse = { toolUseId: `tooluse_${contentBlockIndex}_${Date.now()}`, name: "get_weather" };
      yield event("contentBlockStart", { contentBlockIndex, start: { toolUse } });
      for (const input of halves(JSON.stringify({ city: block.city }))) yield delta({ toolUse: { input } });
    }
    yield event("contentBlockStop", { contentBlockIndex });
  }
  yield event("messageStop", { stopReason: calls ? "tool_use" : "end_turn" });
  yield event("metadata", { usage, metrics: { latencyMs: 1 } });
}

/** Chooses the answer by the last text of the user, and by the results after it. */
function script(messages) {
  const blocks = messages.filter((message) => message.role === "user").flatMap((message) => message.content);
  const asked = blocks.findLastIndex((block) => block.text && !block.text.startsWith("Images from"));
  const request = blocks[asked]?.text ?? "";
  const answered = blocks.slice(asked).some((block) => block.toolResult);
  if (request.includes("Oslo and in Rome")) {
    return answered ? [{ text: "It is sunny in both." }] : [{ text: "I will look." }, { city: "Oslo" }, { city: "Rome" }];
  }
  if (request.startsWith("Think")) {
    const thought = { thought: "The user wants the weather." };
    return answered
      ? [thought, { text: "It is sunny in Oslo." }]
      : [thought, { redacted: "c2VjcmV0" }, { city: "Oslo" }];
  }
  if (request.includes("picture")) return [{ text: "A red pixel." }];
  if (request.startsWith("Count")) return [{ text: "Counted." }];
  if (request.startsWith("Tell")) return [{ text: `Once upon a time, ${"far away, ".repeat(500)}the story went on. The end.` }];
  return [{ text: "Hello there, this is a scripted answer." }];
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  if (request.method !== "POST") return response.writeHead(204).end();
  const body = Buffer.concat(parts).toString();
  const error = await problem(request, body);
  if (error) {
    console.log(request.url, error);
    response.writeHead(403, { "x-amzn-errortype": "InvalidSignatureException" });
    return response.end(JSON.stringify({ message: error }));
  }
  const { messages } = JSON.parse(body);
  response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
  const blocks = script(messages);
  const slow = blocks[0]?.text?.startsWith("Once");
  const usage = { inputTokens: 5, outputTokens: 7, totalTokens: 18, cacheReadInputTokens: 4, cacheWriteInputTokens: 2 };
  for (const frame of answer(blocks, usage)) {
    // In parts that end inside frames.
    for (let start = 0; start < frame.length; start += 23) response.write(frame.subarray(start, start + 23));
    if (slow) await new Promise((done) => setTimeout(done, 150));
  }
  response.end();
}).listen(Number(port), "127.0.0.1");
