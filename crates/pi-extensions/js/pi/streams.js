// Requests to models through the session: events from Rust become those of pi-ai.
//
// Rust sends what is new in an event; the message so far is built here, so that the cost of an event
// does not grow with the message.

const { createAssistantMessageEventStream } = require("pi:event-stream");
const { withSignal } = require("pi:signals");

/** Streams that are open, by number: { stream, partial }. */
const open = new Map();
let next = 1;

/** Applies an event to the message so far and returns the event of pi-ai. */
function applied(entry, event) {
	const { type, contentIndex, delta, block } = event;
	if (type === "start") {
		entry.partial = event.message;
		return { type, partial: entry.partial };
	}
	if (type === "done") return { type, reason: event.reason, message: event.message };
	if (type === "error") return { type, reason: event.reason, error: event.message };
	const { partial } = entry;
	const own = partial.content[contentIndex];
	if (block !== undefined) {
		if (own === undefined) partial.content[contentIndex] = block;
		else Object.assign(own, block);
	}
	switch (type) {
		case "text_delta":
			own.text += delta;
			return { type, contentIndex, delta, partial };
		case "thinking_delta":
			own.thinking += delta;
			return { type, contentIndex, delta, partial };
		case "toolcall_delta":
			return { type, contentIndex, delta, partial };
		case "text_end":
			return { type, contentIndex, content: partial.content[contentIndex].text, partial };
		case "thinking_end":
			return { type, contentIndex, content: partial.content[contentIndex].thinking, partial };
		case "toolcall_end":
			return { type, contentIndex, toolCall: partial.content[contentIndex], partial };
		default:
			return { type, contentIndex, partial };
	}
}

/** Receives an event of Rust. */
exports.receive = function receive(number, event) {
	const entry = open.get(number);
	if (entry === undefined) return;
	const translated = applied(entry, event);
	if (translated.type === "done" || translated.type === "error") open.delete(number);
	entry.stream.push(translated);
};

/** Options of a request that Rust reads. */
function plainOptions(options = {}) {
	const { signal, onPayload, onResponse, onProviderStreamEvent, ...plain } = options ?? {};
	return plain;
}

/** Starts a request and returns its events. */
exports.stream = function stream(binding, model, context, options) {
	const events = createAssistantMessageEventStream();
	const number = next++;
	open.set(number, { stream: events, partial: undefined });
	const work = require("native:models").stream(binding.id, number, model, context, plainOptions(options));
	withSignal(work, options?.signal).then(undefined, (error) => {
		open.delete(number);
		const failed = {
			role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id,
			stopReason: "error", errorMessage: error.message, timestamp: Date.now(),
		};
		events.push({ type: "error", reason: "error", error: failed });
	});
	return events;
};

/** Makes a request and resolves with its message. */
exports.complete = function complete(binding, model, context, options) {
	const work = require("native:models").complete(binding.id, model, context, plainOptions(options));
	return withSignal(work, options?.signal);
};
