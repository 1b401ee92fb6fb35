// The composer: prompts with images, commands and files, what waits in the queue, and the model.
//
// A draft belongs to its session and survives a reload. It is removed when it was sent.

import { button, h, icon, iconButton, replace, toast } from "./dom.js";
import { Completions } from "./complete.js";
import { send } from "./link.js";
import { pickModel, pickThinking } from "./pickers.js";
import { stored } from "./theme.js";

const MOST_IMAGES = 8;
const MOST_BYTES = 10 * 1024 * 1024;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export class Composer {
  constructor(screen) {
    this.screen = screen;
    this.sessionId = screen.id;
    this.busy = false;
    this.sending = false;
    this.images = [];
    this.text = h("textarea", { class: "composer-text", rows: "1", "aria-label": "Message", placeholder: "Message", enterkeyhint: "enter", spellcheck: "true" });
    this.text.value = stored.read(this.draftKey()) ?? "";
    this.picker = h("input", { type: "file", accept: IMAGES.join(","), multiple: true, hidden: true, "aria-label": "Images" });
    this.previews = h("ul", { class: "previews", "aria-label": "Images of the message", hidden: true });
    this.queue = h("div", { class: "queue", hidden: true });
    this.model = h("button", { type: "button", class: "picker", hidden: true, onclick: () => pickModel(this.screen) });
    this.level = h("button", { type: "button", class: "picker", hidden: true, onclick: () => pickThinking(this.screen) });
    this.later = button("Queue", () => this.submit("followUp"), { title: "Send when the run has ended (Alt+Enter)" });
    this.stopButton = h("button", { type: "button", class: "icon-button filled stop", "aria-label": "Stop", title: "Stop (Escape)", onclick: () => this.screen.abort() }, icon("stop"));
    this.sendButton = h("button", { type: "button", class: "icon-button filled send", onclick: () => this.submit("steer") }, icon("send"));
    this.completions = new Completions(this);
    this.box = h(
      "div",
      { class: "composer-box" },
      this.previews,
      this.text,
      h(
        "div",
        { class: "composer-bar" },
        iconButton("image", "Add images", () => this.picker.click()),
        this.model,
        this.level,
        h("span", { class: "grow" }),
        this.later,
        this.stopButton,
        this.sendButton,
      ),
      this.picker,
    );
    this.element = h("div", { class: "composer" }, this.queue, this.completions.element, this.box);
    this.listen();
    this.draw();
    requestAnimationFrame(() => this.grow());
  }

  draftKey() {
    return `pi-draft ${this.sessionId}`;
  }

  listen() {
    this.text.addEventListener("input", () => {
      this.grow();
      this.saveSoon();
      this.draw();
      this.completions.update();
    });
    this.text.addEventListener("keydown", (event) => this.onKey(event));
    this.text.addEventListener("blur", () => this.completions.closeSoon());
    this.text.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])].filter((file) => IMAGES.includes(file.type));
      if (files.length === 0) return;
      event.preventDefault();
      this.addImages(files);
    });
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.addImages([...(event.dataTransfer?.files ?? [])]);
    });
    this.picker.addEventListener("change", () => {
      this.addImages([...this.picker.files]);
      this.picker.value = "";
    });
  }

  stop() {
    clearTimeout(this.saving);
    this.save();
    this.completions.close();
  }

  focus() {
    this.text.focus({ preventScroll: true });
  }

  saveSoon() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), 300);
  }

  save() {
    stored.write(this.draftKey(), this.text.value === "" ? null : this.text.value);
  }

  // Sets the text, after what is already there.
  setText(text) {
    const before = this.text.value.trim();
    this.text.value = before && text ? `${before}\n\n${text}` : text || before;
    this.grow();
    this.save();
    this.draw();
    this.focus();
    this.text.setSelectionRange(this.text.value.length, this.text.value.length);
  }

  // Keeps a text as the draft of the session that follows this one.
  keepForFork(text) {
    stored.write("pi-draft-of-fork", text);
  }

  grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, Math.round(innerHeight * 0.4))}px`;
  }

  onKey(event) {
    if (this.completions.onKey(event)) return;
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
    // On a touch screen Enter is a new line, and the button sends.
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.submit(event.altKey ? "followUp" : "steer");
  }

  // ---- State

  attached(state) {
    const fork = stored.read("pi-draft-of-fork");
    if (fork) {
      stored.write("pi-draft-of-fork", null);
      this.setText(fork);
    }
    this.setModel(state);
    this.setBusy(Boolean(state.isStreaming));
    this.completions.forget();
  }

  // A composer that appears takes the focus, unless the user is elsewhere.
  show(visible) {
    const appears = this.element.hidden && visible;
    this.element.hidden = !visible;
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.id === "main";
    if (appears && isFree && !matchMedia("(pointer: coarse)").matches) this.focus();
  }

  setBusy(busy) {
    this.busy = busy;
    if (!busy && this.queued === 0) this.queue.hidden = true;
    this.draw();
  }

  setModel(state) {
    const model = state.model;
    this.model.hidden = !model && this.screen.place !== "here";
    replace(this.model, h("span", { class: "unseen", text: "Model: " }), model ? model.name || model.id : "choose");
    this.model.title = model ? `${model.provider}/${model.id}` : "";
    this.level.hidden = !model?.reasoning;
    this.level.textContent = `Thinking: ${state.thinkingLevel ?? "off"}`;
  }

  setQueue({ steering = [], followUp = [] }) {
    this.queued = steering.length + followUp.length;
    const row = (kind) => (text) => h("li", {}, h("span", { class: "queue-kind", text: kind }), h("span", { class: "queue-text", text }));
    replace(
      this.queue,
      h("ul", { "aria-label": "Queued messages" }, steering.map(row("next")), followUp.map(row("later"))),
      button("Take back", () => this.takeBack(), { title: "Removes the queued messages and puts them into the composer" }),
    );
    this.queue.hidden = this.queued === 0;
  }

  async takeBack() {
    try {
      const { steering = [], followUp = [] } = await send({ type: "clear_queue", sessionId: this.sessionId });
      this.setText([...steering, ...followUp].join("\n\n"));
    } catch (error) {
      toast(error.message, "error");
    }
  }

  draw() {
    const empty = this.text.value.trim() === "" && this.images.length === 0;
    this.sendButton.disabled = empty || this.sending;
    this.sendButton.hidden = this.busy && empty;
    this.stopButton.hidden = !this.busy;
    this.later.hidden = !this.busy || empty;
    this.later.disabled = this.sending;
    const label = this.busy ? "Send now, into the run (Enter)" : "Send (Enter)";
    this.sendButton.setAttribute("aria-label", label);
    this.sendButton.title = label;
  }

  // ---- Images

  async addImages(files) {
    for (const file of files) {
      if (!IMAGES.includes(file.type)) {
        toast(`“${file.name}” is not an image that models can read (PNG, JPEG, GIF or WebP).`, "error");
        continue;
      }
      if (file.size > MOST_BYTES || this.images.length >= MOST_IMAGES) {
        toast(file.size > MOST_BYTES ? `“${file.name}” is larger than 10 MB.` : `A message has at most ${MOST_IMAGES} images.`, "error");
        continue;
      }
      const url = await readAsUrl(file);
      if (url) this.images.push({ name: file.name, url, mimeType: file.type, data: url.slice(url.indexOf(",") + 1) });
    }
    this.drawImages();
  }

  drawImages() {
    replace(
      this.previews,
      this.images.map((image, index) =>
        h(
          "li",
          {},
          h("img", { src: image.url, alt: image.name }),
          iconButton("close", `Remove ${image.name}`, () => {
            this.images.splice(index, 1);
            this.drawImages();
            this.focus();
          }, { class: "icon-button small" }),
        ),
      ),
    );
    this.previews.hidden = this.images.length === 0;
    this.draw();
  }

  // ---- Sending

  async submit(whenBusy) {
    const text = this.text.value.trim();
    if ((text === "" && this.images.length === 0) || this.sending) return;
    const images = this.images.map(({ data, mimeType }) => ({ type: "image", data, mimeType }));
    this.sending = true;
    this.draw();
    try {
      await send(this.command(text, images, whenBusy));
      // What was typed meanwhile stays.
      if (this.text.value.trim() === text) this.text.value = "";
      this.images = [];
      this.save();
      this.screen.toEnd();
    } catch (error) {
      toast(error.message, "error");
    } finally {
      this.sending = false;
      this.grow();
      this.drawImages();
      this.focus();
    }
  }

  command(text, images, whenBusy) {
    const { sessionId } = this;
    if (text.startsWith("!") && images.length === 0) {
      const hidden = text.startsWith("!!");
      const command = text.slice(hidden ? 2 : 1).trim();
      if (command) return { type: "bash", sessionId, command, ...(hidden ? { excludeFromContext: true } : {}) };
    }
    const prompt = { type: "prompt", sessionId, message: text, ...(images.length > 0 ? { images } : {}) };
    // The run may have begun or ended meanwhile; the server decides by what is true there.
    return { ...prompt, streamingBehavior: whenBusy };
  }
}

const readAsUrl = (file) =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => resolve(null));
    reader.readAsDataURL(file);
  });
