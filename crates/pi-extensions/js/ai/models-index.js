// `@earendil-works/pi-ai/models`.

const { exportLazily } = require("pi:loader");
const { missing } = require("pi:missing");

exportLazily(exports, "pi:ai/models", [
	"ModelsError", "calculateCost", "clampThinkingLevel", "getModelType", "getSupportedThinkingLevels", "hasApi", "isModelType",
	"modelsAreEqual",
]);
exportLazily(exports, "pi:ai/identity", ["AI_TELEMETRY_SCHEMA"]);
for (const name of ["createModels", "createProvider"]) exports[name] = missing(`pi-ai/models.${name}`);
