// The frame of the page: signing in, screens by address, the line that says as of when all is true,
// and what is seen of pi while the page is in the background.

import { get, loadMe, login, may, me } from "./api.js";
import { attempt, button, h, icon, replace, toast } from "./dom.js";
import { clock } from "./format.js";
import { connect, disconnect, link } from "./link.js";
import { countOf, needs, needsScreen } from "./needs.js";
import { reviewScreen } from "./review.js";
import { runScreen, runsScreen } from "./runs.js";
import { sessionScreen } from "./session.js";
import { newSession, sessionList, sessionsScreen } from "./sessions.js";
import { settingsScreen } from "./settings.js";
import { applyTheme, wantsNotifications } from "./theme.js";
import { treeScreen } from "./tree.js";

const byId = (id) => document.getElementById(id);
const wide = matchMedia("(min-width: 60rem)");

let leave = null;
let title = "";
let stopList = null;
let runs = false;

// ---- Signing in

// The token of the address is used once, and does not stay in the history.
const takeToken = () => {
  const token = /^#t=(.+)$/.exec(location.hash)?.[1];
  if (!token) return null;
  history.replaceState(null, "", `${location.pathname}#/`);
  return decodeURIComponent(token);
};

const begin = async () => {
  applyTheme();
  const token = takeToken();
  try {
    await (token ? login(token) : loadMe());
  } catch (error) {
    showSignIn(token || error.status !== 401 ? error.message : "");
    return;
  }
  enter();
};

const showSignIn = (problem) => {
  leave?.();
  leave = null;
  stopList?.();
  stopList = null;
  byId("frame").hidden = true;
  const field = h("input", { type: "password", class: "field", id: "token", autocomplete: "current-password", spellcheck: "false" });
  const submit = async () => {
    const value = field.value.trim();
    if (!value) return;
    try {
      await login(/[#&]t=([^&]+)/.exec(value)?.[1] ?? value);
    } catch (error) {
      showSignIn(error.message);
      return;
    }
    enter();
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  replace(
    byId("sign-in"),
    h(
      "main",
      { class: "sign-in-box" },
      h("p", { class: "brand", "aria-hidden": "true", text: "π" }),
      h("h1", { text: "Sign in" }),
      h("p", { text: "Open the address that “pi serve” printed, or paste it here." }),
      problem && h("p", { class: "problem", role: "alert", text: problem }),
      h("label", { class: "labeled", for: "token" }, "Address or token", field),
      button("Sign in", submit, { class: "button primary wide" }),
    ),
  );
  byId("sign-in").hidden = false;
  field.focus();
};

const enter = () => {
  byId("sign-in").hidden = true;
  byId("sign-in").replaceChildren();
  byId("frame").hidden = false;
  byId("frame").classList.toggle("single", Boolean(me.session));
  if (me.session && !location.hash.startsWith(`#/s/${encodeURIComponent(me.session)}`)) history.replaceState(null, "", `#/s/${encodeURIComponent(me.session)}`);
  connect();
  findRuns();
  layout();
  show();
};

// Runs have a place in the navigation only on servers that offer them.
const findRuns = async () => {
  if (me.session) return;
  try {
    await get("runs");
    runs = true;
  } catch {
    runs = false;
  }
  drawNav();
};

// ---- Screens

const SCREENS = [
  [/^#\/s\/([^/]+)$/, (root, id, tools) => sessionScreen(root, id, tools)],
  [/^#\/s\/([^/]+)\/tree$/, (root, id, tools) => treeScreen(root, id, tools)],
  [/^#\/s\/([^/]+)\/review$/, (root, id, tools) => reviewScreen(root, id, tools)],
  [/^#\/needs$/, (root) => (setTitle("Needs you"), needsScreen(root))],
  [/^#\/runs$/, (root, _, tools) => runsScreen(root, tools)],
  [/^#\/runs\/([^/]+)$/, (root, id, tools) => runScreen(root, id, tools)],
  [/^#\/settings$/, (root, _, tools) => settingsScreen(root, tools)],
];

const decode = (text) => {
  try {
    return decodeURIComponent(text ?? "");
  } catch {
    return "";
  }
};

const show = () => {
  if (byId("frame").hidden) return;
  leave?.();
  leave = null;
  const root = byId("main");
  const hash = location.hash;
  const inSession = /^#\/s\//.test(hash);
  byId("frame").classList.toggle("in-session", inSession);
  const tools = { onTitle: setTitle, announce, onSignedOut: signedOut };
  for (const [pattern, screen] of SCREENS) {
    const match = pattern.exec(hash);
    if (!match) continue;
    leave = screen(root, decode(match[1]), tools);
    drawNav();
    settle(root, inSession);
    return;
  }
  setTitle("Sessions");
  leave = wide.matches ? welcome(root) : sessionsScreen(root);
  drawNav();
  settle(root, false);
};

// Puts the focus where work goes on: screen readers begin there.
const settle = (root, inSession) => {
  if (inSession && !matchMedia("(pointer: coarse)").matches && /^#\/s\/[^/]+$/.test(location.hash)) {
    root.querySelector(".composer-text")?.focus({ preventScroll: true });
    return;
  }
  if (document.activeElement === document.body || !byId("column").contains(document.activeElement)) root.focus({ preventScroll: true });
};

const welcome = (root) => {
  replace(
    root,
    h(
      "div",
      { class: "screen narrow welcome" },
      h("p", { class: "brand", "aria-hidden": "true", text: "π" }),
      h("h1", { text: "Choose a session" }),
      h("p", { class: "lead", text: "Sessions of this computer are in the column, those that run or need you first." }),
      may("drive") && button("New session", () => newSession(), { class: "button primary" }),
    ),
  );
  return null;
};

const signedOut = () => {
  disconnect();
  showSignIn("");
};

// ---- Navigation and column

const drawNav = () => {
  const count = countOf();
  const hash = location.hash;
  const item = (name, href, text, here, badge) =>
    h("a", { class: "nav-item", href, "aria-current": here ? "page" : null }, icon(name), h("span", { text }), badge > 0 && h("span", { class: "badge", "aria-label": `${badge} open`, text: String(badge) }));
  replace(
    byId("main-nav"),
    item("sessions", "#/", "Sessions", !/^#\/(needs|runs|settings)/.test(hash), 0),
    item("needs", "#/needs", "Needs you", hash === "#/needs", count),
    runs && item("runs", "#/runs", "Runs", hash.startsWith("#/runs"), 0),
    item("settings", "#/settings", "Settings", hash === "#/settings", 0),
  );
};

const currentSession = () => decode(/^#\/s\/([^/]+)/.exec(location.hash)?.[1]) || null;

const layout = () => {
  const wanted = wide.matches && !me.session;
  if (wanted && !stopList) stopList = sessionList(byId("column-list"), { current: currentSession });
  if (!wanted && stopList) {
    stopList();
    stopList = null;
    byId("column-list").replaceChildren();
  }
  drawNav();
};

wide.addEventListener("change", () => {
  if (byId("frame").hidden) return;
  layout();
  if (!/^#\/(s|needs|runs|settings)/.test(location.hash)) show();
});
addEventListener("hashchange", () => {
  const token = takeToken();
  if (token) login(token).then(() => location.reload(), (error) => toast(error.message, "error"));
  else show();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.querySelector('input[type="search"]');
  if (!search) return;
  event.preventDefault();
  search.focus();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

// ---- As of when all is true

const drawStatus = () => {
  const time = link.asOf ? `as of ${clock(link.asOf)}` : "";
  const words = { connecting: "connecting", live: time, lost: time ? `reconnecting, ${time}` : "reconnecting", "signed-out": "signed out" };
  const text = words[link.state];
  if (byId("status-text").textContent !== text) byId("status-text").textContent = text;
  byId("status").dataset.state = link.state;
};
link.addEventListener("as-of", drawStatus);
link.addEventListener("state", () => {
  drawStatus();
  if (link.state === "lost") announce("The connection is lost. Reconnecting.");
  if (link.state === "live" && lostBefore) announce("Connected again.");
  if (link.state === "signed-out") showSignIn("This browser is no longer signed in.");
  lostBefore = link.state === "lost";
});
let lostBefore = false;
link.addEventListener("restarted", () => toast("The server was restarted."));

// ---- In the background

const announce = (text) => {
  const place = byId("announcer");
  place.textContent = "";
  requestAnimationFrame(() => (place.textContent = text));
  if (text === "The agent has finished.") notify(title, text);
};

const notify = (heading, text) => {
  if (document.visibilityState !== "hidden" || !wantsNotifications() || !("Notification" in window) || Notification.permission !== "granted") return;
  try {
    const shown = new Notification(heading, { body: text, tag: `${heading} ${text}` });
    shown.addEventListener("click", () => {
      window.focus();
      shown.close();
    });
  } catch {
    // Some phones show notifications of service workers only.
  }
};

const setTitle = (text) => {
  title = text;
  drawTitle();
};

const drawTitle = () => {
  const count = countOf();
  document.title = `${count > 0 ? `(${count}) ` : ""}${title ? `${title} · ` : ""}pi`;
  const badge = count > 0 ? `<circle cx='23' cy='9' r='9' fill='%23c2410c'/><text x='23' y='13.5' font-size='13' font-family='sans-serif' font-weight='700' text-anchor='middle' fill='white'>${Math.min(count, 9)}</text>` : "";
  const drawing = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='%232b5f8a'/><path d='M8 11h16M12.5 11v12M20 11v9q0 3 3 3' stroke='white' stroke-width='2.6' fill='none' stroke-linecap='round'/>${badge}</svg>`;
  const address = `data:image/svg+xml,${drawing}`;
  const shown = document.querySelector('link[rel="icon"]');
  if (shown.href !== address) shown.href = address;
};

needs.addEventListener("change", () => {
  drawTitle();
  drawNav();
});
needs.addEventListener("new", ({ detail: question }) => {
  const text = question.what ?? question.title ?? "A question is open.";
  announce(`Needs you: ${text}`);
  notify("pi needs you", text);
});

attempt(begin);
