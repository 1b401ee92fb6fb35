// node:v8: what concerns the engine fails by name.

const { absent } = require("pi:absent");

module.exports = {
	...absent("v8", ["getHeapStatistics", "getHeapSpaceStatistics", "getHeapSnapshot", "writeHeapSnapshot", "setFlagsFromString", "takeCoverage", "stopCoverage", "serialize", "deserialize", "Serializer", "Deserializer"]),
	cachedDataVersionTag: () => 0,

};
