// Event streams: a queue with one reader, and a result.

/** Events that can be read with `for await`, and a result that an event completes. */
class EventStream {
	#queue = [];
	#waiting = [];
	#isDone = false;
	#isComplete;
	#extractResult;
	#result;
	#resolve;

	constructor(isComplete, extractResult) {
		this.#isComplete = isComplete;
		this.#extractResult = extractResult;
		this.#result = new Promise((resolve) => {
			this.#resolve = resolve;
		});
	}

	/** Adds an event. After the completing one, further events are ignored. */
	push(event) {
		if (this.#isDone) return;
		if (this.#isComplete(event)) {
			this.#isDone = true;
			this.#resolve(this.#extractResult(event));
		}
		const waiting = this.#waiting.shift();
		if (waiting !== undefined) waiting({ value: event, done: false });
		else this.#queue.push(event);
		if (this.#isDone) this.#release();
	}

	/** Ends the stream, with a result if one is given. */
	end(result) {
		this.#isDone = true;
		if (result !== undefined) this.#resolve(result);
		this.#release();
	}

	#release() {
		for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
	}

	async *[Symbol.asyncIterator]() {
		for (;;) {
			if (this.#queue.length > 0) {
				yield this.#queue.shift();
				continue;
			}
			if (this.#isDone) return;
			const { value, done } = await new Promise((resolve) => this.#waiting.push(resolve));
			if (done) return;
			yield value;
		}
	}

	/** Returns a promise for the result. */
	result() {
		return this.#result;
	}
}

/** The events of an answer; the result is the message. */
class AssistantMessageEventStream extends EventStream {
	constructor() {
		super(
			(event) => event.type === "done" || event.type === "error",
			(event) => (event.type === "done" ? event.message : event.error),
		);
	}
}

module.exports = {
	EventStream,
	AssistantMessageEventStream,
	createAssistantMessageEventStream: () => new AssistantMessageEventStream(),
};
