// The TypeScript pi as a peer of the tests: answers requests, one line of JSON each.
//
//   node peer.mjs PI_DIRECTORY < requests > answers
//
// Requests: {"observe": FILE}, {"build": DIRECTORY, "script": [...]}, {"extend": FILE, "script":
// [...]}, {"count": FILE}. The Rust half of the tests takes the same
// requests (tests/it/observe.rs, tests/it/script.rs), so that answers can be compared.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const bundle = path.join(process.argv[2], 'dist/bundle/index.js');
const { SessionManager, buildSessionContext } = await import(pathToFileURL(bundle).href);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'pi-peer-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

/** From how many entries a session is looked at; tests/it/observe.rs has the same. */
const POINTS = 6;

/** A copy that may be changed: opening heals and migrates. */
function copy(file) {
  const folder = fs.mkdtempSync(path.join(scratch, 'c-'));
  const target = path.join(folder, path.basename(file));
  fs.copyFileSync(file, target);
  return target;
}

/** The answer of `ask`, or the fact that it threw. */
function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: String(error?.message ?? error) };
  }
}

function flatten(tree) {
  const nodes = [];
  const stack = tree.map((node) => [node, 0]).reverse();
  while (stack.length > 0) {
    const [node, depth] = stack.pop();
    nodes.push([node.entry.id, depth, node.label ?? null]);
    for (const child of [...node.children].reverse()) stack.push([child, depth + 1]);
  }
  return nodes;
}

function observe(file) {
  // Opened once before the comparison, since migration gives old files random ids.
  const base = copy(file);
  const session = SessionManager.open(base);
  const entries = session.getEntries();
  const ids = entries.map((entry) => entry.id);
  const step = Math.ceil(ids.length / POINTS);
  const chosen = ids.filter((_, at) => (ids.length - 1 - at) % step === 0);
  const points = chosen.map((leaf) => ({
    leaf,
    branch: attempt(() => session.getBranch(leaf).map((entry) => entry.id)),
    context: attempt(() => buildSessionContext(entries, leaf)),
    fork: attempt(() => {
      const fork = SessionManager.open(copy(base));
      fork.createBranchedSession(leaf);
      return fork.getEntries();
    }),
  }));
  return {
    header: session.getHeader(),
    leaf: session.getLeafId(),
    ids,
    name: session.getSessionName() ?? null,
    tree: attempt(() => flatten(session.getTree())),
    context: attempt(() => session.buildSessionContext()),
    points,
    copy: attempt(() => {
      const folder = fs.mkdtempSync(path.join(scratch, 'f-'));
      return SessionManager.forkFrom(copy(base), '/elsewhere', folder).getEntries();
    }),
  };
}

/** Runs a script; steps name earlier steps by number. */
function perform(session, script) {
  const made = [];
  const id = (step) => (typeof step === 'number' ? made[step] : step);
  const act = {
    message: (s) => session.appendMessage(s.message),
    level: (s) => session.appendThinkingLevelChange(s.level),
    model: (s) => session.appendModelChange(s.provider, s.model),
    usage: (s) => session.appendUsage(s.kind, s.provider, s.model, s.usage, s.note).id,
    custom: (s) => session.appendCustomEntry(s.customType, s.data),
    customMessage: (s) =>
      session.appendCustomMessageEntry(s.customType, s.content, s.display, s.details),
    edit: (s) => session.appendContextEdit(id(s.target), s.replacement),
    label: (s) => session.appendLabelChange(id(s.target), s.label),
    name: (s) => session.appendSessionInfo(s.name),
    compaction: (s) =>
      session.appendCompaction(s.summary, id(s.kept), s.tokens, s.details, s.fromHook, s.usage),
    summary: (s) => session.branchWithSummary(id(s.to), s.summary, s.details, s.fromHook, s.usage),
    branch: (s) => void session.branch(id(s.to)),
    reset: () => void session.resetLeaf(),
  };
  const failed = [];
  for (const [number, step] of script.entries()) {
    try {
      made.push(act[step.do](step) ?? null);
    } catch (error) {
      made.push(null);
      failed.push(number);
    }
  }
  return { file: session.getSessionFile(), made, failed, leaf: session.getLeafId() };
}

const answers = {
  observe: (request) => observe(request.observe),
  build: (request) => perform(SessionManager.create('/proj', request.build), request.script),
  extend: (request) => perform(SessionManager.open(request.extend), request.script),
  count: (request) => ({ count: SessionManager.open(copy(request.count)).getEntryCount() }),
};

// Not `readline`, which treats U+2028 as the end of a line.
let rest = '';
for await (const chunk of process.stdin.setEncoding('utf8')) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const request = JSON.parse(line);
    const kind = Object.keys(answers).find((name) => name in request);
    process.stdout.write(`${JSON.stringify(attempt(() => answers[kind](request)))}\n`);
  }
}
