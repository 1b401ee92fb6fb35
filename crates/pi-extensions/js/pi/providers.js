// Providers, virtual models and MCP servers of extensions.

const native = require("native:session");
const handles = require("pi:handles");
const signals = require("pi:signals");

/** Configurations as they were registered, by provider: { binding, config }. */
const registered = new Map();

/** MCP servers by name: { name, config, extensionPath }. */

/** Fields of a provider that are plain data. */
function plainConfig(config) {
	const { name, baseUrl, apiKey, api, headers, authHeader, models } = config;
	const chat = models?.filter((model) => model.type === undefined || model.type === "chat");
	return { name, baseUrl, apiKey, api, headers, authHeader, models: chat };
}

/** Throws if a provider cannot be used. */
function check(name, config) {
	if (typeof config.streamSimple === "function" && config.api === undefined) {
		throw new Error(`Provider ${name}: "api" is required when registering streamSimple.`);
	}
	for (const model of config.models ?? []) {
		if (model.api === undefined && config.api === undefined) {
			throw new Error(`Provider ${name}, model ${model.id}: no "api" specified. Set it at model level or provider level.`);
		}
		if (model.baseUrl === undefined && config.baseUrl === undefined && typeof config.streamSimple !== "function") {
			throw new Error(`Provider ${name}, model ${model.id}: no "baseUrl" specified. Set it at model level or provider level.`);
		}
	}
}

/** Returns the configuration of a provider object of pi-ai. */
function configOf(provider) {
	const models = typeof provider.getModels === "function" ? [...provider.getModels()] : provider.models;
	const stream = provider.streamSimple ?? provider.stream;
	return {
		name: provider.name,
		baseUrl: provider.baseUrl,
		apiKey: provider.apiKey,
		api: provider.api ?? models?.[0]?.api,
		headers: provider.headers,
		oauth: provider.oauth ?? provider.auth?.oauth,
		models,
		streamSimple: typeof stream === "function" ? (...args) => stream.apply(provider, args) : undefined,
	};
}

exports.registerProvider = function registerProvider(binding, provider, config) {
	if (typeof provider === "object" && provider !== null) {
		return registerProvider(binding, String(provider.id), configOf(provider));
	}
	if (config === undefined || config === null) throw new Error("Provider config is required when registering by name");
	const name = String(provider);
	check(name, config);
	const streams = typeof config.streamSimple === "function";
	const number = handles.add({ binding, config });
	try {
		native.registerProvider(binding.id, number, name, plainConfig(config), streams, require("pi:logins").describe(config.oauth));
	} catch (error) {
		handles.release(number);
		throw error;
	}
	for (const [other, known] of registered) if (known.binding.isStale) registered.delete(other);
	registered.set(name, { binding, config });
};

exports.unregisterProvider = function unregisterProvider(binding, name) {
	registered.delete(String(name));
	native.unregisterProvider(binding.id, String(name));
};

/** Returns what an extension registered for a provider. */
exports.configOf = function configOf(name) {
	const found = registered.get(name);
	return found === undefined || found.binding.isStale ? undefined : found.config;
};

exports.registeredIds = function registeredIds() {
	return [...registered].filter(([, { binding }]) => !binding.isStale).map(([name]) => name);
};

/** Asks providers for their current models, and registers them. */
exports.refreshModels = async function refreshModels(options = {}) {
	const errors = new Map();
	for (const [name, { binding, config }] of [...registered]) {
		if (binding.isStale || typeof config.refreshModels !== "function") continue;
		try {
			const context = { signal: options?.signal, publish() {} };
			const models = await config.refreshModels(context);
			if (!binding.isStale) exports.registerProvider(binding, name, { ...config, models: [...models] });
		} catch (error) {
			errors.set(name, error);
		}
	}
	return { errors };
};

/** Returns the key and headers of a request to a model: `{ apiKey?, headers? }`. */
exports.credentials = async function credentials(binding, model) {
	return require("native:models").auth(binding.id, model);
};

/** Returns the credentials of a provider that an extension serves, as far as it has any. */
async function ownCredentials(binding, model) {
	try {
		return await exports.credentials(binding, model);
	} catch {
		// A provider of an extension may need no key; if it does, it fails with its own message.
		return {};
	}
}

/** Shortens an event to what Rust needs: the message so far is known there. */
function lean(event) {
	const { type, contentIndex, delta, reason } = event;
	if (type === "done" || type === "error") return { type, reason, message: event.message ?? event.error };
	if (type.endsWith("_delta")) return { type, contentIndex, delta };
	const block = event.toolCall ?? event.partial?.content?.[contentIndex];
	return { type, contentIndex, block };
}

/** Answers a request with `streamSimple`. */
exports.startStream = function startStream(id, number, token, model, context, options, hooks, push, fail) {
	const run = async () => {
		const { binding, config } = handles.get(number);
		const signal = signals.open(token);
		const { apiKey, headers } = await ownCredentials(binding, model);
		const all = { ...options, ...hooks, apiKey: options.apiKey ?? apiKey, signal };
		if (headers !== undefined) all.headers = { ...headers, ...options.headers };
		const stream = await config.streamSimple(model, context, all);
		let isEnded = false;
		for await (const event of stream) {
			push(lean(event));
			isEnded ||= event.type === "done" || event.type === "error";
		}
		if (!isEnded) fail("The stream of the provider ended without a done or error event.");
	};
	run()
		.catch((error) => fail(error instanceof Error ? error.message : String(error)))
		.finally(() => signals.close(token));
};

exports.registerMcpServer = function registerMcpServer(binding, name, config) {
	const problem = `Invalid MCP server registered by extension "${binding.path}": server "${name}"`;
	if (typeof config?.command !== "string" && typeof config?.url !== "string") {
		throw new Error(`${problem} needs either "command" (stdio) or "url" (streamable HTTP)`);
	}
	native.registerMcpServer(binding.id, String(name), config);
};

exports.unregisterMcpServer = function unregisterMcpServer(binding, name) {
	native.unregisterMcpServer(binding.id, String(name));
};

exports.getMcpServers = function getMcpServers(binding) {
	return native.getMcpServers(binding.id);
};

exports.registerVirtualModel = require("pi:virtual-models").register;
exports.unregisterVirtualModel = require("pi:virtual-models").unregister;
