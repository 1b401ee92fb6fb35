// Dialogs to choose the model and the thinking level of a session.

import { attempt, h, openDialog, replace } from "./dom.js";
import { count } from "./format.js";
import { send } from "./link.js";

// Shows choices with a filter. Arrow keys move, Enter takes.
const choose = (title, choices, { filter }) =>
  new Promise((resolve) => {
    let taken = null;
    const list = h("ul", { class: "choices" });
    const field = h("input", { type: "search", class: "field", placeholder: "Filter", "aria-label": "Filter", autocomplete: "off", spellcheck: "false" });
    const draw = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fitting = choices.filter(({ name, detail }) => words.every((word) => `${name} ${detail}`.toLowerCase().includes(word)));
      replace(
        list,
        fitting.slice(0, 200).map((choice) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", class: "choice", "aria-pressed": choice.current ? "true" : null, onclick: () => ((taken = choice), dialog.close()) },
              h("strong", { text: choice.name }),
              h("span", { text: choice.detail }),
            ),
          ),
        ),
        fitting.length === 0 && h("li", { class: "empty", text: "Nothing fits." }),
      );
    };
    field.addEventListener("input", draw);
    const move = (event) => {
      if (event.key === "Enter" && event.target === field) list.querySelector("button")?.click();
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const buttons = [...list.querySelectorAll("button")];
      const at = buttons.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      (buttons[at] ?? field).focus();
    };
    draw();
    const body = h("div", { onkeydown: move }, filter ? field : null, list);
    const dialog = openDialog(title, body, { onclose: () => resolve(taken) });
    (list.querySelector("[aria-pressed]") ?? list.querySelector("button"))?.scrollIntoView({ block: "nearest" });
    if (filter && !matchMedia("(pointer: coarse)").matches) field.focus();
    else list.querySelector("[aria-pressed]")?.focus();
  });

export const pickModel = async (screen) => {
  const sessionId = screen.id;
  const answer = await attempt(() => send({ type: "get_available_models", sessionId }));
  if (!answer) return;
  const now = screen.state.model;
  const choices = answer.models.map((model) => ({
    name: model.name || model.id,
    detail: [`${model.provider}/${model.id}`, model.contextWindow && `${count(model.contextWindow)} tokens`].filter(Boolean).join(" · "),
    current: now && now.provider === model.provider && now.id === model.id,
    model,
  }));
  const taken = await choose("Model", choices, { filter: choices.length > 6 });
  if (!taken) return;
  const { provider, id } = taken.model;
  await attempt(() => send({ type: "set_model", sessionId, provider, modelId: id }));
  await screen.refreshState();
};

const LEVELS = {
  off: "No thinking",
  minimal: "A few sentences",
  low: "Short",
  medium: "Moderate",
  high: "Long",
  xhigh: "Very long",
  max: "As long as the model can",
};

export const pickThinking = async (screen) => {
  const sessionId = screen.id;
  const answer = await attempt(() => send({ type: "get_available_thinking_levels", sessionId }));
  if (!answer) return;
  const choices = answer.levels.map((level) => ({ name: level, detail: LEVELS[level] ?? "", current: level === screen.state.thinkingLevel }));
  const taken = await choose("Thinking level", choices, { filter: false });
  if (!taken) return;
  await attempt(() => send({ type: "set_thinking_level", sessionId, level: taken.name }));
  await screen.refreshState();
};
