// Streams of events with a result: read with `for await`, or awaited as a whole.

/** A stream of events. `isComplete` tells the last event, from which `extractResult` takes the result. */
class EventStream {
	#isComplete;
	#extractResult;
	#queue = [];
	#waiting = [];
	#isDone = false;
	#resolveResult;
	#result = new Promise((resolve) => {
		this.#resolveResult = resolve;
	});

	constructor(isComplete, extractResult) {
		this.#isComplete = isComplete;
		this.#extractResult = extractResult;
	}

	/** Adds an event. Events after the last one are ignored. */
	push(event) {
		if (this.#isDone) return;
		if (this.#isComplete(event)) {
			this.#isDone = true;
			this.#resolveResult(this.#extractResult(event));
		}
		const waiting = this.#waiting.shift();
		if (waiting !== undefined) waiting({ value: event, done: false });
		else this.#queue.push(event);
		if (this.#isDone) this.#finish();
	}

	/** Ends the stream, with a result if no event had one. */
	end(result) {
		this.#isDone = true;
		if (result !== undefined) this.#resolveResult(result);
		this.#finish();
	}

	#finish() {
		for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
	}

	/** Resolves with the result. */
	result() {
		return this.#result;
	}

	async *[Symbol.asyncIterator]() {
		while (true) {
			if (this.#queue.length > 0) {
				yield this.#queue.shift();
			} else if (this.#isDone) {
				return;
			} else {
				const next = await new Promise((resolve) => this.#waiting.push(resolve));
				if (next.done) return;
				yield next.value;
			}
		}
	}
}

/** The events of an answer of a model. The result is its message. */
class AssistantMessageEventStream extends EventStream {
	constructor() {
		super(
			(event) => event.type === "done" || event.type === "error",
			(event) => (event.type === "done" ? event.message : event.error),
		);
	}
}

function createAssistantMessageEventStream() {
	return new AssistantMessageEventStream();
}

module.exports = { EventStream, AssistantMessageEventStream, createAssistantMessageEventStream };
