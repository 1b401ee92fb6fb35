// The entries of a session on its current branch: a window of the log that grows at both ends.
//
// Entries come as markup made by the server. A tool call is a card in the answer that made it; its
// result is the same card with the result and takes its place. The page keeps of an entry only
// what links it to others.

import { get, part } from "./api.js";
import { button, fromServer, h } from "./dom.js";

// Entries that are loaded at a time, entries in a part that browsers can skip, and parts that are
// kept while the reader is at the end.
const WINDOW = 60;
const CHUNK = 40;
const MOST_CHUNKS = 14;

export class Transcript {
  constructor(sessionId, { onTree }) {
    this.sessionId = sessionId;
    this.onTree = onTree;
    this.records = [];
    this.byId = new Map();
    this.children = new Map();
    this.leaf = null;
    this.loading = null;
    this.older = button("Show earlier entries", () => this.loadOlder(), { class: "button older", hidden: true });
    this.chunks = h("div", { class: "chunks" });
    this.element = h("div", { class: "transcript", role: "log", "aria-label": "Transcript", "aria-live": "off" }, this.older, this.chunks);
  }

  // The last sequence number, -1 without entries.
  since() {
    return this.records.at(-1)?.seq ?? -1;
  }

  // Loads the newest entries.
  async open() {
    const { entries } = await get(this.path({ limit: WINDOW }));
    for (const item of entries) this.add(item);
    await this.completeBranch();
  }

  path(options) {
    const query = new URLSearchParams({ ...options, view: "html" });
    return `sessions/${part(this.sessionId)}/entries?${query}`;
  }

  clear() {
    this.records = [];
    this.byId.clear();
    this.children.clear();
    this.leaf = null;
    this.chunks.replaceChildren();
    this.older.hidden = true;
  }

  // Appends an entry of the log. Returns its record, or null if it is known.
  add(item) {
    if (item.seq <= this.since()) return null;
    const record = this.record(item);
    const follows = this.leaf === null || record.parent === this.leaf || !record.parent;
    this.records.push(record);
    this.leaf = record.id;
    if (!this.adopt(record) && record.node) this.lastChunk().append(record.node);
    if (follows) this.markFork(record);
    else this.showBranch();
    this.older.hidden = this.records[0].seq === 0;
    return record;
  }

  lastChunk() {
    let chunk = this.chunks.lastElementChild;
    if (!chunk || chunk.childElementCount >= CHUNK) {
      chunk = h("div", { class: "chunk" });
      this.chunks.append(chunk);
    }
    return chunk;
  }

  record({ seq, entry, html }) {
    const message = entry.type === "message" ? entry.message : null;
    const record = { seq, id: entry.id, parent: entry.parentId ?? null, role: message?.role ?? entry.type, calls: null, call: null, node: null, card: null };
    this.byId.set(record.id, record);
    const siblings = this.children.get(record.parent);
    if (siblings) siblings.push(record);
    else this.children.set(record.parent, [record]);
    const markup = html ? fromServer(html).firstElementChild : answerNote(entry);
    if (!markup) return record;
    if (record.role === "toolResult") {
      record.call = message.toolCallId;
      record.card = markup.classList.contains("tool") ? markup : markup.querySelector(".tool") ?? markup;
      record.node = h("article", { class: "tools", "data-entry": record.id }, record.card);
      return record;
    }
    record.node = markup;
    if (record.role === "assistant") {
      record.calls = new Map();
      for (const card of markup.querySelectorAll(".tool[data-call]")) record.calls.set(card.dataset.call, card);
    }
    this.decorate?.(record);
    return record;
  }

  // Puts a result into the answer with its call. Returns false if that is not loaded.
  adopt(record) {
    if (record.call === null) return false;
    let above = this.byId.get(record.parent);
    while (above && !above.calls?.has(record.call)) above = this.byId.get(above.parent);
    if (!above) return false;
    const card = above.calls.get(record.call);
    if (card.open && !record.card.open && card.dataset.opened) record.card.open = true;
    card.replaceWith(record.card);
    above.calls.set(record.call, record.card);
    record.node?.remove();
    record.node = null;
    return true;
  }

  // The card of a call that has no result yet, in the newest answer that made it.
  pendingCard(call) {
    for (let at = this.byId.get(this.leaf), steps = 0; at && steps < 200; at = this.byId.get(at.parent), steps++) {
      const card = at.calls?.get(call);
      if (card) return card.dataset.entry ? null : card;
    }
    return null;
  }

  // The cards without a result in the last answer of the branch.
  openCards() {
    for (let at = this.byId.get(this.leaf), steps = 0; at && steps < 60; at = this.byId.get(at.parent), steps++) {
      if (at.role === "user") return [];
      if (at.calls) return [...at.calls.values()].filter((card) => !card.dataset.entry);
    }
    return [];
  }

  // Makes another entry the end of the branch.
  async setLeaf(id) {
    if (id === this.leaf) return;
    this.leaf = id;
    await this.completeBranch();
  }

  // Loads until the window has at least a few entries of the branch.
  async completeBranch() {
    for (let rounds = 0; rounds < 40; rounds++) {
      const seen = this.showBranch();
      const first = this.records[0];
      if (!first || first.seq === 0 || seen >= 12) return;
      if (!(await this.loadOlder())) return;
    }
  }

  // Shows the entries of the branch and hides all others. Returns the number of those shown.
  showBranch() {
    const path = new Set();
    for (let at = this.byId.get(this.leaf); at; at = this.byId.get(at.parent)) path.add(at);
    let seen = 0;
    for (const record of this.records) {
      if (!record.node) continue;
      record.node.hidden = !path.has(record);
      if (!record.node.hidden) seen += 1;
    }
    for (const record of path) this.markFork(this.byId.get(record.id));
    return seen;
  }

  // Marks an entry below which there are several branches.
  markFork(record) {
    const parent = this.byId.get(record.parent);
    const siblings = (this.children.get(record.parent) ?? []).filter((one) => one.node);
    if (!parent?.node || siblings.length < 2) return;
    parent.fork ??= button("", () => this.onTree(), { class: "fork-mark" });
    parent.fork.textContent = `${siblings.length} branches from here`;
    if (!parent.fork.isConnected) parent.node.append(parent.fork);
  }

  loadOlder() {
    const first = this.records[0];
    if (this.loading || !first || first.seq === 0) return this.loading ?? Promise.resolve(false);
    this.older.disabled = true;
    this.loading = this.fetchOlder(first).finally(() => {
      this.loading = null;
      this.older.disabled = false;
    });
    return this.loading;
  }

  async fetchOlder(first) {
    let entries;
    try {
      ({ entries } = await get(this.path({ before: first.seq, limit: WINDOW })));
    } catch {
      // The button stays, and the reader can repeat it.
      return false;
    }
    if (this.records[0] !== first || entries.length === 0) return false;
    this.before?.();
    const records = entries.filter((item) => item.seq < first.seq).map((item) => this.record(item));
    const chunk = h("div", { class: "chunk" });
    // A result finds its call only after all earlier entries are known.
    const orphans = this.records.filter((record) => record.call !== null && record.node);
    this.records.unshift(...records);
    for (const record of records) {
      if (!this.adopt(record) && record.node) chunk.append(record.node);
    }
    for (const record of orphans) this.adopt(record);
    this.chunks.prepend(chunk);
    this.showBranch();
    this.older.hidden = this.records[0].seq === 0;
    this.after?.();
    return true;
  }

  // Forgets the earliest entries while the reader is at the end, so that a session of any length
  // costs the same.
  trim() {
    while (this.chunks.childElementCount > MOST_CHUNKS && !this.loading) {
      const chunk = this.chunks.firstElementChild;
      const kept = this.chunks.children[1].querySelector("[data-entry]")?.dataset.entry;
      const at = this.records.findIndex((record) => record.id === kept);
      if (at <= 0) return;
      for (const record of this.records.splice(0, at)) {
        this.byId.delete(record.id);
        this.children.delete(record.parent);
      }
      chunk.remove();
      this.older.hidden = false;
    }
  }

  // Finds the element of an entry that is on the page.
  find(id) {
    const record = this.byId.get(id);
    return record ? record.node ?? record.card : null;
  }
}

const DECISIONS = { once: "Allowed once", session: "Allowed for the session", always: "Always allowed", no: "Refused", closed: "Closed" };

// An entry that records who answered a question, as a note.
const answerNote = ({ id, type, customType, data }) => {
  if (type !== "custom" || customType !== "pi:answer" || !data?.by) return null;
  const [decision, ...reason] = String(data.answer ?? "").split(": ");
  const words = data.kind === "approval" ? DECISIONS[decision] ?? "Answered" : "Answered";
  const more = data.kind === "approval" ? reason.join(": ") : data.answer;
  const text = `${words} by ${data.by}${more ? `: ${more}` : ""}`;
  return h("article", { class: "note", "data-entry": id }, h("header"), h("p", { text, title: data.title ?? "" }));
};
