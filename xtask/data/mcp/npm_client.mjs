// Drives `pi mcp serve` with the official npm clients: `@modelcontextprotocol/client` (both eras) and the
// older `@modelcontextprotocol/sdk`.
//
//     node npm_client.mjs MODULES COMMAND ARGUMENT...
//
// Prints one line of JSON per conversation, in the form of the interop table.
import { pathToFileURL } from "node:url";

const [modules, command, ...args] = process.argv.slice(2);
const at = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href);
const current = { ...(await at("client/dist/index.mjs")), ...(await at("client/dist/stdio.mjs")) };
const older = {
  ...(await at("sdk/dist/esm/client/index.js")),
  ...(await at("sdk/dist/esm/client/stdio.js")),
};

const report = (format, conversation, outcome, why = "") =>
  console.log(JSON.stringify({ format, conversation, outcome, why: String(why).slice(0, 400) }));

async function talk(library, options, version) {
  const client = new library.Client({ name: "peer", version: "1" }, options);
  const transport = new library.StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  await client.connect(transport);
  try {
    const spoken = client.getNegotiatedProtocolVersion?.() ?? version;
    if (spoken !== version) throw new Error(`the version is ${spoken}`);
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    if (!names.includes("run")) throw new Error(`the tools are ${names}`);
    const result = await client.callTool({ name: "run", arguments: { prompt: "go" } });
    if (result.isError || !result.content[0].text.includes("all done")) throw new Error(JSON.stringify(result));
    const { prompts } = await client.listPrompts();
    if (!Array.isArray(prompts)) throw new Error("no list of prompts");
  } finally {
    await client.close();
  }
}

for (const [format, library, options, version] of [
  ["npm client old era", current, {}, "2025-11-25"],
  ["npm client new era", current, { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
  ["npm sdk 1.x", older, {}, "2025-11-25"],
]) {
  try {
    await talk(library, options, version);
    report(format, "run", "ok");
  } catch (error) {
    report(format, "run", "FAILED", error);
  }
}
