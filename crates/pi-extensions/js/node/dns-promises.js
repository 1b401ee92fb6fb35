// node:dns/promises.

module.exports = require("node:dns").promises;
