// The `ctx` object that every handler receives, new for each call.

const native = require("native:state");
const { assertActive, assertBound } = require("pi:active");
const signals = require("pi:signals");

/** Functions that act on the session, loaded when one is used. */
const control = () => require("native:control");

/**
 * Creates the context of a call. All members are its own and enumerable, and refuse their use once
 * the session is gone.
 */
function createContext(binding) {
	const { id } = binding;
	return {
		get ui() {
			assertActive(binding);
			return require("pi:ui").uiOf(binding);
		},
		get mode() {
			assertActive(binding);
			return native.mode(id);
		},
		get hasUI() {
			assertActive(binding);
			const mode = native.mode(id);
			return mode === "tui" || mode === "rpc";
		},
		get cwd() {
			assertActive(binding);
			return native.cwd(id);
		},
		get sessionManager() {
			assertActive(binding);
			return require("pi:session-manager").managerOf(binding);
		},
		get modelRegistry() {
			assertActive(binding);
			return require("pi:model-registry").registryOf(binding);
		},
		get model() {
			assertActive(binding);
			return native.model(id);
		},
		get scopedModels() {
			assertActive(binding);
			return native.scopedModels(id);
		},
		get thinkingLevel() {
			assertActive(binding);
			return native.thinkingLevel(id);
		},
		isIdle() {
			assertActive(binding);
			return native.isIdle(id);
		},
		isProjectTrusted() {
			assertActive(binding);
			return native.isProjectTrusted(id);
		},
		get signal() {
			assertActive(binding);
			return signals.ofRun(native.runToken(id));
		},
		abort() {
			assertActive(binding);
			control().abort(id);
			signals.ofRun(native.runToken(id));
		},
		hasPendingMessages() {
			assertActive(binding);
			return native.hasPendingMessages(id);
		},
		shutdown() {
			assertActive(binding);
			control().shutdown(id);
		},
		getContextUsage() {
			assertActive(binding);
			return native.contextUsage(id) ?? undefined;
		},
		compact(options = {}) {
			assertActive(binding);
			const { customInstructions, onComplete, onError } = options ?? {};
			control().compact(id, customInstructions).then(
				(result) => onComplete?.(result),
				(error) => onError?.(error),
			);
		},
		getSystemPrompt() {
			assertActive(binding);
			return native.systemPrompt(id);
		},
	};
}

/** Runs a function with the context of the session that took the place of another. */
async function inSuccessor(binding, result, withSession) {
	if (result.cancelled || typeof withSession !== "function") return result;
	await withSession(createReplacedContext(require("pi:api").successorOf(binding)));
	return result;
}

/** Creates the context of a command, which can also replace the session. */
function createCommandContext(binding) {
	const { id } = binding;
	const commands = {
		getSystemPromptOptions() {
			assertActive(binding);
			const options = native.systemPromptOptions(id);
			return { customPrompt: undefined, appendSystemPrompt: undefined, forceSystemPrompt: undefined, ...options };
		},
		async waitForIdle() {
			assertActive(binding);
			await control().waitForIdle(id);
		},
		async newSession(options = {}) {
			assertActive(binding);
			const { parentSession, setup, withSession } = options ?? {};
			const number = typeof setup === "function" ? require("pi:session-manager").addSetup(binding, setup) : undefined;
			return inSuccessor(binding, await control().newSession(id, parentSession, number), withSession);
		},
		async fork(entryId, options = {}) {
			assertActive(binding);
			const result = await control().fork(id, String(entryId), options?.position === "at");
			return inSuccessor(binding, result, options?.withSession);
		},
		async navigateTree(targetId, options = {}) {
			assertActive(binding);
			return control().navigateTree(id, String(targetId), options ?? {});
		},
		async switchSession(sessionPath, options = {}) {
			assertActive(binding);
			return inSuccessor(binding, await control().switchSession(id, String(sessionPath)), options?.withSession);
		},
		async reload() {
			assertActive(binding);
			await control().reload(id);
		},
	};
	return Object.defineProperties(createContext(binding), Object.getOwnPropertyDescriptors(commands));
}

/** Creates the context of `withSession`: that of a command, with messages. */
function createReplacedContext(binding) {
	const ctx = createCommandContext(binding);
	ctx.sendMessage = async (message, options) => {
		assertBound(binding);
		await require("native:actions").sendMessageAndWait(binding.id, message, options ?? {});
	};
	ctx.sendUserMessage = async (content, options) => {
		assertBound(binding);
		await require("native:actions").sendUserMessageAndWait(binding.id, content, options ?? {});
	};
	return ctx;
}

module.exports = { createContext, createCommandContext };
