// Elements: how all modules of the page make them. Text is only ever set as text.

// Makes an element. Properties that begin with "on" are listeners, `text` is its text, `class` its
// class names; everything else is an attribute, left out if it is null or false.
export const h = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

// The one place where markup becomes elements. The server makes this markup with the renderer of
// exported pages, which escapes everything that comes from a session.
export const fromServer = (markup) => {
  const template = document.createElement("template");
  template.innerHTML = typeof markup === "string" ? markup : "";
  return template.content;
};

export const replace = (parent, ...children) => {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
};

// Lines of a diff as text, colored by their first character.
export const diffLines = (text) =>
  h(
    "pre",
    { class: "diff", tabindex: "0" },
    text.split("\n").map((line) => {
      const kind = /^\+(?!\+\+ )/.test(line) ? "add" : /^-(?!-- )/.test(line) ? "del" : "";
      return h("span", { class: `line ${kind}`, text: `${line}\n` });
    }),
  );

const ICONS = {
  back: "M15 5l-7 7 7 7",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15.5 9.5h.01",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  plus: "M12 5v14M5 12h14",
  changes: "M12 4v8M8 8h8M8 18h8",
  down: "M12 5v14M6 13l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  sessions: "M4 6h16M4 12h16M4 18h10",
  needs: "M6 16v-5a6 6 0 1112 0v5l2 2H4zM10 21h4",
  runs: "M5 4v16M5 5h12l-3 4 3 4H5",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  search: "M11 4a7 7 0 110 14 7 7 0 010-14zM16 16l4 4",
};

// Returns a drawing for a button that has a text or a label of its own.
export const icon = (name) => {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(namespace, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
};

// A button with a drawing, whose text is for screen readers and the pointer at rest.
export const iconButton = (name, label, onclick, properties = {}) =>
  h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...properties }, icon(name));

export const button = (text, onclick, properties = {}) =>
  h("button", { type: "button", class: "button", onclick, ...properties }, text);

// Opens a dialog and returns it. It closes with Escape, its button or `close()`, and gives the
// focus back; then it is removed.
export const openDialog = (title, content, { wide = false, onclose } = {}) => {
  const heading = h("h2", { text: title });
  const dialog = h(
    "dialog",
    { class: wide ? "dialog wide" : "dialog", "aria-label": title },
    h("header", { class: "dialog-head" }, heading, iconButton("close", "Close", () => dialog.close())),
    h("div", { class: "dialog-body" }, content),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    onclose?.();
  });
  // Escape belongs to the dialog alone.
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
};

// Asks before something that cannot be taken back. Returns a promise of true or false.
export const confirmDialog = (title, text, action) =>
  new Promise((resolve) => {
    let answer = false;
    const choose = (value) => () => {
      answer = value;
      dialog.close();
    };
    const dialog = openDialog(
      title,
      [
        h("p", { text }),
        h("div", { class: "row end" }, button("Cancel", choose(false)), button(action, choose(true), { class: "button danger" })),
      ],
      { onclose: () => resolve(answer) },
    );
  });

// A message at the bottom that goes away by itself, and is read to users of screen readers.
export const toast = (text, kind = "info") => {
  const place = document.getElementById("toasts");
  const element = h("div", { class: `toast ${kind}` }, h("span", { text }));
  const remove = () => element.remove();
  element.append(iconButton("close", "Dismiss", remove));
  place.append(element);
  while (place.childElementCount > 3) place.firstElementChild.remove();
  if (kind !== "error") setTimeout(remove, 6000);
};

// Runs an action, and shows the reason if it fails.
export const attempt = async (action) => {
  try {
    return await action();
  } catch (error) {
    toast(error.message, "error");
    return undefined;
  }
};
