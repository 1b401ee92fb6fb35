// The TypeScript pi as a peer of the tests of configuration files.
//
//   node peer.mjs PI_DIRECTORY observe < cases > observations    one line of JSON each
//   node peer.mjs PI_DIRECTORY write AGENT_DIRECTORY             writes until its input ends
//
// tests/fixtures/config/README.md says how the cases are used.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

// Node would show the line of source that failed, which in a bundle is all of it.
process.on('uncaughtException', (error) => {
  console.error(String(error?.message ?? error));
  process.exit(1);
});

const [packageDirectory, task, ...rest] = process.argv.slice(2);
const bundle = path.join(packageDirectory, 'dist/bundle/index.js');
const pi = await import(pathToFileURL(bundle).href);

const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pi-peer-')));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

/** An agent directory and a project for one case. */
function place() {
  const root = fs.mkdtempSync(path.join(scratch, 'c-'));
  const agent = path.join(root, 'agent');
  const project = path.join(root, 'project');
  fs.mkdirSync(path.join(project, '.pi'), { recursive: true });
  fs.mkdirSync(agent);
  return { root, agent, project };
}

/** The answer of `ask`, or the fact that it threw. */
function attempt(ask) {
  try {
    return ask() ?? null;
  } catch {
    return 'error';
  }
}

/** tests/it/config/observed.rs asks ours for the same. */
function values(s) {
  const model = { provider: 'p', id: 'm' };
  return {
    thinking: attempt(() => s.getDefaultThinkingLevel() ?? 'medium'),
    steering: attempt(() => s.getSteeringMode()),
    followUp: attempt(() => s.getFollowUpMode()),
    tools: attempt(() => s.getDefaultTools()),
    models: attempt(() => s.getEnabledModels()),
    skills: attempt(() => s.getSettings().skills),
    skillCommands: attempt(() => s.getEnableSkillCommands()),
    compaction: attempt(() => s.getCompactionSettings()),
    compactionOfModel: attempt(() => s.getCompactionSettings(model)),
    branchSummary: attempt(() => s.getBranchSummarySettings().reserveTokens),
    retry: attempt(() => s.getRetrySettings()),
    maxRetryDelay: attempt(() => s.getProviderRetrySettings().maxRetryDelayMs),
    idleTimeout: attempt(() => s.getHttpIdleTimeoutMs()),
    transport: attempt(() => s.getTransport()),
    trust: attempt(() => s.getDefaultProjectTrust()),
    cacheWarming: attempt(() => s.getCacheWarmingMode()),
    wheel: attempt(() => s.getFullscreenWheelScrollLines()),
    imageWidth: attempt(() => s.getImageWidthCells()),
    blockImages: attempt(() => s.getBlockImages()),
    provider: attempt(() => s.getDefaultProvider()),
    shellPath: attempt(() => s.getShellPath()),
  };
}

async function observeSettings({ user, project, trusted = true }) {
  const at = place();
  const file = path.join(at.agent, 'settings.json');
  if (user !== undefined) fs.writeFileSync(file, user);
  if (project !== undefined) fs.writeFileSync(path.join(at.project, '.pi/settings.json'), project);
  const manager = pi.SettingsManager.create(at.project, at.agent, { projectTrusted: trusted });
  const broken = manager.drainErrors().length > 0;
  const seen = values(manager);
  attempt(() => manager.setCompactionEnabled(false));
  manager.setDefaultProvider('new');
  manager.setShellPath(undefined);
  await manager.flush();
  const written = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
  return { broken, values: seen, written };
}

function observeTrust({ file, directory, set }) {
  const at = place();
  const name = path.join(at.agent, 'trust.json');
  if (file !== undefined) fs.writeFileSync(name, file);
  const store = new pi.ProjectTrustStore(at.agent);
  const found = attempt(() => store.getEntry(directory));
  const saved = attempt(() => store.setMany(set.map(([p, decision]) => ({ path: p, decision }))));
  return { found, saved, written: fs.readFileSync(name, 'utf8') };
}

function interaction(key) {
  return { prompt: async () => key, notify() {} };
}

async function observeAuth({ file, provider, store }) {
  const at = place();
  const authPath = path.join(at.agent, 'auth.json');
  if (file !== undefined) fs.writeFileSync(authPath, file);
  const runtime = () => pi.ModelRuntime.create({ authPath, modelsPath: null, refreshOnCreate: false });
  let key = null;
  let stored = null;
  try {
    key = (await (await runtime()).getAuth(provider))?.auth.apiKey ?? null;
  } catch {
    key = 'error';
  }
  try {
    await (await runtime()).login(store, 'api_key', interaction('stored'));
  } catch {
    stored = 'error';
  }
  return { key, stored, written: fs.readFileSync(authPath, 'utf8') };
}

async function observe() {
  process.env.PEER_SET = 'from the environment';
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const asked = { settings: observeSettings, trust: observeTrust, auth: observeAuth };
    const observed = await asked[request.kind](request);
    console.log(JSON.stringify({ ...request, observed }));
  }
}

/** Writes settings and credentials as fast as the other side lets it, and says what it wrote. */
async function write(agent) {
  let ended = false;
  process.stdin.on('data', () => {}).on('end', () => (ended = true));
  const providers = ['anthropic', 'openai', 'google', 'groq', 'mistral'];
  const authPath = path.join(agent, 'auth.json');
  const runtime = await pi.ModelRuntime.create({ authPath, modelsPath: null, refreshOnCreate: false });
  const manager = pi.SettingsManager.create(agent, agent, { projectTrusted: false });
  const report = { versions: {}, keys: {}, settingsWrites: 0, authWrites: 0, busy: 0, torn: [] };
  for (let n = 0; !ended; n++) {
    const [name, version] = [`theirs/k${n % 97}`, `${n}`];
    // One of the objects that it merges field by field; modelThinkingLevels it writes as a whole.
    manager.setExtensionChangelogVersion(name, version);
    await manager.flush();
    let errors = manager.drainErrors().map((e) => e.error.message);
    while (errors.length > 0) {
      // It gives up after a fifth of a second; whoever uses it must try again.
      for (const message of errors) if (!message.includes('already being held')) report.torn.push(message);
      report.busy += errors.length;
      manager.setExtensionChangelogVersion(name, version);
      await manager.flush();
      errors = manager.drainErrors().map((e) => e.error.message);
    }
    report.versions[name] = version;
    report.settingsWrites++;
    const provider = providers[n % providers.length];
    try {
      await runtime.login(provider, 'api_key', interaction(`key ${n}`));
      report.keys[provider] = `key ${n}`;
      report.authWrites++;
    } catch (error) {
      delete report.keys[provider];
      report.torn.push(String(error?.message ?? error));
    }
    await new Promise((next) => setTimeout(next, 1));
  }
  console.log(JSON.stringify(report));
}

await { observe, write }[task](...rest);
// Something of pi keeps the process alive.
process.exit(0);
