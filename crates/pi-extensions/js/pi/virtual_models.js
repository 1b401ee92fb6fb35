// Virtual models: entries of the model list that pass each request on to another model.

const handles = require("pi:handles");
const native = require("native:session");

/** Virtual models by provider: Map of id to { binding, model, state }. */
const providers = new Map();

/** Runs a request on the model that the router picks. */
async function* routed(binding, entry, context, options) {
	const { createContext } = require("pi:context");
	const request = {
		context,
		messages: context.messages,
		thinkingLevel: options.reasoning ?? "off",
		state: entry.state,
		signal: options.signal,
		sessionId: options.sessionId,
	};
	const route = await entry.model.route(request, createContext(binding));
	if (route?.state !== undefined) entry.state = route.state;
	const target = route?.model;
	if (target === undefined) throw new Error(`Virtual model ${entry.model.provider}/${entry.model.id}: route() returned no model`);
	const level = route.thinkingLevel ?? options.reasoning;
	const { apiKey, headers, ...rest } = options;
	yield* require("pi:streams").stream(binding, target, context, { ...rest, reasoning: level });
}

/** Registers all virtual models of a provider. */
function publish(binding, provider) {
	const models = [...(providers.get(provider)?.values() ?? [])];
	if (models.length === 0) {
		native.unregisterProvider(binding.id, provider);
		return;
	}
	const streamSimple = (model, context, options) => {
		const entry = providers.get(provider)?.get(model.id);
		if (entry === undefined) throw new Error(`Virtual model ${provider}/${model.id} is no longer registered`);
		return routed(entry.binding, entry, context, options);
	};
	const described = models.map(({ model }) => {
		const { id, name, reasoning = true, input = ["text"], contextWindow = 128000, maxTokens = 16384, cost } = model;
		return { id, name: name ?? id, api: "virtual", reasoning, input, contextWindow, maxTokens, cost };
	});
	const config = { name: provider, api: "virtual", models: described };
	native.registerProvider(binding.id, handles.add({ binding, config: { ...config, streamSimple } }), provider, config, true, null);
}

exports.register = function register(binding, model) {
	if (typeof model?.route !== "function") throw new Error("A virtual model must define route().");
	const provider = String(model.provider);
	if (!providers.has(provider)) providers.set(provider, new Map());
	const known = providers.get(provider);
	for (const [id, entry] of known) if (entry.binding.isStale) known.delete(id);
	known.set(String(model.id), { binding, model, state: undefined });
	publish(binding, provider);
};

exports.unregister = function unregister(binding, provider, id) {
	providers.get(provider)?.delete(id);
	publish(binding, String(provider));
};
