// The models of the catalog, their prices and thinking levels.

const native = require("native:ai");

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Adds the type that the catalog leaves out. */
const complete = (model) => (model.type === undefined ? { ...model, type: "chat" } : model);

function getModel(provider, id) {
	const found = native.findModel(String(provider), String(id));
	return found === undefined ? undefined : complete(found);
}

const getModels = (provider) => native.models(String(provider)).map(complete);
const getProviders = () => native.providers();

/** Sets and returns the cost of a usage. */
function calculateCost(model, usage) {
	const { cost } = model;
	const price = (tokens, rate) => ((rate ?? 0) / 1000000) * (tokens ?? 0);
	const result = {
		input: price(usage.input, cost.input),
		output: price(usage.output, cost.output),
		cacheRead: price(usage.cacheRead, cost.cacheRead),
		cacheWrite: price(usage.cacheWrite, cost.cacheWrite),
	};
	result.total = result.input + result.output + result.cacheRead + result.cacheWrite;
	result.totalFromProvider = false;
	usage.cost = Object.assign(usage.cost ?? {}, result);
	return usage.cost;
}

function getSupportedThinkingLevels(model) {
	if (!model.reasoning) return ["off"];
	const map = model.thinkingLevelMap ?? {};
	return LEVELS.filter((level) => {
		if (map[level] === null) return false;
		return level === "xhigh" || level === "max" ? map[level] !== undefined : true;
	});
}

/** Returns the level, or the nearest one that the model has. */
function clampThinkingLevel(model, level) {
	const supported = getSupportedThinkingLevels(model);
	if (supported.includes(level)) return level;
	const wanted = LEVELS.indexOf(level);
	if (wanted < 0) return supported[0];
	for (let at = wanted + 1; at < LEVELS.length; at++) if (supported.includes(LEVELS[at])) return LEVELS[at];
	for (let at = wanted - 1; at >= 0; at--) if (supported.includes(LEVELS[at])) return LEVELS[at];
	return "off";
}

const getModelType = (model) => model.type ?? "chat";

class ModelsError extends Error {
	constructor(code, message, options) {
		super(message, options);
		this.name = "ModelsError";
		this.code = code;
	}
}

module.exports = {
	getModel, getModels, getProviders, calculateCost, getSupportedThinkingLevels, clampThinkingLevel, getModelType, ModelsError,
	modelsAreEqual: (left, right) => left !== undefined && right !== undefined && left.id === right.id && left.provider === right.provider,
	hasApi: (model, api) => model.api === api,
	isModelType: (model, type) => getModelType(model) === type,
};
