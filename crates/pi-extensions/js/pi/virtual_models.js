// Virtual models: entries of the model list that route each request to another model.

const handles = require("pi:handles");
const native = require("native:session");
const signals = require("pi:signals");

exports.register = function register(binding, model) {
	if (typeof model?.route !== "function") throw new Error("A virtual model must define route().");
	const { provider, id, name, thinkingLevels, contextWindow, maxTokens, input } = model;
	for (const [field, value] of Object.entries({ provider, id })) {
		if (typeof value !== "string" || value === "") throw new Error(`A virtual model must define "${field}".`);
	}
	const number = handles.add({ binding, model });
	try {
		const definition = { provider, id, name, thinkingLevels, contextWindow, maxTokens, input };
		native.registerVirtualModel(binding.id, number, definition);
	} catch (error) {
		handles.release(number);
		throw error;
	}
};

exports.unregister = function unregister(binding, provider, id) {
	native.unregisterVirtualModel(binding.id, String(provider), String(id));
};

/** Picks the model of a request: `{ provider, id, thinkingLevel?, state? }`, with a state that is new. */
exports.route = async function route(number, request, token) {
	const { binding, model } = handles.get(number);
	const { createContext } = require("pi:context");
	const signal = signals.open(token);
	try {
		const routed = await model.route({ ...request, signal }, createContext(binding));
		const target = routed?.model;
		if (target === undefined || target === null) {
			throw new Error(`route() of virtual model ${model.provider}/${model.id} returned no model`);
		}
		const { provider, id } = target;
		const state = routed.state === request.state ? undefined : routed.state;
		return { provider, id, thinkingLevel: routed.thinkingLevel, state };
	} finally {
		signals.close(token);
	}
};
