// node:path/posix.

module.exports = require("node:path").posix;
