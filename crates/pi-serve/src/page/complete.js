// Completions of the composer: `/` for commands, templates and skills, `@` for files.

import { get, part } from "./api.js";
import { h, replace } from "./dom.js";
import { send } from "./link.js";

const MOST = 8;

export class Completions {
  constructor(composer) {
    this.composer = composer;
    this.commands = null;
    // Set to false when the server has no list of files.
    this.files = true;
    this.items = [];
    this.chosen = 0;
    this.number = 0;
    this.element = h("ul", { class: "completions", role: "listbox", id: "completions", "aria-label": "Completions", hidden: true });
    composer.text.setAttribute("aria-autocomplete", "list");
    composer.text.setAttribute("aria-controls", "completions");
  }

  forget() {
    this.commands = null;
  }

  async update() {
    const number = ++this.number;
    const { text } = this.composer;
    const before = text.value.slice(0, text.selectionStart);
    let items = [];
    const command = /^\/(\S*)$/.exec(before);
    const file = /(?:^|\s)@([^\s"]*)$/.exec(before);
    try {
      if (command) items = await this.commandItems(command[1]);
      else if (file && this.files) items = await this.fileItems(file[1]);
    } catch {
      items = [];
    }
    if (number !== this.number) return;
    this.items = items.slice(0, MOST);
    this.chosen = 0;
    this.draw();
  }

  async commandItems(typed) {
    this.commands ??= (await send({ type: "get_commands", sessionId: this.composer.sessionId })).commands ?? [];
    const wanted = typed.toLowerCase();
    const rank = ({ name }) => (name.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().includes(wanted) ? 1 : 2);
    return this.commands
      .filter((command) => rank(command) < 2)
      .sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name))
      .map(({ name, description }) => ({ label: `/${name}`, detail: description ?? "", insert: `/${name} `, length: typed.length + 1 }));
  }

  async fileItems(typed) {
    try {
      const { files } = await get(`sessions/${part(this.composer.sessionId)}/files?q=${part(typed)}`);
      return files.map((path) => ({ label: path, detail: "", insert: /\s/.test(path) ? `@"${path}" ` : `@${path} `, length: typed.length + 1 }));
    } catch (error) {
      if (error.status === 404) this.files = false;
      return [];
    }
  }

  draw() {
    const { element, items } = this;
    element.hidden = items.length === 0;
    const { text } = this.composer;
    text.setAttribute("aria-expanded", String(items.length > 0));
    if (items.length === 0) {
      element.replaceChildren();
      text.removeAttribute("aria-activedescendant");
      return;
    }
    replace(
      element,
      items.map((item, index) =>
        h(
          "li",
          {
            role: "option",
            id: `completion-${index}`,
            "aria-selected": String(index === this.chosen),
            // Before the composer loses the focus.
            onpointerdown: (event) => {
              event.preventDefault();
              this.take(index);
            },
          },
          h("span", { class: "completion-name", text: item.label }),
          h("span", { class: "completion-detail", text: item.detail }),
        ),
      ),
    );
    text.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
  }

  // Handles a key of the composer. Returns true if it was for the list.
  onKey(event) {
    if (this.items.length === 0 || event.isComposing) return false;
    const { length } = this.items;
    if (event.key === "ArrowDown") this.chosen = (this.chosen + 1) % length;
    else if (event.key === "ArrowUp") this.chosen = (this.chosen + length - 1) % length;
    else if (event.key === "Escape") this.items = [];
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
      // A command that is typed completely is sent.
      const item = this.items[this.chosen];
      if (event.key === "Enter" && this.composer.text.value.trim() === item.insert.trim()) return this.close(), false;
      event.preventDefault();
      this.take(this.chosen);
      return true;
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    this.draw();
    return true;
  }

  take(index) {
    const item = this.items[index];
    const { text } = this.composer;
    const at = text.selectionStart;
    text.setRangeText(item.insert, at - item.length, at, "end");
    this.close();
    text.dispatchEvent(new Event("input"));
    text.focus();
  }

  close() {
    this.number += 1;
    this.items = [];
    this.draw();
  }

  closeSoon() {
    setTimeout(() => this.close(), 150);
  }
}
