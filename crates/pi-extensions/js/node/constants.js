// node:constants: the constants of fs, os and signals in one object.

const { constants } = require("pi:fs-arguments");
const os = require("node:os");

module.exports = { ...constants, ...os.constants.errno, ...os.constants.signals, ...os.constants.priority };
