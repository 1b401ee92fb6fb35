// A client of the official npm SDK. It runs one turn and prints what it saw as JSON.
//
//     node sdk.mjs 1|2 SDK_DIRECTORY OPTIONS COMMAND ARGUMENT...
//
// OPTIONS (JSON): cwd, prompt, choice (kind of the permission option), cancelAfter (text), session (to
// load or resume instead of a new one).
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [version, directory, text, command, ...commandArguments] = process.argv.slice(2);
const options = JSON.parse(text);
const entry = version === "2" ? "v2" : "v1";
const acp = await import(pathToFileURL(`${directory}/dist/${entry}/stable/acp.js`).href);

const child = spawn(command, commandArguments, { stdio: ["pipe", "pipe", "inherit"], cwd: options.cwd });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const seen = { updates: [], permissions: [], text: "", stop: null };
let idle, replayed;
const turnEnded = new Promise((resolve) => (idle = resolve));
const replayEnded = new Promise((resolve) => (replayed = resolve));

const app = acp
  .client({ name: "peer" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.permissions.push(params);
    const option = params.options.find((candidate) => candidate.kind === options.choice);
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  })
  .onNotification(acp.methods.client.session.update, async ({ params, agent }) => {
    const { update } = params;
    seen.updates.push(update);
    if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text ?? "";
    // A replayed session is idle, too, but without a reason.
    if (update.sessionUpdate === "state_update") (update.stopReason ? idle : replayed)(update.stopReason);
    if (options.cancelAfter && seen.text.includes(options.cancelAfter)) {
      options.cancelAfter = undefined;
      await agent.notify(acp.methods.agent.session.cancel, { sessionId: params.sessionId });
    }
  });

await app.connectWith(stream, async (agent) => {
  const { agent: methods } = acp.methods;
  const start =
    version === "2"
      ? { protocolVersion: 2, info: { name: "peer", version: "1" }, capabilities: {} }
      : { protocolVersion: 1, clientInfo: { name: "peer", version: "1" }, clientCapabilities: {} };
  seen.initialize = await agent.request(methods.initialize, start);
  const place = { cwd: options.cwd, mcpServers: [] };
  if (options.session && version === "2") {
    await agent.request(methods.session.resume, { ...place, sessionId: options.session, replayFrom: { type: "start" } });
    // The SDK delivers updates some time after the response that they came before.
    await replayEnded;
  } else if (options.session) {
    await agent.request(methods.session.load, { ...place, sessionId: options.session });
  }
  // What comes before the prompt was replayed.
  seen.replayed = seen.updates.splice(0);
  seen.text = "";
  seen.session = options.session ?? (await agent.request(methods.session.new, place)).sessionId;
  const prompt = { sessionId: seen.session, prompt: [{ type: "text", text: options.prompt }] };
  const answer = await agent.request(methods.session.prompt, prompt);
  seen.answer = answer;
  seen.stop = version === "2" ? await turnEnded : answer.stopReason;
});
child.stdin.end();
seen.code = await new Promise((resolve) => child.on("close", resolve));
console.log(JSON.stringify(seen));
