// The list of sessions: running and waiting first, then by project, with search and a dialog for a
// new one. It is the first screen of a phone and the column of a wide window.

import { get, may, part, request } from "./api.js";
import { attempt, button, confirmDialog, h, iconButton, openDialog, replace } from "./dom.js";
import { ago, baseName, plural } from "./format.js";
import { link } from "./link.js";

const PAGE = 100;
const STATES = { running: "running", waiting: "needs you", elsewhere: "in another process", idle: "" };

// The name of a session, or the beginning of its first prompt.
export const titleOf = ({ name, title }) => name || (title && title !== "(no messages)" ? title : "New session");

// Keeps a place filled with the list. Returns the function that ends it.
export const sessionList = (place, { current = () => null } = {}) => {
  let query = "";
  let cursor = null;
  let sessions = [];
  let request = 0;
  const search = h("input", { type: "search", class: "field", placeholder: "Search all sessions", "aria-label": "Search all sessions", autocomplete: "off", spellcheck: "false" });
  const list = h("div", { class: "session-list" });
  const more = button("Show more", () => attempt(() => load(true)), { class: "button wide", hidden: true });
  replace(
    place,
    h(
      "div",
      { class: "list-head", role: "search" },
      search,
      may("drive") && iconButton("plus", "New session", () => newSession(), { class: "icon-button filled" }),
    ),
    list,
    more,
  );

  const load = async (further = false) => {
    const number = ++request;
    const options = new URLSearchParams({ limit: String(PAGE) });
    if (query) options.set("q", query);
    if (further && cursor) options.set("cursor", cursor);
    const answer = await get(`sessions?${options}`);
    if (number !== request) return;
    sessions = further ? [...sessions, ...answer.sessions] : answer.sessions;
    cursor = answer.next ?? null;
    draw();
  };

  const draw = () => {
    const focused = document.activeElement?.closest?.(".session-row")?.dataset.session;
    const active = query ? [] : sessions.filter((one) => one.status === "running" || one.status === "waiting");
    const rest = query ? sessions : sessions.filter((one) => !active.includes(one));
    const groups = [];
    if (active.length > 0) groups.push(["Now", null, active]);
    if (query) groups.push([plural(rest.length, "match", "matches"), null, rest]);
    else for (const [cwd, members] of byProject(rest)) groups.push([baseName(cwd), cwd, members]);
    replace(
      list,
      groups.map(([name, cwd, members]) =>
        h("section", { class: "session-group", "aria-label": name }, h("h2", { title: cwd, text: name }), h("ul", {}, members.map(row))),
      ),
      sessions.length === 0 && h("p", { class: "empty", text: query ? "No session contains this." : "There is no session yet." }),
    );
    more.hidden = cursor === null;
    if (focused) list.querySelector(`[data-session="${CSS.escape(focused)}"]`)?.focus();
  };

  const row = (summary) => {
    const isActive = summary.status === "running" || summary.status === "waiting";
    const here = summary.id === current();
    return h(
      "li",
      {},
      h(
        "a",
        { class: `session-row ${summary.status ?? "idle"}`, href: `#/s/${part(summary.id)}`, "data-session": summary.id, "aria-current": here ? "page" : null },
        h("span", { class: "session-title", text: titleOf(summary) }),
        h(
          "span",
          { class: "session-facts" },
          STATES[summary.status] && h("span", { class: "session-state", text: STATES[summary.status] }),
          h("span", { text: ago(summary.modified) }),
          (query || isActive) && h("span", { class: "session-project", text: baseName(summary.cwd ?? "") }),
          summary.messages > 0 && !isActive && h("span", { text: plural(summary.messages, "message") }),
        ),
        summary.snippet && h("span", { class: "session-snippet", text: summary.snippet }),
      ),
    );
  };

  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      query = search.value.trim();
      cursor = null;
      attempt(() => load());
    }, 180);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      list.querySelector(".session-row")?.focus();
    }
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...list.querySelectorAll(".session-row")];
    const at = rows.indexOf(document.activeElement);
    const next = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
    event.preventDefault();
    (next ?? search).focus();
  });

  const refresh = () => load().catch(() => {});
  let due = 0;
  const soon = () => {
    clearTimeout(due);
    due = setTimeout(refresh, 300);
  };
  const onFrame = ({ detail }) => {
    if (detail.type === "lists_changed") soon();
  };
  link.addEventListener("frame", onFrame);
  link.addEventListener("connected", soon);
  const onHash = () => {
    draw();
    soon();
  };
  addEventListener("hashchange", onHash);
  const timer = setInterval(refresh, 30_000);
  attempt(() => load());
  return () => {
    clearInterval(timer);
    clearTimeout(due);
    clearTimeout(typing);
    link.removeEventListener("frame", onFrame);
    link.removeEventListener("connected", soon);
    removeEventListener("hashchange", onHash);
  };
};

const byProject = (sessions) => {
  const groups = new Map();
  for (const session of sessions) {
    const cwd = session.cwd ?? "";
    if (groups.has(cwd)) groups.get(cwd).push(session);
    else groups.set(cwd, [session]);
  }
  return groups;
};

// Asks for a directory and starts a session in it.
export const newSession = async () => {
  const directories = await attempt(knownDirectories);
  if (!directories) return;
  const field = h("input", { type: "text", class: "field", id: "new-directory", list: "known-directories", value: directories[0] ?? "", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const name = h("input", { type: "text", class: "field", id: "new-name", placeholder: "Optional" });
  const start = async () => {
    const cwd = field.value.trim();
    if (!cwd) return field.focus();
    const summary = await attempt(() => request("POST", "sessions", { cwd, ...(name.value.trim() ? { name: name.value.trim() } : {}) }));
    if (!summary) return undefined;
    dialog.close();
    location.hash = `#/s/${part(summary.id)}`;
    return undefined;
  };
  const onEnter = (event) => {
    if (event.key === "Enter" && !event.isComposing) start();
  };
  field.addEventListener("keydown", onEnter);
  name.addEventListener("keydown", onEnter);
  const choices = directories.slice(0, 8).map((directory) =>
    h("li", {}, h("button", { type: "button", class: "choice", onclick: () => ((field.value = directory), field.focus()) }, h("strong", { text: baseName(directory) }), h("span", { text: directory }))),
  );
  const dialog = openDialog("New session", [
    h("label", { class: "labeled", for: "new-directory" }, "Directory", field),
    h("datalist", { id: "known-directories" }, directories.map((directory) => h("option", { value: directory }))),
    choices.length > 1 && h("ul", { class: "choices", "aria-label": "Known directories" }, choices),
    h("label", { class: "labeled", for: "new-name" }, "Name", name),
    h("div", { class: "row end" }, h("button", { type: "button", class: "button primary", onclick: start }, "Start")),
  ]);
};

const knownDirectories = async () => {
  try {
    return (await get("directories")).directories;
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  const { sessions } = await get("sessions?limit=100");
  return [...new Set(sessions.map((session) => session.cwd).filter(Boolean))];
};

// Deletes a session after a question. Returns true if it is gone.
export const deleteSession = async (id, name) => {
  if (!(await confirmDialog("Delete the session?", `“${name}” and its history will be deleted. Files in its directory stay as they are.`, "Delete"))) return false;
  const gone = await attempt(async () => {
    await request("DELETE", `sessions/${part(id)}`);
    return true;
  });
  return gone === true;
};

export const sessionsScreen = (root) => {
  const place = h("div", { class: "screen narrow sessions-screen" });
  replace(root, place);
  const list = h("div");
  place.append(h("h1", { text: "Sessions" }), list);
  return sessionList(list);
};
