// `@earendil-works/pi-ai/providers/all`: the catalog by its other names.

const models = require("pi:ai/models");
const { missing } = require("pi:missing");

exports.getBuiltinModel = models.getModel;
exports.getBuiltinModels = models.getModels;
exports.getBuiltinProviders = models.getProviders;
exports.getAllBuiltinModels = () => Object.fromEntries(models.getProviders().map((provider) => [provider, models.getModels(provider)]));
for (const name of [
	"builtinModels", "builtinProviders", "getBuiltinClassifierModel", "getBuiltinClassifierModels", "getBuiltinImageModel",
	"getBuiltinImageModels", "getBuiltinModelDataGeneratedAt", "radiusProvider",
]) {
	exports[name] = missing(`pi-ai/providers/all.${name}`);
}
