// Runs of `pi run`: the list, and one run with its contract, limits, checks and outcome.

import { get, part } from "./api.js";
import { attempt, diffLines, h, icon, replace } from "./dom.js";
import { ago, baseName, cost, count, dateTime, duration, plural } from "./format.js";
import { link } from "./link.js";

const GOOD = new Set(["converged"]);
const OPEN = new Set(["running", "waiting", "needs-approval"]);

const outcomeOf = (run) => run.outcome ?? (run.running ? "running" : "interrupted");
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
          h("span", { class: "run-title" }, h("span", { text: firstLine(run.task) || run.id }), chip(outcomeOf(run))),
          h("span", { class: "session-facts" }, h("span", { text: ago(run.started) }), h("span", { text: baseName(run.cwd ?? "") })),
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
    const title = firstLine(run.task) || "Run";
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

const view = (run) => {
  const { contract, state } = run;
  // The report exists when the run has ended; until then the state says how far it is.
  const report = run.report ?? { limits: { spent: state?.spent, limits: contract?.limits }, before: state?.before, attempts: state?.attempts };
  const pending = run.pending ?? report.pending ?? [];
  const facts = [`Started ${dateTime(run.started)}`, report.finished ? `took ${duration(new Date(report.finished) - new Date(run.started))}` : state?.round > 0 && `attempt ${state.attempt}, round ${state.round}`];
  return [
    h("div", { class: "run-outcome" }, chip(outcomeOf(run)), report.reason && h("p", { text: report.reason }), h("p", { class: "session-facts" }, facts.filter(Boolean).map((text) => h("span", { text })))),
    section("Goal", (report.goal ?? contract?.goal) && h("p", { class: "run-text", text: report.goal ?? contract.goal })),
    section("Limits", limits(report.limits)),
    section("Checks", checks(report.checks ?? []), (report.before ?? []).length > 0 && h("p", { class: "hint", text: `Before the run: ${beforeText(report.before)}` })),
    section("Waits for approval", Array.isArray(pending) && pending.length > 0 && h("ul", { class: "plain" }, pending.map((action) => h("li", {}, h("code", { text: `${action.tool}: ${action.what}` }), h("span", { class: "hint", text: ` ${(action.reasons ?? []).join("; ")}` }))))),
    section("Look at", (report.concerns ?? []).length > 0 && h("ul", { class: "plain" }, report.concerns.map((concern) => h("li", { text: concern.file ? `${concern.file}: ${concern.reason}` : concern.reason })))),
    section("Attempts", (report.attempts ?? []).length > 1 && h("p", { text: plural(report.attempts.length, "attempt") })),
    section("Decisions of the guard", actions(report.actions)),
    section("Answer", report.text && h("p", { class: "run-text", text: report.text })),
    section("Result", report.result !== undefined && report.result !== null && h("pre", { tabindex: "0", text: JSON.stringify(report.result, null, 2) })),
    section("Changes", report.diff ? h("div", { class: "question-diff" }, diffLines(report.diff)) : (report.files ?? []).length > 0 && h("ul", { class: "plain" }, report.files.map((file) => h("li", {}, h("code", { text: file.path }))))),
    section("Problems", (report.problems ?? []).length > 0 && h("ul", { class: "plain" }, report.problems.map((text) => h("li", { text })))),
  ];
};

const section = (title, ...content) => {
  const parts = content.flat().filter(Boolean);
  return parts.length > 0 && h("section", { class: "run-section" }, h("h2", { text: title }), parts);
};

// The limits of a contract, what they are called, and where the consumption has them.
const LIMITS = [
  ["costUsd", "cost", "Cost", cost],
  ["tokens", "tokens", "Tokens", count],
  ["turns", "turns", "Requests", count],
  ["toolCalls", "toolCalls", "Tool calls", count],
  ["wall", "wallTimeMs", "Time", duration],
  ["outputBytes", "outputBytes", "Output", (bytes) => `${count(bytes / 1024)} KiB`],
];

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// Pure: a time of a contract, such as "1h 30m", in milliseconds.
const milliseconds = (time) => {
  if (typeof time === "number") return time * 1000;
  let sum = 0;
  for (const [, number, unit] of String(time).matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g)) sum += Number(number) * UNITS[unit];
  return sum;
};

// Pure: what was used of each limit, as rows of name, used and allowed.
const limitRows = ({ spent, limits: allowed } = {}) =>
  LIMITS.map(([limit, used, name, text]) => {
    const most = limit === "wall" && allowed?.wall ? milliseconds(allowed.wall) : Number(allowed?.[limit]);
    return { name, text, used: Number(spent?.[used]) || 0, allowed: most };
  }).filter((row) => row.allowed > 0);

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
