// Runs of `pi run`: the list, and one run with its contract, limits, checks and outcome.

import { get, part } from "./api.js";
import { attempt, fromServer, h, icon, replace } from "./dom.js";
import { ago, cost, count, dateTime, duration, plural } from "./format.js";
import { link } from "./link.js";

const GOOD = new Set(["converged"]);
const OPEN = new Set(["running", "waiting", "needs-approval"]);

const outcomeOf = (run) => run.outcome ?? run.status ?? "running";
const toneOf = (outcome) => (GOOD.has(outcome) ? "good" : OPEN.has(outcome) ? "open" : "bad");
const chip = (outcome) => h("span", { class: `outcome ${toneOf(outcome)}`, text: outcome.replaceAll("-", " ") });

export const runsScreen = (root, { onTitle }) => {
  onTitle("Runs");
  const list = h("div", {});
  replace(root, h("div", { class: "screen narrow" }, h("h1", { text: "Runs" }), h("p", { class: "lead", text: "Unattended runs with a contract. The outcome follows from the checks." }), list));
  const load = async () => {
    const answer = await attempt(() => get("runs"));
    if (!answer) return;
    const rows = answer.runs.map((run) =>
      h(
        "li",
        {},
        h(
          "a",
          { class: "run-row", href: `#/runs/${part(run.id)}` },
          h("span", { class: "run-title" }, h("span", { text: run.name || firstLine(run.goal) || run.id }), chip(outcomeOf(run))),
          h("span", { class: "session-facts" }, h("span", { text: ago(run.finished || run.started) }), run.name && h("span", { class: "run-goal", text: firstLine(run.goal) })),
        ),
      ),
    );
    replace(list, rows.length > 0 ? h("ul", { class: "run-list" }, rows) : h("p", { class: "empty" }, "There are no runs yet. ", h("code", { text: "pi run" }), " starts one."));
  };
  const again = () => load();
  link.addEventListener("connected", again);
  const timer = setInterval(() => document.visibilityState === "visible" && load(), 15_000);
  load();
  return () => {
    clearInterval(timer);
    link.removeEventListener("connected", again);
  };
};

export const runScreen = (root, id, { onTitle }) => {
  const place = h("div", {});
  const head = h("h1", { text: "Run" });
  replace(root, h("div", { class: "screen" }, h("header", { class: "screen-head" }, h("a", { class: "icon-button", href: "#/runs", "aria-label": "All runs" }, icon("back")), head), place));
  let timer = 0;
  let ended = false;
  const load = async () => {
    const run = await attempt(() => get(`runs/${part(id)}`));
    if (!run || ended) return;
    const title = run.name || firstLine(run.goal) || "Run";
    head.textContent = title;
    onTitle(title);
    replace(place, view(run));
    if (toneOf(outcomeOf(run)) === "open") timer = setTimeout(load, 5000);
  };
  load();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
};

const view = (run) => [
  h("div", { class: "run-outcome" }, chip(outcomeOf(run)), run.reason && h("p", { text: run.reason }), h("p", { class: "session-facts" }, h("span", { text: `Started ${dateTime(run.started)}` }), run.finished && h("span", { text: `took ${duration(new Date(run.finished) - new Date(run.started))}` }))),
  section("Goal", run.goal && h("p", { class: "run-text", text: run.goal })),
  section("Limits", limits(run.limits)),
  section("Checks", checks(run.checks), (run.before ?? []).length > 0 && h("p", { class: "hint", text: `Before the run: ${beforeText(run.before)}` })),
  section("Waits for approval", (run.pending ?? []).length > 0 && h("ul", { class: "plain" }, run.pending.map((action) => h("li", { text: action.what ?? action.command ?? JSON.stringify(action) })))),
  section("Concerns", (run.concerns ?? []).length > 0 && h("ul", { class: "plain" }, run.concerns.map((concern) => h("li", { text: concern.text ?? concern.message ?? JSON.stringify(concern) })))),
  section("Attempts", (run.attempts ?? []).length > 1 && h("p", { text: plural(run.attempts.length, "attempt") })),
  section("Decisions of the guard", actions(run.actions)),
  section("Answer", run.text && h("p", { class: "run-text", text: run.text })),
  section("Result", run.result !== undefined && run.result !== null && h("pre", { tabindex: "0", text: JSON.stringify(run.result, null, 2) })),
  section("Changes", run.diffHtml ? h("div", { class: "question-diff" }, fromServer(run.diffHtml)) : (run.files ?? []).length > 0 && h("ul", { class: "plain" }, run.files.map((file) => h("li", {}, h("code", { text: file.path }))))),
  section("Problems", (run.problems ?? []).length > 0 && h("ul", { class: "plain" }, run.problems.map((text) => h("li", { text })))),
  section("Session", run.sessionId && h("a", { class: "button", href: `#/s/${part(run.sessionId)}` }, "Open the session of the run")),
];

const section = (title, ...content) => {
  const parts = content.flat().filter(Boolean);
  return parts.length > 0 && h("section", { class: "run-section" }, h("h2", { text: title }), parts);
};

const AMOUNTS = {
  cost: ["Cost", cost],
  maxCost: ["Cost", cost],
  tokens: ["Tokens", count],
  turns: ["Turns", count],
  requests: ["Requests", count],
  toolCalls: ["Tool calls", count],
  rounds: ["Rounds", count],
  attempts: ["Attempts", count],
};

// Pure: what was used of each limit, as rows of name, used and allowed.
export const limitRows = (report) => {
  const { spent = {}, limits: allowed = {} } = report ?? {};
  const rows = [];
  for (const [key, most] of Object.entries(allowed)) {
    const value = typeof most === "object" && most !== null ? most.value ?? most.max : most;
    if (!Number.isFinite(value) || value <= 0) continue;
    const used = spent[key] ?? spent[key.replace(/^max([A-Z])/, (_, first) => first.toLowerCase())];
    const milliseconds = /Ms$/.test(key);
    const seconds = /Seconds$/.test(key);
    const text = milliseconds ? duration : seconds ? (number) => duration(number * 1000) : AMOUNTS[key]?.[1] ?? count;
    const name = AMOUNTS[key]?.[0] ?? words(key.replace(/(Ms|Seconds)$/, ""));
    rows.push({ name, used: Number.isFinite(used) ? used : 0, allowed: value, text });
  }
  return rows;
};

const words = (key) => {
  const text = key.replace(/^max/, "").replace(/([A-Z])/g, " $1").toLowerCase().trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const limits = (report) => {
  const rows = limitRows(report);
  if (rows.length === 0) return null;
  return h(
    "dl",
    { class: "limits" },
    rows.map(({ name, used, allowed, text }) => {
      const share = Math.min(1, used / allowed);
      const bar = h("div", { class: share >= 1 ? "bar full" : share > 0.8 ? "bar high" : "bar", role: "meter", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": allowed, "aria-valuenow": Math.min(used, allowed) }, h("div", { class: "bar-part" }));
      bar.firstElementChild.style.width = `${(100 * share).toFixed(1)}%`;
      return h("div", { class: "limit" }, h("dt", { text: name }), h("dd", {}, bar, h("span", { text: `${text(used)} of ${text(allowed)}` })));
    }),
  );
};

const checks = (list) =>
  (list ?? []).length > 0 &&
  h(
    "ul",
    { class: "checks" },
    list.map((check) => {
      const state = check.skipped ? "skipped" : check.passed ? "passed" : "failed";
      const head = [h("span", { class: `check-state ${state}`, text: state }), h("span", { class: "check-name", text: check.name }), h("span", { class: "check-time", text: check.durationMs >= 100 ? duration(check.durationMs) : "" })];
      const more = [...(check.failures ?? []).map((text) => h("p", { class: "check-failure", text })), check.output && h("pre", { class: "output", tabindex: "0", text: check.output })].filter(Boolean);
      if (more.length === 0) return h("li", { class: "check" }, head);
      return h("li", {}, h("details", { class: "check", open: state === "failed" }, h("summary", {}, head), more));
    }),
  );

const beforeText = (before) => {
  const failed = before.filter((check) => !check.passed && !check.skipped).length;
  return failed === 0 ? "no check failed" : `${plural(failed, "check")} failed`;
};

const actions = (list) => {
  const special = (list ?? []).filter((action) => action.decision !== "run");
  return (
    special.length > 0 &&
    h(
      "ul",
      { class: "plain" },
      special.slice(0, 200).map((action) => h("li", {}, h("span", { class: "check-state", text: action.decision }), " ", h("code", { text: action.what }), (action.reasons ?? []).length > 0 && h("span", { class: "hint", text: ` ${action.reasons.join("; ")}` }))),
    )
  );
};

const firstLine = (text) => (text ?? "").split("\n").find((line) => line.trim() !== "")?.slice(0, 140) ?? "";
