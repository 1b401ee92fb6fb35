// `ctx.modelRegistry`: the models of the session with their credentials.

const native = require("native:models");
const { assertActive } = require("pi:active");
const { missing } = require("pi:missing");

const streams = () => require("pi:streams");
const providers = () => require("pi:providers");

class ModelRegistry {
	#binding;

	constructor(binding) {
		this.#binding = binding;
	}

	get #id() {
		assertActive(this.#binding);
		return this.#binding.id;
	}

	/** Asks the providers of extensions for their current models. */
	async refresh(options) {
		assertActive(this.#binding);
		return providers().refreshModels(options);
	}
	getError() {
		return undefined;
	}
	getAll() {
		return native.all(this.#id);
	}
	getAvailable() {
		return native.available(this.#id);
	}
	find(provider, modelId) {
		return native.find(this.#id, String(provider), String(modelId));
	}
	findOfType(type, provider, modelId) {
		return type === "chat" ? this.find(provider, modelId) : undefined;
	}
	getModelOfType(type, provider, modelId) {
		return this.findOfType(type, provider, modelId);
	}
	getModelsOfType(type, provider) {
		if (type !== "chat") return [];
		return this.getAll().filter((model) => provider === undefined || model.provider === provider);
	}
	async getAvailableOfType(type, provider) {
		if (type !== "chat") return [];
		return this.getAvailable().filter((model) => provider === undefined || model.provider === provider);
	}
	hasConfiguredAuth(model) {
		return native.provider(this.#id, model.provider).isAvailable;
	}
	isUsingOAuth(model) {
		return native.provider(this.#id, model.provider).isOAuth === true;
	}
	async getApiKeyAndHeaders(model) {
		try {
			assertActive(this.#binding);
			const { apiKey, headers } = await providers().credentials(this.#binding, model);
			return { ok: true, apiKey, headers };
		} catch (error) {
			return { ok: false, error: error.message };
		}
	}
	/** Returns the key of a model, as in versions before 0.60. */
	async getApiKey(model) {
		return (await this.getApiKeyAndHeaders(model)).apiKey;
	}
	async getApiKeyForProvider(provider) {
		const model = this.getAll().find((one) => one.provider === provider) ?? { id: "", api: "", provider };
		return (await this.getApiKeyAndHeaders(model)).apiKey;
	}
	async getProviderAuth(provider) {
		const apiKey = await this.getApiKeyForProvider(provider);
		return apiKey === undefined ? undefined : { auth: { apiKey } };
	}
	getProviderAuthStatus(provider) {
		const { isAvailable, source, label } = native.provider(this.#id, String(provider));
		const status = { configured: isAvailable };
		if (source) status.source = source;
		if (label) status.label = label;
		return status;
	}
	getProviderDisplayName(provider) {
		return native.provider(this.#id, String(provider)).name;
	}
	getProvider(provider) {
		const { isKnown, name } = native.provider(this.#id, String(provider));
		if (!isKnown) return undefined;
		return { id: provider, name, getModels: () => this.getModelsOfType("chat", provider) };
	}
	stream(model, context, options) {
		assertActive(this.#binding);
		return streams().stream(this.#binding, model, context, options);
	}
	streamSimple(model, context, options) {
		return this.stream(model, context, options);
	}
	async complete(model, context, options) {
		assertActive(this.#binding);
		return streams().complete(this.#binding, model, context, options);
	}
	async completeSimple(model, context, options) {
		return this.complete(model, context, options);
	}
	registerProvider(provider, config) {
		assertActive(this.#binding);
		providers().registerProvider(this.#binding, provider, config);
	}
	unregisterProvider(name) {
		assertActive(this.#binding);
		providers().unregisterProvider(this.#binding, name);
	}
	registerVirtualModel(definition) {
		assertActive(this.#binding);
		providers().registerVirtualModel(this.#binding, definition);
	}
	unregisterVirtualModel(provider, id) {
		assertActive(this.#binding);
		providers().unregisterVirtualModel(this.#binding, provider, id);
	}
	getRegisteredProviderConfig(name) {
		return providers().configOf(name);
	}
	getRegisteredNativeProvider() {
		return undefined;
	}
	getRegisteredProviderIds() {
		return providers().registeredIds();
	}
}

ModelRegistry.prototype.classify = missing("ctx.modelRegistry.classify");
ModelRegistry.prototype.generateImages = missing("ctx.modelRegistry.generateImages");

const registries = new WeakMap();

/** Returns the registry of an extension's session. */
function registryOf(binding) {
	let registry = registries.get(binding);
	if (registry === undefined) {
		registry = new ModelRegistry(binding);
		registries.set(binding, registry);
	}
	return registry;
}

module.exports = { ModelRegistry, registryOf };
