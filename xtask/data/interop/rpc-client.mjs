// The TypeScript pi's RpcClient drives a program through a conversation with a scripted model.
//
// Prints a line of JSON for each thing that is tried. PI_PEER_DIR is the package with the client,
// PI_BINARY the program to drive; without it the package's own is driven.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const PACKAGE = process.env.PI_PEER_DIR;
const BINARY = process.env.PI_BINARY;
// A stack trace would quote the package; its message is enough.
for (const kind of ["uncaughtException", "unhandledRejection"]) process.on(kind, (error) => console.error(String(error?.message ?? error).slice(0, 300)));
const { RpcClient } = await import(pathToFileURL(join(PACKAGE, "dist/bundle/index.js")));

const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-rpc-client-")));
for (const folder of ["work", "agent", "home"]) mkdirSync(join(root, folder));

// The model: what it does is in the last message of the user. It waits where it is told to, until
// the test opens the gate.
const gates = new Map();
const gate = (name) => {
  if (!gates.has(name)) {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    gates.set(name, { opened, open });
  }
  return gates.get(name);
};
const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { messages } = JSON.parse(body);
  const last = messages.at(-1);
  const words = typeof last.content === "string" ? last.content : last.content.map((block) => block.text ?? "").join("");
  const chunk = (fields) => response.write(`data: ${JSON.stringify({ id: "r", object: "chat.completion.chunk", created: 1, model: "m", ...fields })}\n\n`);
  const delta = (fields) => chunk({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
  response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
  let reason = "stop";
  if (words.includes("<conversation>")) {
    // With all the sections that a summary has: one that has not is not taken for one by everybody.
    const sections = ["Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"];
    delta({ content: ["Goal\nsummary", ...sections].map((section) => `## ${section}\n- none\n`).join("\n") });
  } else if (words.startsWith("tool") && last.role === "user") {
    reason = "tool_calls";
    delta({ tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "bash", arguments: '{"command":"echo from-tool"}' } }] });
  } else if (words.startsWith("gate ")) {
    delta({ content: "waiting" });
    await Promise.race([gate(words.slice(5)).opened, new Promise((resolve) => response.on("close", resolve))]);
  } else {
    delta({ content: `you said ${words.slice(0, 20)}` });
  }
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  chunk({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } });
  response.end("data: [DONE]\n\n");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const model = (id, reasoning) => ({ id, reasoning, contextWindow: 100000, maxTokens: 1000 });
writeFileSync(join(root, "agent/models.json"), JSON.stringify({
  providers: { mock: {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "key", api: "openai-completions",
    models: [model("m1", false), model("r1", true)],
  } },
}));
writeFileSync(join(root, "agent/settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 100, reserveTokens: 1000 } }));
mkdirSync(join(root, "agent/prompts"));
writeFileSync(join(root, "agent/prompts/fix.md"), "Fix $1.\n");

// The client starts `node PATH ...`, so a native program is started by a few lines of JavaScript.
let cliPath = join(PACKAGE, "dist/bundle/cli.js");
if (BINARY) {
  cliPath = join(root, "start.mjs");
  writeFileSync(cliPath, `import { spawn } from "node:child_process";
const child = spawn(${JSON.stringify(BINARY)}, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => { console.error(error.message); process.exit(127); });
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGTERM" ? 143 : 1)));
`);
}
const client = new RpcClient({
  cliPath, cwd: join(root, "work"), provider: "mock", model: "m1",
  // It starts whatever `node` is on the path, which must be the one that runs this.
  env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, HOME: join(root, "home"), PI_CODING_AGENT_DIR: join(root, "agent"), PI_OFFLINE: "1" },
});

const events = [];
client.onEvent((event) => events.push(event));
const seen = (from, type) => events.slice(from).filter((event) => event.type === type);
// Resolves with the first event from now on that `matches`.
const next = (matches) => new Promise((resolve, reject) => {
  const late = setTimeout(() => reject(new Error("an event did not come")), 30000);
  const stop = client.onEvent((event) => {
    if (!matches(event)) return;
    clearTimeout(late);
    stop();
    resolve(event);
  });
});
const settled = () => next((event) => event.type === "agent_settled");
const streaming = () => next((event) => event.type === "message_update" && event.assistantMessageEvent.delta === "waiting");
const texts = (messages) => messages.map((message) => `${message.role}: ${message.content.map?.((block) => block.text ?? block.type).join("") ?? message.content}`);

// Starts a run that waits at a gate. Its end is in an array, else it would be waited for.
const begin = async (name) => {
  const [waits, ends] = [streaming(), settled()];
  assert.equal(await client.prompt(`gate ${name}`), "started");
  await waits;
  return [ends];
};

let failed = 0;
const attempt = async (conversation, body) => {
  let [outcome, why] = ["ok", ""];
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no end in a minute")), 60000).unref());
  try {
    await Promise.race([body(), late]);
  } catch (error) {
    [outcome, why] = ["FAILED", String(error.message).replace(/\s+/g, " ").slice(0, 300)];
    failed += 1;
  }
  console.log(JSON.stringify({ format: "rpc", conversation, outcome, why }));
  return outcome === "ok";
};

const long = "word ".repeat(400);
let first;
const started = await attempt("start", () => client.start());
const answers = started && await attempt("getState", async () => {
  const state = await client.getState();
  assert.equal(state.model.id, "m1");
  assert.equal(state.isStreaming, false);
  assert.equal(state.messageCount, 0);
  assert.ok(state.sessionFile.endsWith(".jsonl"));
  first = state.sessionFile;
});
// A program that does not even say this would only be waited for.
if (answers) {
  await attempt("prompt", async () => {
    const ends = settled();
    assert.equal(await client.prompt("hello"), "started");
    assert.equal((await ends).aborted, false);
    assert.equal(await client.getLastAssistantText(), "you said hello");
  });
  await attempt("promptAndWait", async () => {
    const types = (await client.promptAndWait("tool please")).map((event) => event.type);
    for (const type of ["agent_start", "tool_execution_start", "tool_execution_end", "turn_end", "agent_end", "agent_settled"]) {
      assert.ok(types.includes(type), type);
    }
    assert.equal(await client.getLastAssistantText(), "you said from-tool");
  });
  await attempt("steer", async () => {
    const [ends] = await begin("steer");
    assert.equal(await client.steer("steered"), "queued");
    assert.equal((await client.getState()).pendingMessageCount, 1);
    gate("steer").open();
    await ends;
    assert.equal(await client.getLastAssistantText(), "you said steered");
  });
  await attempt("followUp", async () => {
    const [ends] = await begin("follow");
    assert.equal(await client.followUp("followed"), "queued");
    assert.equal(await client.prompt("queued too", undefined, "followUp"), "queued");
    gate("follow").open();
    await ends;
    assert.equal(await client.getLastAssistantText(), "you said queued too");
  });
  await attempt("prompt while streaming", async () => {
    const [ends] = await begin("busy");
    await assert.rejects(client.prompt("no"), /Agent is already processing/);
    gate("busy").open();
    await ends;
  });
  await attempt("clearQueue", async () => {
    const [ends] = await begin("clear");
    await client.steer("one");
    await client.followUp("two");
    assert.deepEqual(await client.clearQueue(), { steering: ["one"], followUp: ["two"] });
    gate("clear").open();
    await ends;
  });
  await attempt("abort", async () => {
    const [ends] = await begin("abort");
    await client.abort();
    assert.equal((await ends).aborted, true);
    assert.equal((await client.getState()).isStreaming, false);
    assert.equal((await client.getMessages()).at(-1).stopReason, "aborted");
  });
  await attempt("waitForIdle", async () => {
    await begin("idle");
    const idle = client.waitForIdle(20000);
    gate("idle").open();
    await idle;
  });
  await attempt("models", async () => {
    assert.deepEqual((await client.getAvailableModels()).map((one) => one.id), ["m1", "r1"]);
    assert.equal((await client.setModel("mock", "r1")).id, "r1");
    assert.equal((await client.getState()).model.id, "r1");
    await assert.rejects(client.setModel("mock", "none"), /Model not found: mock\/none/);
    assert.equal((await client.cycleModel()).model.id, "m1");
    assert.equal((await client.cycleModel()).model.id, "r1");
  });
  await attempt("thinking", async () => {
    const levels = await client.getAvailableThinkingLevels();
    assert.deepEqual(levels, ["off", "minimal", "low", "medium", "high"]);
    await client.setThinkingLevel("low");
    assert.equal((await client.getState()).thinkingLevel, "low");
    assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
    await client.setModel("mock", "m1");
    assert.equal(await client.cycleThinkingLevel(), null);
  });
  await attempt("queue modes", async () => {
    await client.setSteeringMode("all");
    await client.setFollowUpMode("all");
    const { steeringMode, followUpMode } = await client.getState();
    assert.deepEqual([steeringMode, followUpMode], ["all", "all"]);
  });
  await attempt("bash", async () => {
    const from = events.length;
    const result = await client.bash("echo out; exit 3");
    assert.deepEqual(result, { output: "out\n", exitCode: 3, cancelled: false, truncated: false });
    assert.equal(seen(from, "bash_execution_update").map((event) => event.delta).join(""), "out\n");
  });
  await attempt("abortBash", async () => {
    const begun = next((event) => event.type === "bash_execution_update");
    const result = client.bash("echo begun; exec sleep 60");
    await begun;
    await client.abortBash();
    assert.equal((await result).cancelled, true);
  });
  await attempt("names", async () => {
    await client.setSessionName("  Mine ");
    assert.equal((await client.getState()).sessionName, "Mine");
    // The client does not look at a refusal when there is nothing to return.
    await client.setSessionName(" ");
    assert.equal((await client.getState()).sessionName, "Mine");
  });
  await attempt("getSessionStats", async () => {
    const stats = await client.getSessionStats();
    assert.equal(stats.toolCalls, 1);
    assert.equal(stats.tokens.total, stats.tokens.input + stats.tokens.output);
    assert.ok(stats.contextUsage.contextWindow === 100000);
  });
  await attempt("getEntries, getTree", async () => {
    const { entries, leafId } = await client.getEntries();
    assert.equal(entries.at(-1).id, leafId);
    assert.equal((await client.getEntries(entries.at(-2).id)).entries.length, 1);
    await assert.rejects(client.getEntries("nothing"), /Entry not found: nothing/);
    assert.equal((await client.getTree()).leafId, leafId);
  });
  await attempt("compact", async () => {
    await client.promptAndWait(`${long}one`);
    await client.promptAndWait(`${long}two`);
    const from = events.length;
    const result = await client.compact("the numbers");
    assert.ok(result.summary.startsWith("## Goal\nsummary"), result.summary);
    assert.equal(seen(from, "compaction_start")[0].reason, "manual");
    assert.equal(seen(from, "compaction_end").length, 1);
    await assert.rejects(client.compact(), /Already compacted|Nothing to compact/);
    await client.setAutoCompaction(false);
    assert.equal((await client.getState()).autoCompactionEnabled, false);
    await client.setAutoRetry(false);
    await client.abortRetry();
  });
  await attempt("exportHtml", async () => {
    const { path } = await client.exportHtml(join(root, "work/out.html"));
    assert.ok(existsSync(path), path);
  });
  await attempt("getCommands", async () => {
    const commands = await client.getCommands();
    assert.equal(commands.find((one) => one.name === "fix")?.source, "prompt");
  });
  await attempt("fork", async () => {
    const messages = await client.getForkMessages();
    assert.equal(messages[0].text, "hello");
    assert.deepEqual(await client.fork(messages[1].entryId), { text: "tool please", cancelled: false });
    assert.deepEqual(texts(await client.getMessages()).filter((text) => !text.startsWith("system")), ["user: hello", "assistant: you said hello"]);
    assert.notEqual((await client.getState()).sessionFile, first);
  });
  await attempt("clone", async () => {
    const before = (await client.getState()).sessionId;
    assert.deepEqual(await client.clone(), { cancelled: false });
    assert.notEqual((await client.getState()).sessionId, before);
    assert.equal((await client.getForkMessages()).length, 1);
  });
  await attempt("newSession", async () => {
    assert.deepEqual(await client.newSession(), { cancelled: false });
    assert.equal((await client.getState()).messageCount, 0);
    assert.equal(await client.getLastAssistantText() ?? null, null);
  });
  await attempt("switchSession", async () => {
    assert.deepEqual(await client.switchSession(first), { cancelled: false });
    assert.equal((await client.getState()).sessionFile, first);
    assert.equal((await client.getForkMessages())[0].text, "hello");
  });
  await attempt("stop", () => client.stop());
}
server.close();
rmSync(root, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
