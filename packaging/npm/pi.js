#!/usr/bin/env node
// Starts the binary of this platform and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `pi-agent-rs-${process.platform}-${process.arch}`;

let binary;
try {
  binary = require.resolve(`${platform}/pi`);
} catch {
  console.error(`pi: there is no binary for ${process.platform} on ${process.arch}`);
  console.error("hint: install again without --no-optional, or build from source with cargo");
  process.exit(1);
}

const pi = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
pi.on("error", (error) => {
  console.error(`pi: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
// A terminal sends signals to both processes; other senders only to this one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => pi.kill(signal));
}
pi.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
