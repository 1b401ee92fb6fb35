// Questions that wait for an answer, of all sessions: approvals and dialogs of extensions.
//
// The session on the screen and every other session with an open question are attached, so that
// each question can be answered here. The first client that answers wins; the others are told.

import { get, may } from "./api.js";
import { button, diffLines, h, replace, toast } from "./dom.js";
import { attachTo, isAttached, link, post } from "./link.js";

const DIALOGS = new Set(["select", "confirm", "input", "editor"]);

// Open questions by id, in the order in which they came.
const open = new Map();
// Ends of the attachments that exist only for questions, by session.
const watched = new Map();
// Names of sessions, for questions that are shown away from their session.
const names = new Map();

export const needs = new EventTarget();
let elsewhere = 0;

const changed = () => needs.dispatchEvent(new Event("change"));

export const questionsOf = (sessionId) => [...open.values()].filter((question) => question.sessionId === sessionId);
const allQuestions = () => [...open.values()];
export const countOf = () => Math.max(open.size, elsewhere);

const add = (question) => {
  const known = open.has(question.id);
  open.set(question.id, question);
  if (!known) needs.dispatchEvent(new CustomEvent("new", { detail: question }));
  changed();
};

const close = (id, by) => {
  const question = open.get(id);
  if (!question) return;
  open.delete(id);
  elsewhere = Math.max(0, elsewhere - 1);
  if (by) toast(`Answered by ${by}: ${question.title ?? question.what ?? "a question"}`);
  changed();
};

link.addEventListener("frame", ({ detail: frame }) => {
  switch (frame.type) {
    case "approval_request":
      add(frame);
      break;
    case "extension_ui_request":
      if (DIALOGS.has(frame.method)) add(frame);
      break;
    case "approval_closed":
    case "extension_ui_closed":
      close(frame.id, frame.by);
      break;
    case "closed":
      for (const question of questionsOf(frame.sessionId)) open.delete(question.id);
      changed();
      break;
    case "lists_changed":
      look();
      break;
    default:
  }
});
// A new connection sends all open questions again.
link.addEventListener("connected", () => {
  open.clear();
  changed();
  look();
});

let looking = null;
let again = false;

// Finds the sessions with open questions and attaches those that are not.
export const look = async () => {
  if (looking) {
    again = true;
    return;
  }
  looking = find().catch(() => {});
  await looking;
  looking = null;
  if (again) {
    again = false;
    setTimeout(look, 500);
  }
};

const find = async () => {
  const { questions } = await get("needs-you");
  elsewhere = questions.length;
  const sessions = new Set(questions.map((question) => question.sessionId));
  if (!may("approve")) showOnly(questions);
  for (const question of questions) names.set(question.sessionId, question.sessionTitle ?? null);
  for (const [sessionId, end] of watched) {
    if (sessions.has(sessionId)) continue;
    watched.delete(sessionId);
    end();
  }
  for (const sessionId of sessions) {
    if (may("approve") && !isAttached(sessionId)) watch(sessionId);
  }
  changed();
};

// Shows the questions to a client that may not answer them, and gets no requests therefore.
const showOnly = (questions) => {
  open.clear();
  for (const { kind, sessionId, title, toolCallId } of questions) {
    const id = `${sessionId} ${toolCallId ?? title}`;
    open.set(id, { type: kind === "approval" ? "approval_request" : "extension_ui_request", id, sessionId, title, what: title, toolCallId });
  }
};

const watch = (sessionId) => {
  const end = attachTo({
    sessionId,
    feed: false,
    approvals: true,
    since: () => -1,
    onAttached: () => {},
    onItem: () => {},
    onFailed: () => watched.delete(sessionId),
  });
  watched.set(sessionId, end);
};

setInterval(() => link.state === "live" && look(), 15_000);

// ---- Cards

// Questions that this page answered, until the server has taken the answers.
const answered = new Map();

const answer = (question, message) => () => {
  const { sessionId, id } = question;
  const type = question.type === "approval_request" ? "approval_response" : "extension_ui_response";
  try {
    post({ ...message(), type, sessionId, id });
  } catch (error) {
    toast(error.message, "error");
    return;
  }
  answered.set(id, question);
  setTimeout(() => answered.delete(id), 10_000);
  close(id);
};

link.addEventListener("refused", ({ detail: frame }) => {
  const question = answered.get(frame.id);
  toast(frame.error || "The answer was refused.", "error");
  if (question) add(question);
});

const WORDS = { once: "Allow once", session: "Allow for this session", always: "Always allow" };

const approval = (question) => {
  const decide = (decision) => answer(question, () => ({ decision }));
  const reason = h("input", { type: "text", class: "field", "aria-label": "Reason for the refusal", placeholder: "Reason, for the model (optional)" });
  const refuse = answer(question, () => ({ decision: "no", ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) }));
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) refuse();
  });
  const options = (question.options ?? [])
    .filter(({ decision }) => WORDS[decision])
    .map(({ decision }) => h("button", { type: "button", class: decision === "once" ? "button primary" : "button", onclick: decide(decision) }, WORDS[decision]));
  // What would be remembered, in the words of the server.
  const remembered = (question.options ?? []).filter(({ decision }) => decision === "session" || decision === "always");
  return [
    h("p", { class: "question-kind", text: question.wider ? `Run again ${question.wider}: ${question.tool}` : question.tool ? `Approval needed: ${question.tool}` : "Approval needed" }),
    h("pre", { class: "question-what", tabindex: "0", text: question.what ?? question.title ?? "" }),
    (question.reasons ?? []).length > 0 && h("ul", { class: "question-reasons" }, question.reasons.map((reason) => h("li", { text: reason }))),
    question.change && h("div", { class: "question-diff" }, diffLines(question.change)),
    may("approve")
      ? [
          h("div", { class: "row options" }, options),
          h("div", { class: "row refusal" }, reason, h("button", { type: "button", class: "button danger", onclick: refuse }, "Refuse")),
          remembered.length > 0 && h("ul", { class: "question-scopes" }, remembered.map(({ label }) => h("li", { text: label }))),
        ]
      : h("p", { class: "hint", text: "Your token may not answer this." }),
  ];
};

const dialog = (question) => {
  const value = (text) => answer(question, () => ({ value: text }));
  const cancel = button("Cancel", answer(question, () => ({ cancelled: true })));
  let form;
  if (question.method === "select") {
    form = h("div", { class: "row options" }, (question.options ?? []).map((option) => button(option, value(option))), cancel);
  } else if (question.method === "confirm") {
    const say = (confirmed) => answer(question, () => ({ confirmed }));
    form = h("div", { class: "row options" }, h("button", { type: "button", class: "button primary", onclick: say(true) }, "Yes"), button("No", say(false)));
  } else {
    const long = question.method === "editor";
    const field = h(long ? "textarea" : "input", { class: "field", "aria-label": question.title ?? "Answer", placeholder: question.placeholder ?? "", ...(long ? { rows: "6" } : { type: "text" }) });
    field.value = question.prefill ?? "";
    const submit = () => value(field.value)();
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && (!long || event.ctrlKey || event.metaKey)) submit();
    });
    form = [field, h("div", { class: "row options" }, h("button", { type: "button", class: "button primary", onclick: submit }, "Send"), cancel)];
  }
  return [
    h("p", { class: "question-kind", text: "Question of an extension" }),
    h("p", { class: "question-title", text: question.title ?? "" }),
    question.message && h("p", { class: "question-message", text: question.message }),
    may("approve") ? form : h("p", { class: "hint", text: "Your token may not answer this." }),
  ];
};

// Returns the element of a question; `where` adds the session to it.
const questionCard = (question, { where = false } = {}) => {
  const title = question.type === "approval_request" ? `Approval needed: ${question.what ?? question.title}` : question.title;
  const card = h("section", { class: "question", "aria-label": title, "data-question": question.id });
  const parts = question.type === "approval_request" ? approval(question) : dialog(question);
  if (where) {
    const name = names.get(question.sessionId) || "Open the session";
    card.append(h("a", { class: "question-session", href: `#/s/${encodeURIComponent(question.sessionId)}`, text: name }));
  }
  card.append(...parts.flat().filter(Boolean));
  return card;
};

// Keeps a place filled with the cards of some questions. A card that stays keeps its focus and what
// was typed into it.
export const questionList = (place, select, options) => {
  const cards = new Map();
  const draw = () => {
    const questions = select();
    const wanted = new Set(questions.map((question) => question.id));
    for (const [key, card] of cards) {
      if (wanted.has(key)) continue;
      card.remove();
      cards.delete(key);
    }
    for (const question of questions) {
      const key = question.id;
      if (cards.has(key)) continue;
      const card = questionCard(question, options);
      cards.set(key, card);
      place.append(card);
    }
    place.hidden = questions.length === 0;
  };
  needs.addEventListener("change", draw);
  draw();
  return () => needs.removeEventListener("change", draw);
};

// ---- The screen

export const needsScreen = (root) => {
  const list = h("div", { class: "questions" });
  const empty = h("p", { class: "empty", text: "No session needs you." });
  replace(
    root,
    h("div", { class: "screen narrow" }, h("h1", { text: "Needs you" }), h("p", { class: "lead", text: "Approvals and questions of all sessions. The agents wait until they are answered." }), list, empty),
  );
  const stop = questionList(list, allQuestions, { where: true });
  const note = () => (empty.hidden = open.size > 0);
  needs.addEventListener("change", note);
  note();
  return () => {
    stop();
    needs.removeEventListener("change", note);
  };
};
