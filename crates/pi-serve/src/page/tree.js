// The branches of a session: its prompts, summaries and labels as a tree, and the way to them.

import { get, may, part } from "./api.js";
import { attempt, button, h, icon, openDialog, replace } from "./dom.js";
import { send } from "./link.js";
import { stored } from "./theme.js";

// Rows that are shown at a time, the newest first.
const SHOWN = 500;

export const treeScreen = (root, id, { onTitle }) => {
  const rows = h("div", { class: "tree-rows", role: "tree", "aria-label": "Entries" });
  const earlier = button("Show earlier entries", () => {
    from -= SHOWN;
    draw(shown);
  }, { class: "button older", hidden: true });
  const back = `#/s/${part(id)}`;
  let shown = { rows: [] };
  let from = 0;
  replace(
    root,
    h(
      "div",
      { class: "screen" },
      h("header", { class: "screen-head" }, h("a", { class: "icon-button", href: back, "aria-label": "Back to the session" }, icon("back")), h("h1", { text: "Branches" })),
      earlier,
      rows,
    ),
  );
  onTitle("Branches");
  const load = async () => {
    const outline = await attempt(() => get(`sessions/${part(id)}/outline`));
    if (!outline) return;
    shown = outline;
    from = outline.rows.length - SHOWN;
    draw(outline);
    [...rows.querySelectorAll(".on")].at(-1)?.scrollIntoView({ block: "center" });
  };

  const draw = ({ rows: list }) => {
    const children = new Map();
    list.forEach((row, index) => {
      const key = row.parent ?? -1;
      if (children.has(key)) children.get(key).push(index);
      else children.set(key, [index]);
    });
    const depths = [];
    const elements = list.map((row, index) => {
      const siblings = children.get(row.parent ?? -1).length;
      depths[index] = (row.parent === null || row.parent === undefined ? 0 : depths[row.parent]) + (siblings > 1 ? 1 : 0);
      if (index < from) return null;
      const element = h(
        "button",
        {
          type: "button",
          class: `tree-row ${row.kind}${row.onBranch ? " on" : ""}`,
          role: "treeitem",
          "aria-level": depths[index] + 1,
          "aria-current": row.onBranch ? "true" : null,
          tabindex: index === Math.max(0, from) ? "0" : "-1",
          onclick: () => choose(row),
        },
        siblings > 1 && h("span", { class: "tree-fork", "aria-hidden": "true" }),
        h("span", { class: "tree-kind", text: KINDS[row.kind] ?? "" }),
        h("span", { class: "tree-text", text: row.text || "(no text)" }),
        row.label && h("span", { class: "label", text: row.label }),
      );
      element.style.paddingInlineStart = `${0.8 + Math.min(depths[index], 8) * 1.1}rem`;
      return element;
    });
    earlier.hidden = from <= 0;
    replace(rows, elements, list.length === 0 && h("p", { class: "empty", text: "The session has no prompts yet." }));
  };

  rows.addEventListener("keydown", (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const all = [...rows.querySelectorAll(".tree-row")];
    const at = Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + move));
    for (const element of rows.querySelectorAll('[tabindex="0"]')) element.tabIndex = -1;
    all[at].tabIndex = 0;
    all[at].focus();
  });

  const choose = (row) => {
    if (!may("drive")) {
      location.hash = back;
      return;
    }
    const choice = (title, text, action) =>
      h("li", {}, h("button", { type: "button", class: "choice", onclick: () => (dialog.close(), attempt(action)) }, h("strong", { text: title }), h("span", { text })));
    const jump = async () => {
      const { text, cancelled } = await send({ type: "navigate_tree", sessionId: id, entryId: row.id });
      if (cancelled) return;
      if (text) stored.write(`pi-draft ${id}`, text);
      location.hash = back;
    };
    const fork = async () => {
      const { text, cancelled, sessionId } = await send({ type: "fork", sessionId: id, entryId: row.id });
      if (cancelled) return;
      if (text) stored.write("pi-draft-of-fork", text);
      location.hash = `#/s/${part(sessionId ?? id)}`;
    };
    const mark = () => rename(row);
    const dialog = openDialog(row.text || KINDS[row.kind] || "Entry", [
      h("ul", { class: "choices" }, [
        choice("Continue from here", row.kind === "user" ? "The conversation goes back to before this prompt, which you can edit." : "The conversation continues after this entry.", jump),
        row.kind === "user" && choice("Fork into a new session", "A copy of the session up to this prompt.", fork),
        choice("Label", "A name by which you find this entry.", mark),
      ]),
    ]);
  };

  const rename = (row) => {
    const field = h("input", { type: "text", class: "field", id: "entry-label", value: row.label ?? "", maxlength: "80" });
    const save = async () => {
      dialog.close();
      const label = field.value.trim();
      await attempt(() => send({ type: "set_label", sessionId: id, entryId: row.id, ...(label ? { label } : {}) }));
      await load();
    };
    field.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && save());
    const dialog = openDialog("Label", [h("label", { class: "labeled", for: "entry-label" }, "Label", field), h("div", { class: "row end" }, button("Save", save, { class: "button primary" }))]);
  };

  load();
  return null;
};

const KINDS = { user: "You", assistant: "Agent", summary: "Summary", other: "" };
