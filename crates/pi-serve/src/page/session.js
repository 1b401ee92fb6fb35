// The screen of one session: transcript, questions, composer, and the menu of what can be done.

import { get, may, part } from "./api.js";
import { attempt, button, h, icon, iconButton, openDialog, replace, toast } from "./dom.js";
import { Composer } from "./composer.js";
import { baseName, cost, count, plural } from "./format.js";
import { attachTo, send } from "./link.js";
import { Live } from "./live.js";
import { look, needs, questionList, questionsOf } from "./needs.js";
import { deleteSession, titleOf } from "./sessions.js";
import { shareSession } from "./settings.js";
import { Transcript } from "./transcript.js";

// Distance from the end within which the transcript follows what is new.
const NEAR = 90;

export const sessionScreen = (root, id, { onTitle, announce }) => new SessionScreen(root, id, onTitle, announce).start();

class SessionScreen {
  constructor(root, id, onTitle, announce) {
    Object.assign(this, { root, id, onTitle, announce });
    this.transcript = new Transcript(id, { onTree: () => (location.hash = `#/s/${part(id)}/tree`) });
    this.transcript.decorate = (record) => this.decorate(record);
    this.live = new Live(this.transcript);
    this.state = {};
    this.place = "stored";
    this.ended = false;
    this.name = "";
    this.follow = true;
  }

  start() {
    this.title = h("h1", { class: "session-name", text: "…" });
    this.facts = h("p", { class: "session-line" });
    this.banner = h("div", { class: "banner", hidden: true });
    this.end = h("button", { type: "button", class: "to-end", hidden: true, onclick: () => this.toEnd(true) }, icon("down"), h("span", { text: "Latest" }));
    this.blank = h("p", { class: "blank", hidden: true });
    this.content = h("div", { class: "session-content" }, this.transcript.element, this.blank, this.live.element);
    this.scroller = h("div", { class: "scroller", tabindex: "-1" }, this.content);
    this.questions = h("div", { class: "dock-questions", hidden: true });
    this.widgets = h("div", { class: "widgets", hidden: true });
    this.composer = may("drive") ? new Composer(this) : null;
    replace(
      this.root,
      h(
        "div",
        { class: "session" },
        h(
          "header",
          { class: "session-head" },
          h("a", { class: "icon-button back", href: "#/", "aria-label": "All sessions" }, icon("back")),
          h("div", { class: "session-titles" }, this.title, this.facts),
          h("a", { class: "icon-button head-link", href: `#/s/${part(this.id)}/review`, "aria-label": "Changes", title: "Changes" }, icon("changes"), h("span", { text: "Changes" })),
          iconButton("more", "Session menu", () => this.menu(), { "aria-haspopup": "dialog" }),
        ),
        this.banner,
        h("div", { class: "scroll-frame" }, this.scroller, this.end),
        h("div", { class: "dock" }, this.questions, this.widgets, this.composer?.element),
      ),
    );
    this.stops = [questionList(this.questions, () => questionsOf(this.id)), () => this.live.stop(), () => this.composer?.stop()];
    this.listen(needs, "change", () => this.noteQuestions());
    this.listen(this.scroller, "scroll", () => this.onScroll(), { passive: true });
    this.listen(document, "keydown", (event) => this.onKey(event));
    this.keepEnd();
    this.load();
    return () => this.stop();
  }

  listen(target, name, listener, options) {
    target.addEventListener(name, listener, options);
    this.stops.push(() => target.removeEventListener(name, listener, options));
  }

  stop() {
    this.ended = true;
    for (const stop of this.stops) stop();
    this.detach?.();
    look();
  }

  async load() {
    const opened = await attempt(async () => {
      const describing = get(`sessions/${part(this.id)}`).then((summary) => this.describe(summary));
      await Promise.all([describing, this.transcript.open()]);
      return true;
    });
    if (this.ended) return;
    if (!opened) {
      this.transcript.element.append(h("p", { class: "empty" }, "The session cannot be shown. ", button("Retry", () => this.load())));
      return;
    }
    this.toEnd();
    this.detach = attachTo({
      sessionId: this.id,
      approvals: may("approve"),
      since: () => this.transcript.since(),
      onAttached: (data) => this.onAttached(data),
      onItem: (frame) => this.onItem(frame),
      onFailed: (error) => this.say(error.message, [button("Retry", () => this.restart())]),
    });
  }

  describe(summary) {
    this.cwd = summary.cwd ?? "";
    this.setName(titleOf(summary));
    this.untitled = titleOf(summary) === titleOf({});
    this.facts.title = this.cwd;
    this.drawFacts();
  }

  // A session without a name is called by its first prompt.
  async findTitle() {
    this.untitled = false;
    const summary = await attempt(() => get(`sessions/${part(this.id)}`));
    if (!summary) return;
    this.setName(titleOf(summary));
    this.untitled = titleOf(summary) === titleOf({});
  }

  setName(name) {
    this.name = name;
    this.title.textContent = name;
    this.title.title = name;
    this.onTitle(name);
  }

  restart() {
    this.detach?.();
    this.banner.hidden = true;
    this.live.reset();
    this.transcript.clear();
    this.load();
  }

  // ---- Items

  onAttached(data) {
    this.live.reset();
    this.state = data.state ?? {};
    if (this.state.sessionName) this.setName(this.state.sessionName);
    this.live.setBusy(Boolean(this.state.isStreaming || this.state.isCompacting));
    if (data.leafId && data.length === this.transcript.since() + 1) this.transcript.setLeaf(data.leafId);
    else if (!data.leafId && data.place === "here") this.findLeaf();
    this.setPlace(data.place ?? (data.elsewhere ? "elsewhere" : "here"));
    this.composer?.attached(this.state);
    this.noteQuestions();
    this.drawBlank();
  }

  // The session is open here, elsewhere, or only stored.
  setPlace(place) {
    this.place = place;
    if (place === "elsewhere") {
      const take = may("drive") && button("Take over", () => this.takeOver(), { class: "button primary" });
      this.say("Another process has this session open. It is shown as it grows and cannot be changed here.", [take]);
    } else this.banner.hidden = true;
    this.composer?.show(place !== "elsewhere");
    if (place !== "here") return;
    if (!this.state.model && may("drive")) this.refreshState();
    this.loadStats();
  }

  async takeOver() {
    const done = await attempt(() => send({ type: "take_over", sessionId: this.id }));
    if (done) this.restart();
  }

  onItem(frame) {
    switch (frame.type) {
      case "entry": {
        const record = this.transcript.add(frame);
        if (!record) return;
        this.live.entry(record);
        if (!this.blank.hidden) this.drawBlank();
        if (frame.entry.type === "session_info" && frame.entry.name) this.setName(frame.entry.name);
        if (this.untitled && record.role === "user") this.findTitle();
        if (this.follow) this.transcript.trim();
        this.changed();
        break;
      }
      case "event":
        this.onEvent(frame.event);
        break;
      case "session_state":
        this.setPlace(frame.state);
        break;
      case "lagged":
        this.live.reset();
        break;
      case "replaced":
        if (frame.newId && frame.newId !== this.id) location.replace(`#/s/${part(frame.newId)}`);
        else this.restart();
        break;
      case "closed":
        this.say(frame.reason ? `The session was closed: ${frame.reason}` : "The session was closed.", [button("Open again", () => this.restart())]);
        break;
      case "extension_ui_request":
        this.onRequest(frame);
        break;
      default:
    }
  }

  onEvent(event) {
    this.live.event(event);
    switch (event.type) {
      case "agent_start":
        this.announce("The agent is working.");
        this.composer?.setBusy(true);
        break;
      case "agent_settled":
        if (this.untitled) this.findTitle();
        this.announce(event.aborted ? "The run was aborted." : "The agent has finished.");
        this.composer?.setBusy(false);
        this.loadStats();
        break;
      case "turn_end":
        this.loadStats();
        break;
      case "queue_update":
        this.composer?.setQueue(event);
        break;
      case "session_info_changed":
        if (event.name) this.setName(event.name);
        break;
      case "thinking_level_changed":
        this.state.thinkingLevel = event.level;
        this.composer?.setModel(this.state);
        break;
      case "model_fallback":
        toast(event.message ?? "Another model answers now.");
        this.refreshState();
        break;
      case "compaction_end":
        if (event.errorMessage) toast(`Compaction failed: ${event.errorMessage}`, "error");
        this.loadStats();
        break;
      case "diagnostic":
        toast([event.message, event.hint].filter(Boolean).join(" "), event.severity === "error" ? "error" : "info");
        break;
      case "guardrail":
        if (event.reason) toast(`${event.name}: ${event.reason}`);
        break;
      default:
    }
  }

  // What extensions show beside questions.
  onRequest(frame) {
    if (frame.method === "notify") toast(frame.message ?? "", frame.notifyType === "error" ? "error" : "info");
    if (frame.method === "set_editor_text") this.composer?.setText(frame.text ?? "");
    if (frame.method !== "setStatus" && frame.method !== "setWidget") return;
    const key = frame.statusKey ?? frame.widgetKey ?? "";
    const text = frame.statusText ?? frame.widgetLines?.join("\n");
    this.widgets.querySelector(`[data-key="${CSS.escape(key)}"]`)?.remove();
    if (text) this.widgets.append(h("pre", { class: "widget", "data-key": key, text }));
    this.widgets.hidden = this.widgets.childElementCount === 0;
  }

  noteQuestions() {
    const calls = questionsOf(this.id).map((question) => question.toolCallId);
    this.live.waiting = new Set(calls.filter(Boolean));
    this.live.update();
  }

  async refreshState() {
    this.state = (await attempt(() => send({ type: "get_state", sessionId: this.id }))) ?? this.state;
    this.composer?.setModel(this.state);
  }

  async loadStats() {
    if (this.place !== "here") return;
    try {
      this.stats = await send({ type: "get_session_stats", sessionId: this.id });
    } catch {
      return;
    }
    this.drawFacts();
  }

  drawFacts() {
    const usage = this.stats?.contextUsage;
    const percent = usage?.percent ?? (usage?.contextWindow ? (100 * usage.tokens) / usage.contextWindow : null);
    const facts = [
      h("span", { class: "fact-project", text: baseName(this.cwd ?? "") }),
      percent !== null && Number.isFinite(percent) && h("span", { title: `${count(usage.tokens ?? 0)} of ${count(usage.contextWindow)} tokens`, text: `${Math.round(percent)} % context` }),
      this.stats?.cost > 0 && h("span", { text: cost(this.stats.cost) }),
    ];
    replace(this.facts, facts);
  }

  say(text, actions = []) {
    replace(this.banner, h("span", { text }), actions.filter(Boolean));
    this.banner.hidden = false;
  }

  // ---- Scrolling

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follow = scrollHeight - scrollTop - clientHeight < NEAR;
    this.end.hidden = this.follow;
    if (scrollTop < 300 && !this.transcript.older.hidden) this.transcript.loadOlder();
  }

  keepEnd() {
    this.live.changed = () => this.changed();
    this.transcript.before = () => {
      this.height = this.scroller.scrollHeight;
    };
    this.transcript.after = () => {
      if (!this.follow) this.scroller.scrollTop += this.scroller.scrollHeight - this.height;
    };
    const observer = new ResizeObserver(() => this.changed());
    observer.observe(this.content);
    observer.observe(this.scroller);
    this.stops.push(() => observer.disconnect());
  }

  // Says what to do in a session without a prompt.
  drawBlank() {
    this.blank.hidden = this.transcript.records.some((record) => record.role === "user") || this.live.busy;
    this.blank.textContent = may("drive") ? `What should be done in ${baseName(this.cwd ?? "")}?` : "Nothing was asked yet.";
  }

  // Stays at the end, once per frame: a fast answer changes much more often.
  changed() {
    if (!this.follow || this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
    });
  }

  toEnd(focus = false) {
    this.follow = true;
    this.end.hidden = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    if (focus) this.composer?.focus();
  }

  onKey(event) {
    const pages = { PageUp: -1, PageDown: 1 }[event.key];
    if (pages && event.target.closest?.(".composer-text")) {
      event.preventDefault();
      this.scroller.scrollBy({ top: pages * this.scroller.clientHeight * 0.85 });
    }
    if (event.key !== "Escape" || event.defaultPrevented || !this.live.busy || !may("drive")) return;
    // Escape in another field is for that field.
    if (event.target.closest?.("input, select, textarea:not(.composer-text)")) return;
    event.preventDefault();
    this.abort();
  }

  async abort() {
    this.announce("Stopping.");
    await attempt(() => send({ type: "abort", sessionId: this.id }));
  }

  // ---- Actions

  // Adds the menu of a prompt.
  decorate(record) {
    if (record.role !== "user" || !may("drive")) return;
    const open = iconButton("more", "Actions for this prompt", () => this.promptMenu(record), { class: "icon-button small" });
    record.node.querySelector(":scope > header")?.append(open);
  }

  promptMenu(record) {
    const act = (action) => () => {
      dialog.close();
      attempt(action);
    };
    const branch = act(async () => {
      const { text, cancelled } = await send({ type: "navigate_tree", sessionId: this.id, entryId: record.id });
      if (cancelled) return;
      await this.transcript.setLeaf(record.parent);
      this.composer?.setText(text ?? "");
      this.announce("The conversation continues before this prompt.");
    });
    const fork = act(async () => {
      const { text, cancelled } = await send({ type: "fork", sessionId: this.id, entryId: record.id });
      if (!cancelled && text) this.composer?.keepForFork(text);
    });
    const choice = (title, text, onclick) => h("li", {}, h("button", { type: "button", class: "choice", onclick }, h("strong", { text: title }), h("span", { text })));
    const dialog = openDialog("This prompt", [
      h("ul", { class: "choices" }, [
        choice("Edit on a new branch", "The conversation goes back to before this prompt; what followed stays on its branch.", branch),
        choice("Fork into a new session", "A copy of the session up to this prompt, which you can edit.", fork),
      ]),
    ]);
  }

  menu() {
    const choice = (title, onclick, attributes = {}) => h("li", {}, h("button", { type: "button", class: "choice", onclick: () => (dialog.close(), onclick()), ...attributes }, h("strong", { text: title })));
    const at = `#/s/${part(this.id)}`;
    const drive = may("drive") && this.place !== "elsewhere";
    const download = h("a", { class: "choice", href: `/api/v1/sessions/${part(this.id)}/export`, download: `${this.name.replace(/[^\w.-]+/g, "-").slice(0, 60) || "session"}.html` }, h("strong", { text: "Export as a page" }));
    const dialog = openDialog(this.name, [
      h("p", { class: "path", text: this.cwd }),
      h("ul", { class: "choices" }, [
        choice("Changes and review", () => (location.hash = `${at}/review`)),
        choice("Branches", () => (location.hash = `${at}/tree`)),
        drive && choice("Undo", () => this.undo()),
        drive && choice("Rename", () => this.rename()),
        drive && choice("Compact the context", () => attempt(() => send({ type: "compact", sessionId: this.id }))),
        h("li", {}, download),
        may("admin") && choice("Link for viewing", () => shareSession(this.id)),
        may("admin") && choice("Delete", () => this.remove(), { class: "choice danger" }),
      ]),
    ]);
  }

  rename() {
    const field = h("input", { type: "text", class: "field", id: "session-name", value: this.name, maxlength: "200" });
    const save = () => {
      const name = field.value.trim();
      if (!name) return;
      dialog.close();
      attempt(() => send({ type: "set_session_name", sessionId: this.id, name }));
    };
    field.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && save());
    const dialog = openDialog("Rename", [h("label", { class: "labeled", for: "session-name" }, "Name", field), h("div", { class: "row end" }, h("button", { type: "button", class: "button primary", onclick: save }, "Rename"))]);
    field.select();
  }

  undo() {
    const choose = (what) => async () => {
      dialog.close();
      const done = await attempt(() => send({ type: "undo", sessionId: this.id, what }));
      if (!done) return;
      if (what !== "files") await this.findLeaf();
      if (done.text) this.composer?.setText(done.text);
      toast(undone(done));
    };
    const choice = (title, text, what) => h("li", {}, h("button", { type: "button", class: "choice", onclick: choose(what) }, h("strong", { text: title }), h("span", { text })));
    const dialog = openDialog("Undo the last run", [
      h("ul", { class: "choices" }, [
        choice("Files and conversation", "Both go back to before the last prompt.", "both"),
        choice("Files only", "The files go back; the conversation stays and the model is told.", "files"),
        choice("Conversation only", "The conversation goes back; the files stay as they are.", "conversation"),
      ]),
    ]);
  }

  // The end of the branch after it moved without a new entry.
  async findLeaf() {
    const outline = await attempt(() => get(`sessions/${part(this.id)}/outline`));
    if (outline?.leafId) await this.transcript.setLeaf(outline.leafId);
  }

  async remove() {
    if (await deleteSession(this.id, this.name)) location.hash = "#/";
  }
}

const undone = ({ cancelled, restored = [], conflicts = [] }) => {
  if (cancelled) return "An extension objected; nothing has changed.";
  const files = restored.length > 0 ? ` ${plural(restored.length, "file")} restored.` : "";
  const kept = conflicts.length > 0 ? ` Kept as they are: ${conflicts.map(({ path }) => path).join(", ")}.` : "";
  return `Undone.${files}${kept}`;
};
