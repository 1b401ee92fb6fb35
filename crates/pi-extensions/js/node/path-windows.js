// node:path/win32.

module.exports = require("node:path").win32;
