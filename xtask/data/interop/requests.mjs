// Compares the requests of the TypeScript pi with those of another program, end to end.
//
// Both programs run the same prompt with one model per provider and format, at two thinking levels.
// Their providers point at a server in this process, whose scripted model calls a tool and then
// answers. Prints a line of JSON per run. PI_PEER_DIR is the package, PI_BINARY the other program
// (without it, the package's own), PI_MODELS the records of the catalog, PI_ONLY a provider or format.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, zstdDecompressSync } from "node:zlib";

const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-requests-")));
const CALL = '{"path":"a.txt"}';

// The scripted model, in every format: a call first, then text.
const sse = (events, named) => [
  "text/event-stream",
  events.map((event) => (named ? `event: ${event.type}\n` : "") + `data: ${event.trim?.() ?? JSON.stringify(event)}\n\n`).join(""),
];

function completions(second, model) {
  const chunk = (delta, rest) => ({ id: "x", model, choices: [{ index: 0, delta, ...rest }] });
  const call = { index: 0, id: "abcdefghi", type: "function", function: { name: "read", arguments: CALL } };
  const end = { ...chunk({}, { finish_reason: second ? "stop" : "tool_calls" }), usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
  return sse([chunk(second ? { content: "done" } : { tool_calls: [call] }), end, "[DONE]"]);
}

function responses(second) {
  const text = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done", annotations: [] }] };
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: CALL, status: "completed" };
  const output = second ? [text] : [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" }, call];
  const items = output.flatMap((item, output_index) => ["added", "done"].map((end) => ({ type: `response.output_item.${end}`, output_index, item })));
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  const done = { type: "response.completed", response: { id: "resp_1", status: "completed", output, usage } };
  return sse([{ type: "response.created", response: { id: "resp_1" } }, ...items, done], true);
}

function messages(second, model) {
  const deltas = second
    ? [[{ type: "text", text: "" }, { type: "text_delta", text: "done" }]]
    : [
        [{ type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "hm" }, { type: "signature_delta", signature: "c2ln" }],
        [{ type: "tool_use", id: "toolu_1", name: "read", input: {} }, { type: "input_json_delta", partial_json: CALL }],
      ];
  const blocks = deltas.flatMap(([content_block, ...rest], index) => [
    { type: "content_block_start", index, content_block },
    ...rest.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);
  const message = { id: "m", type: "message", role: "assistant", model, content: [], usage: { input_tokens: 5, output_tokens: 1 } };
  const end = { type: "message_delta", delta: { stop_reason: second ? "end_turn" : "tool_use" }, usage: { output_tokens: 2 } };
  return sse([{ type: "message_start", message }, ...blocks, end, { type: "message_stop" }], true);
}

function google(second) {
  const call = { functionCall: { name: "read", args: JSON.parse(CALL), id: "g1" }, thoughtSignature: "c2lnbmF0dXJl" };
  const parts = [second ? { text: "done" } : call];
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
  return sse([{ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata }]);
}

function gateway(second) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 5, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 7, cost };
  const toolCall = { type: "toolCall", id: "c1", name: "read", arguments: JSON.parse(CALL) };
  const block = second
    ? [{ type: "text_start", contentIndex: 0 }, { type: "text_end", contentIndex: 0, content: "done" }]
    : [{ type: "toolcall_start", contentIndex: 0, id: "c1", toolName: "read" }, { type: "toolcall_end", contentIndex: 0, toolCall }];
  return sse([{ type: "start" }, ...block, { type: "done", reason: second ? "stop" : "toolUse", usage }]);
}

function frame(kind, payload) {
  const header = (name, value) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7, 0, value.length]), Buffer.from(value)]);
  const headers = Buffer.concat([header(":event-type", kind), header(":content-type", "application/json"), header(":message-type", "event")]);
  const body = Buffer.from(JSON.stringify(payload));
  const u32 = (number) => { const bytes = Buffer.alloc(4); bytes.writeUInt32BE(number >>> 0); return bytes; };
  const prelude = Buffer.concat([u32(16 + headers.length + body.length), u32(headers.length)]);
  const all = Buffer.concat([prelude, u32(crc32(prelude)), headers, body]);
  return Buffer.concat([all, u32(crc32(all))]);
}

function converse(second) {
  const start = second ? [] : [frame("contentBlockStart", { contentBlockIndex: 0, start: { toolUse: { toolUseId: "tooluse_1", name: "read" } } })];
  const delta = second ? { text: "done" } : { toolUse: { input: CALL } };
  return ["application/vnd.amazon.eventstream", Buffer.concat([
    frame("messageStart", { role: "assistant" }), ...start,
    frame("contentBlockDelta", { contentBlockIndex: 0, delta }), frame("contentBlockStop", { contentBlockIndex: 0 }),
    frame("messageStop", { stopReason: second ? "end_turn" : "tool_use" }),
    frame("metadata", { usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 }, metrics: { latencyMs: 1 } }),
  ])];
}

const ANSWERS = {
  "anthropic-messages": messages, "azure-openai-responses": responses, "bedrock-converse-stream": converse,
  "google-generative-ai": google, "google-vertex": google, "mistral-conversations": completions,
  "openai-codex-responses": responses, "openai-completions": completions, "openai-responses": responses,
  "pi-messages": gateway,
};

// The requests of one run.
let api = "";
let log = [];
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  let body = Buffer.concat(parts);
  if (request.headers["content-encoding"] === "zstd") body = zstdDecompressSync(body);
  const second = log.length > 0;
  let json = {};
  try { json = JSON.parse(body); } catch {}
  if (request.method === "POST") log.push({ path: request.url, headers: { ...request.headers }, body: json });
  const [type, answer] = request.method === "POST" ? ANSWERS[api](second, json.model) : ["application/json", "{}"];
  response.writeHead(request.method === "POST" ? 200 : 404, { "content-type": type, connection: "close" });
  response.end(answer);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

// A token of the form that the ChatGPT backend uses, with an account.
const claims = Buffer.from(JSON.stringify({ "https://api.openai.com/auth": { chatgpt_account_id: "account" }, exp: 4102444800 }));
const TOKEN = `e30.${claims.toString("base64url")}.c2ln`;

async function run(program, model, level) {
  const home = join(root, "home");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, ".pi/agent"), { recursive: true });
  mkdirSync(join(home, "work"));
  writeFileSync(join(home, "work/a.txt"), "alpha");
  const path = (model.baseUrl || "https://resource/openai/v1").replace(/^https?:\/\/[^/]+/, "");
  const byLogin = model.provider === "openai-codex";
  const byChain = model.provider === "amazon-bedrock";
  const provider = { baseUrl: origin + path, ...(byLogin || byChain ? {} : { apiKey: "sk-compared" }) };
  const agent = (name, content) => writeFileSync(join(home, ".pi/agent", name), JSON.stringify(content));
  agent("models.json", { providers: { [model.provider]: provider } });
  agent("settings.json", { retry: { enabled: false }, transport: "sse", enableInstallTelemetry: false });
  if (byLogin) agent("auth.json", { "openai-codex": { type: "oauth", access: TOKEN, refresh: "r", expires: 4102444800000, accountId: "account" } });
  const env = {
    HOME: home, PATH: process.env.PATH, PI_OFFLINE: "1", PI_TELEMETRY: "0",
    CLOUDFLARE_ACCOUNT_ID: "account", CLOUDFLARE_GATEWAY_ID: "gateway",
    ...(byChain ? { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "us-east-1", AWS_BEDROCK_FORCE_HTTP1: "1" } : {}),
  };
  const options = ["--provider", model.provider, "--model", model.id, "--thinking", level, "--tools", "read"];
  const plain = ["--system-prompt", "S", "--no-extensions", "--no-skills", "--no-context-files"];
  [api, log] = [model.api, []];
  const [command, ...first] = program;
  const child = spawn(command, [...first, "-p", ...options, ...plain, "read a.txt"], { cwd: join(home, "work"), env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
  await new Promise((done) => child.on("close", done));
  return { requests: log.map(comparable), said: said.trim().slice(-200) };
}

// Headers that belong to the connection or only identify a client.
const CLIENT = /^(accept|accept-encoding|accept-language|amz-sdk-.*|anthropic-dangerous-direct-browser-access|connection|content-encoding|content-length|content-type|copilot-integration-id|editor-.*|expect|host|sec-fetch-mode|transfer-encoding|user-agent|x-amz-content-sha256|x-amz-user-agent|x-app|x-goog-api-client|x-stainless-.*)$/;

function comparable({ path, headers, body }) {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !CLIENT.test(name)));
  const text = JSON.stringify({ path, headers: kept, body })
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/"(timestamp|durationMs)":[\d.]+/g, '"$1":0')
    .replaceAll(/"x-amz-date":"[^"]*"/g, '"x-amz-date":"DATE"')
    .replaceAll(/Credential=(\w+)\/\d+/g, "Credential=$1/DATE")
    .replaceAll(/SignedHeaders=[^"]*/g, "…")
    .replaceAll(/"originator":"[^"]*"/g, '"originator":"…"');
  return JSON.parse(text);
}

// Descriptions of tools are our own words, and the estimate of the context depends on them.
const OWN_WORDS = new Set(["description"]);
const ESTIMATED = /^max_(completion_|output_)?tokens$|^maxOutputTokens$|^maxTokens$/;

function differences(path, ours, theirs, out) {
  if (ours && theirs && typeof ours === "object" && typeof theirs === "object") {
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      if (OWN_WORDS.has(name)) continue;
      if (ESTIMATED.test(name) && Math.abs(ours[name] - theirs[name]) < 200) continue;
      differences(`${path}.${name}`, ours[name], theirs[name], out);
    }
  } else if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
    out.push(`${path}: ${JSON.stringify(ours)?.slice(0, 120)}, expected ${JSON.stringify(theirs)?.slice(0, 120)}`);
  }
}

const chosen = new Map();
for (const line of readFileSync(process.env.PI_MODELS, "utf8").trim().split("\n")) {
  const model = JSON.parse(line);
  const key = `${model.provider} ${model.api}`;
  const only = process.env.PI_ONLY;
  if (only && only !== model.provider && only !== model.api) continue;
  if (!chosen.has(key) || (model.reasoning && !chosen.get(key).reasoning)) chosen.set(key, model);
}
const theirs = [process.execPath, join(process.env.PI_PEER_DIR, "dist/bundle/cli.js")];
const ours = process.env.PI_BINARY ? [process.env.PI_BINARY] : theirs;
for (const model of chosen.values()) {
  for (const level of ["off", "high"]) {
    const expected = await run(theirs, model, level);
    const observed = await run(ours, model, level);
    const found = [];
    if (observed.requests.length !== expected.requests.length) found.push(`${observed.requests.length} requests, expected ${expected.requests.length}: ${observed.said}`);
    if (expected.requests.length === 0) found.push(`no request: ${expected.said}`);
    expected.requests.forEach((request, at) => differences(`[${at}]`, observed.requests[at], request, found));
    const row = { format: model.api, conversation: `${model.provider}/${model.id} ${level}`, outcome: found.length ? "FAILED" : "ok", why: found.slice(0, 3).join("; ") };
    console.log(JSON.stringify(row));
  }
}
server.close();
rmSync(root, { recursive: true, force: true });
process.exit(0);
