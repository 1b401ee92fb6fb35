// The changes of a session, and a review of them that goes back as a prompt.
//
// Comments are attached to lines and keep an excerpt of them, so they stay meaningful when the code
// has changed. They are drafts of this browser until they are sent.

import { get, may, part } from "./api.js";
import { attempt, button, fromServer, h, icon, iconButton, openDialog, replace, toast } from "./dom.js";
import { plural } from "./format.js";
import { link, send } from "./link.js";
import { stored } from "./theme.js";

const SCOPES = { run: "Last run", session: "Whole session" };
const STATUS = { added: "new", deleted: "deleted", changed: "" };

export const reviewScreen = (root, id, { onTitle }) => new Review(root, id, onTitle).start();

class Review {
  constructor(root, id, onTitle) {
    Object.assign(this, { root, id, onTitle });
    this.scope = "session";
    this.comments = this.readDrafts();
    this.selected = null;
  }

  key() {
    return `pi-review ${this.id}`;
  }

  readDrafts() {
    try {
      const drafts = JSON.parse(stored.read(this.key()) ?? "[]");
      return Array.isArray(drafts) ? drafts.filter((draft) => typeof draft?.path === "string" && typeof draft?.text === "string") : [];
    } catch {
      return [];
    }
  }

  saveDrafts() {
    stored.write(this.key(), this.comments.length > 0 ? JSON.stringify(this.comments) : null);
  }

  start() {
    this.onTitle("Changes");
    this.files = h("div", { class: "review-files" });
    this.bar = h("div", { class: "review-bar", hidden: true });
    this.tabs = h(
      "div",
      { class: "tabs", role: "group", "aria-label": "Scope" },
      Object.entries(SCOPES).map(([scope, name]) => button(name, () => this.setScope(scope), { class: "tab", "data-scope": scope })),
    );
    replace(
      this.root,
      h(
        "div",
        { class: "screen wide review" },
        h("header", { class: "screen-head" }, h("a", { class: "icon-button", href: `#/s/${part(this.id)}`, "aria-label": "Back to the session" }, icon("back")), h("h1", { text: "Changes" }), this.tabs),
        this.files,
        this.bar,
      ),
    );
    this.files.addEventListener("click", (event) => this.onClick(event));
    this.files.addEventListener("keydown", (event) => this.onKey(event));
    const onConnected = () => this.load();
    link.addEventListener("connected", onConnected);
    this.load();
    return () => link.removeEventListener("connected", onConnected);
  }

  setScope(scope) {
    this.scope = scope;
    this.load();
  }

  async load() {
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.scope === this.scope));
    const { scope } = this;
    const answer = await attempt(() => get(`sessions/${part(this.id)}/diff?scope=${scope}`));
    if (!answer || scope !== this.scope) return;
    this.draw(answer);
  }

  draw({ files, label, hasMore }) {
    const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
    const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
    replace(
      this.files,
      files.length === 0
        ? h("p", { class: "empty", text: "No file has changed." })
        : h("p", { class: "lead" }, `${plural(files.length, "file")}, `, h("span", { class: "added", text: `+${added}` }), " ", h("span", { class: "removed", text: `−${removed}` }), may("drive") && ". Choose a line to comment on it."),
      files.length > 0 && label && h("p", { class: "review-label", text: label }),
      hasMore && h("p", { class: "hint", text: "More files changed than are shown." }),
      files.map((file) => this.file(file)),
    );
    this.drawComments();
  }

  file(file) {
    const details = h(
      "details",
      { class: "review-file", "data-path": file.path, open: true },
      h(
        "summary",
        {},
        h("span", { class: "review-path", text: file.path }),
        STATUS[file.status] && h("span", { class: "review-status", text: STATUS[file.status] }),
        h("span", { class: "added", text: `+${file.added ?? 0}` }),
        h("span", { class: "removed", text: `−${file.removed ?? 0}` }),
      ),
      fromServer(file.hunksHtml),
    );
    if (may("drive")) {
      const lines = [...details.querySelectorAll(".line[data-line]")];
      lines.forEach((line, index) => {
        line.tabIndex = index === 0 ? 0 : -1;
        line.setAttribute("role", "button");
        line.setAttribute("aria-label", `Comment on line ${line.dataset.line}: ${textOf(line)}`);
      });
      details.querySelector("pre")?.removeAttribute("tabindex");
    }
    return details;
  }

  onClick(event) {
    const line = event.target.closest?.(".line[data-line]");
    if (!line || !may("drive") || String(getSelection() ?? "") !== "") return;
    this.select(line, event.shiftKey);
  }

  onKey(event) {
    const line = event.target.closest?.(".line[data-line]");
    if (!line || !may("drive")) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(line, event.shiftKey);
      return;
    }
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const lines = [...line.closest(".review-file").querySelectorAll(".line[data-line]")];
    const next = lines[lines.indexOf(line) + move];
    if (!next) return;
    line.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // Opens the form for a line; with Shift, for all lines from the one chosen before.
  select(line, extend) {
    const file = line.closest(".review-file");
    const lines = [...file.querySelectorAll(".line[data-line]")];
    let from = line;
    if (extend && this.selected?.isConnected && lines.includes(this.selected)) from = this.selected;
    else this.selected = line;
    const [first, last] = [lines.indexOf(from), lines.indexOf(line)].sort((one, other) => one - other);
    const chosen = lines.slice(first, last + 1);
    const comment = {
      path: file.dataset.path,
      side: chosen[0].dataset.side,
      line: Number(chosen[0].dataset.line),
      end: Number(chosen.at(-1).dataset.line),
      excerpt: chosen.slice(0, 12).map((one) => textOf(one)),
      text: "",
    };
    this.form(chosen.at(-1), comment);
  }

  form(after, comment) {
    this.files.querySelector(".comment-form")?.remove();
    const isNew = !this.comments.includes(comment);
    const field = h("textarea", { class: "field", rows: "3", "aria-label": `Comment on ${place(comment)}`, placeholder: "What should be different here?" });
    field.value = comment.text;
    const done = (focus) => {
      form.remove();
      if (focus) after.focus?.();
      this.drawComments();
    };
    const save = () => {
      comment.text = field.value.trim();
      if (comment.text === "") return field.focus();
      if (isNew) this.comments.push(comment);
      this.saveDrafts();
      return done(true);
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") done(true);
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    });
    const form = h("div", { class: "comment-form" }, h("p", { class: "comment-place", text: place(comment) }), field, h("div", { class: "row end" }, button("Cancel", () => done(true)), button(isNew ? "Add comment" : "Save", save, { class: "button primary" })));
    after.after(form);
    field.focus();
    form.scrollIntoView({ block: "nearest" });
  }

  // ---- Comments

  drawComments() {
    for (const old of this.files.querySelectorAll(".comment")) old.remove();
    const lost = [];
    for (const comment of this.comments) {
      const line = this.lineOf(comment);
      const element = this.comment(comment, line);
      if (line) line.after(element);
      else lost.push(element);
    }
    if (lost.length > 0) this.files.append(h("section", { class: "comment lost" }, h("h2", { text: "Comments on lines that are no longer shown" }), lost));
    const count = this.comments.length;
    this.bar.hidden = count === 0;
    replace(this.bar, h("span", { text: plural(count, "comment") }), h("span", { class: "grow" }), button("Discard", () => this.discard()), button("Send as a prompt", () => this.compose(), { class: "button primary" }));
  }

  // The line of a comment, if it still has the same text.
  lineOf(comment) {
    const file = [...this.files.querySelectorAll(".review-file")].find((one) => one.dataset.path === comment.path);
    const lines = [...(file?.querySelectorAll(".line[data-line]") ?? [])];
    return lines.find((line) => line.dataset.side === comment.side && Number(line.dataset.line) === comment.end && textOf(line) === comment.excerpt?.at(-1)) ?? (comment.excerpt?.length === 12 ? lines.find((line) => line.dataset.side === comment.side && Number(line.dataset.line) === comment.end) : undefined);
  }

  comment(comment, line) {
    const remove = () => {
      this.comments = this.comments.filter((one) => one !== comment);
      this.saveDrafts();
      this.drawComments();
    };
    return h(
      "div",
      { class: "comment" },
      h("p", { class: "comment-place", text: line ? rangeOf(comment) : place(comment) }),
      !line && h("pre", { class: "comment-excerpt", text: (comment.excerpt ?? []).join("\n") }),
      h("p", { class: "comment-text", text: comment.text }),
      h("div", { class: "comment-actions" }, line && button("Edit", () => this.form(line, comment)), iconButton("close", "Remove the comment", remove, { class: "icon-button small" })),
    );
  }

  discard() {
    this.comments = [];
    this.saveDrafts();
    this.drawComments();
  }

  // Shows the prompt made of the comments; it can be edited before it is sent.
  compose() {
    const field = h("textarea", { class: "field tall", rows: "14", id: "review-prompt" });
    field.value = promptOf(this.comments);
    const submit = async () => {
      const message = field.value.trim();
      if (!message) return;
      try {
        await send({ type: "prompt", sessionId: this.id, message, streamingBehavior: "followUp" });
      } catch (error) {
        toast(error.message, "error");
        return;
      }
      dialog.close();
      this.discard();
      location.hash = `#/s/${part(this.id)}`;
    };
    const dialog = openDialog("Review", [h("label", { class: "labeled", for: "review-prompt" }, "The prompt", field), h("div", { class: "row end" }, button("Cancel", () => dialog.close()), button("Send", submit, { class: "button primary" }))], { wide: true });
  }
}

const textOf = (line) => (line.querySelector(".text")?.textContent ?? "").replace(/\n$/, "");

const rangeOf = ({ side, line, end }) => `${line === end ? `Line ${line}` : `Lines ${Math.min(line, end)}–${Math.max(line, end)}`}${side === "old" ? " (before the change)" : ""}`;

const place = (comment) => `${comment.path}, ${rangeOf(comment).toLowerCase()}`;

// Pure: the prompt of a review.
const promptOf = (comments) => {
  const parts = comments.map((comment) => {
    const excerpt = (comment.excerpt ?? []).map((line) => `    ${line}`).join("\n");
    return `${place(comment)}:\n${excerpt}\n${comment.text}`;
  });
  return `I have reviewed the changes. Please address these comments:\n\n${parts.join("\n\n")}`;
};
