// What is not in the log yet: the message in flight, tools at work, pauses. Deltas are appended as
// text; when the entry comes, its markup takes their place. A reconnect discards all of this, and
// the server sends the message in flight again from its beginning.

import { h } from "./dom.js";
import { duration } from "./format.js";

// Characters of the output of a running tool that are shown.
const TAIL = 6000;

const textOf = (result) =>
  (result?.content ?? [])
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");

export class Live {
  constructor(transcript) {
    this.transcript = transcript;
    this.message = null;
    this.blocks = new Map();
    this.running = new Map();
    this.waiting = new Set();
    this.busy = false;
    this.note = null;
    this.since = 0;
    this.command = null;
    this.place = h("div", { class: "live-message" });
    this.clock = h("span", { class: "elapsed" });
    this.words = h("span", { text: "Working" });
    this.working = h("p", { class: "working", hidden: true }, h("span", { class: "pulse", "aria-hidden": "true" }), this.words, this.clock);
    this.element = h("div", { class: "live" }, this.place, this.working);
    this.timer = setInterval(() => this.tick(), 1000);
  }

  stop() {
    clearInterval(this.timer);
  }

  // Discards what a new connection sends again.
  reset() {
    this.message = null;
    this.blocks.clear();
    this.running.clear();
    this.command = null;
    this.note = null;
    this.place.replaceChildren();
    this.update();
  }

  setBusy(busy) {
    if (busy && !this.busy) this.since = Date.now();
    this.busy = busy;
    if (!busy) {
      this.running.clear();
      this.note = null;
    }
    this.update();
  }

  // An entry of the log: an answer replaces the message in flight, a command its output.
  entry(record) {
    if (record.role === "assistant") this.discardMessage();
    if (record.role === "bashExecution") this.discardCommand();
    if (record.call) this.running.delete(record.call);
    this.update();
  }

  discardMessage() {
    this.message?.remove();
    this.message = null;
    this.blocks.clear();
  }

  discardCommand() {
    this.command?.remove();
    this.command = null;
  }

  event(event) {
    switch (event.type) {
      case "agent_start":
        this.setBusy(true);
        break;
      case "agent_settled":
        this.discardMessage();
        this.setBusy(false);
        break;
      case "message_start":
        if (event.message?.role === "assistant") this.start(event.message);
        break;
      case "message_update":
        this.part(event.assistantMessageEvent ?? {});
        break;
      case "tool_execution_start":
        this.running.set(event.toolCallId, { since: Date.now(), text: "" });
        this.update();
        break;
      case "tool_execution_update": {
        const tool = this.running.get(event.toolCallId) ?? { since: Date.now(), text: "" };
        tool.text = textOf(event.partialResult).slice(-TAIL);
        this.running.set(event.toolCallId, tool);
        this.update();
        break;
      }
      case "tool_execution_end":
        this.running.delete(event.toolCallId);
        this.update();
        break;
      case "bash_execution_update":
        this.output(event.delta ?? "");
        break;
      case "compaction_start":
        this.say("Compacting the context");
        break;
      case "auto_retry_start":
        this.say(`Retrying (${event.attempt} of ${event.maxAttempts}): ${event.errorMessage}`);
        break;
      case "compaction_end":
      case "auto_retry_end":
        this.say(null);
        break;
      default:
    }
  }

  say(note) {
    this.note = note;
    this.update();
  }

  start(message) {
    this.discardMessage();
    this.message = h(
      "article",
      { class: "assistant in-flight" },
      h("header", {}, h("h2", { text: "Assistant" }), h("span", { class: "meta", text: message.model ?? "" })),
    );
    this.place.append(this.message);
    this.update();
  }

  part(part) {
    if (!this.message) return;
    const index = part.contentIndex;
    let block = this.blocks.get(index);
    if (!block) {
      block = this.block(part);
      if (!block) return;
      this.blocks.set(index, block);
      this.message.append(block.element);
      this.update();
    }
    if (part.type.endsWith("_delta")) block.text.appendData(part.delta ?? "");
    else if (part.type === "text_end" || part.type === "thinking_end") {
      if (typeof part.content === "string") block.text.data = part.content;
    } else if (part.type === "toolcall_end" && part.toolCall) {
      block.text.data = JSON.stringify(part.toolCall.arguments ?? {}, null, 2);
      block.state.textContent = "";
    }
    this.changed?.();
  }

  block(part) {
    const text = document.createTextNode("");
    if (part.type.startsWith("text_")) return { text, element: h("div", { class: "prose flowing", dir: "auto" }, text) };
    if (part.type.startsWith("thinking_")) {
      const inside = h("div", { class: "prose flowing", dir: "auto" }, text);
      return { text, element: h("details", { class: "thinking" }, h("summary", { text: "Thinking" }), inside) };
    }
    if (!part.type.startsWith("toolcall_")) return null;
    const state = h("span", { class: "state", text: "writing" });
    const summary = h("summary", {}, h("span", { class: "name", text: part.toolName ?? "tool" }), h("span", { class: "what" }), state);
    const inside = h("pre", { class: "code" }, text);
    return { text, state, element: h("details", { class: "tool" }, summary, h("div", { class: "inside" }, inside)) };
  }

  // Output of a command of the user.
  output(delta) {
    if (!this.command) {
      this.command = h("article", { class: "bash" }, h("pre", { class: "output", tabindex: "0" }));
      this.place.append(this.command);
    }
    const pre = this.command.lastElementChild;
    pre.textContent = (pre.textContent + delta).slice(-TAIL);
    this.changed?.();
  }

  tick() {
    if (this.busy) this.update();
  }

  // Brings the states of open cards and the line below up to date.
  update() {
    const now = Date.now();
    for (const card of this.transcript.openCards()) {
      const tool = this.running.get(card.dataset.call);
      const state = card.querySelector(":scope > summary > .state");
      const text = this.stateOf(card.dataset.call, tool, now);
      if (state && state.textContent !== text) state.textContent = text;
      card.classList.toggle("running", Boolean(tool));
      this.partial(card, tool);
    }
    const flowing = this.blocks.size > 0 || this.running.size > 0;
    this.working.hidden = !this.busy || (flowing && !this.note);
    if (!this.working.hidden) {
      const words = this.note ?? (this.waiting.size > 0 ? "Waiting for your answer" : "Working");
      if (this.words.textContent !== words) this.words.textContent = words;
      this.clock.textContent = now - this.since >= 2000 ? duration(now - this.since) : "";
    }
    this.changed?.();
  }

  stateOf(call, tool, now) {
    if (this.waiting.has(call)) return "needs approval";
    if (tool) return now - tool.since >= 1500 ? `running ${duration(now - tool.since)}` : "running";
    if (!this.busy) return "no result";
    // After a reconnect it is not known which of the calls is at work.
    return this.running.size > 0 ? "waiting" : "running";
  }

  partial(card, tool) {
    if (!tool?.text) return;
    this.peek(card, tool.text);
    const inside = card.querySelector(":scope > .inside");
    let pre = inside?.querySelector(":scope > .partial");
    if (inside && !pre) {
      pre = h("pre", { class: "output partial", tabindex: "0" });
      inside.append(pre);
    }
    if (pre && pre.textContent !== tool.text) {
      pre.textContent = tool.text;
      pre.scrollTop = pre.scrollHeight;
    }
  }

  // The last line of the output, beside the call while it is closed.
  peek(card, text) {
    const summary = card.querySelector(":scope > summary");
    let line = summary?.querySelector(":scope > .peek");
    if (summary && !line) {
      line = h("span", { class: "peek" });
      summary.append(line);
    }
    const last = text.trimEnd().split("\n").pop().slice(-200);
    if (line && line.textContent !== last) line.textContent = last;
  }
}
