// Names and places of this program, as extensions ask for them.

const CONFIG_DIR_NAME = ".pi";

function getAgentDir() {
	const { homedir } = require("node:os");
	const own = process.env.PI_CODING_AGENT_DIR;
	if (!own) return `${homedir()}/${CONFIG_DIR_NAME}/agent`;
	return own === "~" || own.startsWith("~/") ? homedir() + own.slice(1) : own;
}

/** Returns the shell and its arguments for a command. */
function getShellConfig(shellPath) {
	const { existsSync } = require("node:fs");
	if (shellPath !== undefined) {
		if (existsSync(shellPath)) return { shell: shellPath, args: ["-c"] };
		throw new Error(`Custom shell path not found: ${shellPath}`);
	}
	return { shell: existsSync("/bin/bash") ? "/bin/bash" : "sh", args: ["-c"] };
}

/** Describes where something comes from that no file defines. */
function createSyntheticSourceInfo(path, options) {
	const { source, scope = "temporary", origin = "top-level", baseDir } = options;
	return baseDir === undefined ? { path, source, scope, origin } : { path, source, scope, origin, baseDir };
}

/** Creates a bus: `emit` calls the listeners of a channel at once. */
function createEventBus() {
	const channels = new Map();
	return {
		emit(channel, data) {
			for (const handler of [...(channels.get(channel) ?? [])]) {
				const report = (error) => console.error(`Event handler error (${channel}):`, error);
				try {
					const result = handler(data);
					if (typeof result?.then === "function") result.then(undefined, report);
				} catch (error) {
					report(error);
				}
			}
		},
		on(channel, handler) {
			const handlers = channels.get(channel) ?? new Set();
			// A wrapper, so that one function can listen twice.
			const own = (data) => handler(data);
			channels.set(channel, handlers.add(own));
			return () => handlers.delete(own);
		},
		clear() {
			channels.clear();
		},
	};
}

module.exports = {
	VERSION: "1.5.0", CONFIG_DIR_NAME, CURRENT_SESSION_VERSION: 3, VIRTUAL_MODEL_STATE_ENTRY: "pi.virtual-model-state", getAgentDir,
	getShellConfig, createSyntheticSourceInfo, createEventBus, defineTool: (tool) => tool,
};
