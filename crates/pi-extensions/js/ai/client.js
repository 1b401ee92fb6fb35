// Requests to models: streams and answers over the client of this program, and the registry of APIs.

const native = require("native:ai");
const { AssistantMessageEventStream } = require("pi:ai/events");
const { ToolCallArgumentsStream } = require("pi:ai/json");
const { normalizeContext } = require("pi:ai/transcript");

/** Options that the client takes; hooks and signals stay here. */
const PLAIN = [
	"apiKey", "env", "headers", "temperature", "samplingParams", "maxTokens", "cacheRetention", "sessionId", "metadata", "toolChoice",
	"reasoning", "thinkingBudgets", "timeoutMs", "maxRetries", "maxRetryDelayMs",
];

function plainOptions(options) {
	const result = {};
	for (const name of PLAIN) if (options?.[name] !== undefined) result[name] = options[name];
	return result;
}

/** Applies an event of the client to the message, and returns the event of pi. */
function apply(message, open, event) {
	const { type, contentIndex: at, delta, block } = event;
	if (type === "start") Object.assign(message, event.message);
	else if (type.endsWith("_start")) {
		message.content[at] = block;
		if (type === "toolcall_start") open.set(at, new ToolCallArgumentsStream());
	} else if (type === "text_delta") message.content[at].text += delta;
	else if (type === "thinking_delta") message.content[at].thinking += delta;
	else if (type === "toolcall_delta") message.content[at].arguments = open.get(at).append(delta);
	else if (type.endsWith("_end")) message.content[at] = block;
	if (type === "start") return { type, partial: message };
	if (type === "done") return { type, reason: event.reason, message: Object.assign(message, event.message) };
	if (type === "error") return { type, reason: event.reason, error: Object.assign(message, event.message) };
	const result = { type, contentIndex: at, partial: message };
	if (delta !== undefined) result.delta = delta;
	if (type === "text_end") result.content = block.text;
	if (type === "thinking_end") result.content = block.thinking;
	if (type === "toolcall_end") result.toolCall = block;
	return result;
}

/** Sends a request and returns the events of its answer. */
function request(model, context, options) {
	const stream = new AssistantMessageEventStream();
	const message = {
		role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, stopReason: "stop", timestamp: Date.now(),
		usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
	};
	const open = new Map();
	const fail = (error) => {
		const reason = options?.signal?.aborted ? "aborted" : "error";
		Object.assign(message, { stopReason: reason, errorMessage: error instanceof Error ? error.message : String(error) });
		stream.push({ type: "error", reason, error: message });
	};
	const run = async () => {
		const handle = native.start(model, normalizeContext(context), plainOptions(options));
		const abort = () => native.cancel(handle);
		options?.signal?.addEventListener?.("abort", abort, { once: true });
		if (options?.signal?.aborted) abort();
		try {
			for (;;) {
				const events = await native.next(handle);
				if (events.length === 0) return;
				for (const event of events) stream.push(apply(message, open, event));
			}
		} finally {
			options?.signal?.removeEventListener?.("abort", abort);
			native.close(handle);
		}
	};
	run().catch(fail);
	return stream;
}

const APIS = [
	"anthropic-messages", "openai-completions", "openai-responses", "openai-codex-responses", "azure-openai-responses",
	"google-generative-ai", "google-vertex", "mistral-conversations", "bedrock-converse-stream", "pi-messages",
];

const builtin = new Map(APIS.map((api) => [api, { api, stream: request, streamSimple: request }]));
const registered = new Map();

const getApiProvider = (api) => registered.get(api)?.provider ?? builtin.get(api);
const getApiProviders = () => [...new Map([...builtin, ...[...registered].map(([api, one]) => [api, one.provider])]).values()];

function registerApiProvider(provider, sourceId) {
	const { api, stream, streamSimple } = provider;
	registered.set(api, { provider: { api, stream, streamSimple }, sourceId });
}

function unregisterApiProviders(sourceId) {
	for (const [api, one] of registered) if (one.sourceId === sourceId) registered.delete(api);
}

function providerOf(model) {
	const provider = getApiProvider(model.api);
	if (provider === undefined) throw new Error(`No API provider registered for api: ${model.api}`);
	return provider;
}

const stream = (model, context, options) => providerOf(model).stream(model, context, options);
const streamSimple = (model, context, options) => providerOf(model).streamSimple(model, context, options);

/** Returns the functions of one API, as its module has them. */
const apiOf = (api) => () => {
	const { stream, streamSimple } = builtin.get(api);
	return { stream, streamSimple };
};

module.exports = {
	request, getApiProvider, getApiProviders, registerApiProvider, unregisterApiProviders, stream, streamSimple,
	complete: (...args) => stream(...args).result(),
	completeSimple: (...args) => streamSimple(...args).result(),
	registerBuiltInApiProviders: () => {},
	resetApiProviders: () => registered.clear(),
	anthropicMessagesApi: apiOf("anthropic-messages"),
	azureOpenAIResponsesApi: apiOf("azure-openai-responses"),
	bedrockConverseStreamApi: apiOf("bedrock-converse-stream"),
	googleGenerativeAIApi: apiOf("google-generative-ai"),
	googleVertexApi: apiOf("google-vertex"),
	mistralConversationsApi: apiOf("mistral-conversations"),
	openAICodexResponsesApi: apiOf("openai-codex-responses"),
	openAICompletionsApi: apiOf("openai-completions"),
	openAIResponsesApi: apiOf("openai-responses"),
	piMessagesApi: apiOf("pi-messages"),
	streamAnthropic: request, streamAzureOpenAIResponses: request, streamGoogle: request, streamGoogleVertex: request,
	streamMistral: request, streamOpenAICodexResponses: request, streamOpenAICompletions: request, streamOpenAIResponses: request,
	streamSimpleAnthropic: request, streamSimpleAzureOpenAIResponses: request, streamSimpleGoogle: request,
	streamSimpleGoogleVertex: request, streamSimpleMistral: request, streamSimpleOpenAICodexResponses: request,
	streamSimpleOpenAICompletions: request, streamSimpleOpenAIResponses: request,
};
