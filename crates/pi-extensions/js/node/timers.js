// node:timers.

const timers = require("pi:timers");

for (const name of ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"]) exports[name] = timers[name];
Object.defineProperty(exports, "promises", { enumerable: true, get: () => require("node:timers/promises") });
