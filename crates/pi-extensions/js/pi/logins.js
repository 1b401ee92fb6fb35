// Logins of providers: `oauth` of a provider that an extension registered.

const handles = require("pi:handles");
const signals = require("pi:signals");

/** Returns what Rust has to know about a login; null if there is none. */
exports.describe = function describe(oauth) {
	if (typeof oauth?.login !== "function") return null;
	return { name: String(oauth.name ?? ""), hasApiKey: typeof oauth.getApiKey === "function" };
};

/** Returns the functions that `login` gets. */
function callbacksOf({ show, ask }, signal) {
	return {
		signal,
		onAuth(info) {
			show({ type: "auth", url: String(info.url) });
			if (info.instructions) show({ type: "info", message: String(info.instructions) });
		},
		onDeviceCode: (info) => show({ ...info, type: "deviceCode" }),
		onProgress: (message) => show({ type: "progress", message: String(message) }),
		onPrompt: (prompt) => ask({ type: prompt.isSecret ? "secret" : "text", message: String(prompt.message) }),
		onManualCodeInput: () => ask({ type: "manualCode", message: "Paste the code, or the address of the page that the browser shows" }),
		onSelect: (prompt) => ask({ type: "select", message: String(prompt.message), options: [...prompt.options] }),
	};
}

exports.login = async function login(number, token, callbacks) {
	const { oauth } = handles.get(number).config;
	const signal = signals.open(token);
	try {
		return await oauth.login(callbacksOf(callbacks, signal));
	} finally {
		signals.close(token);
	}
};

/** Renews tokens. A renewal that has begun is not aborted: the server may have replaced the token. */
exports.refreshLogin = async function refreshLogin(number, tokens) {
	const { oauth } = handles.get(number).config;
	const { signal } = new (require("pi:abort").AbortController)();
	return oauth.refreshToken(tokens, signal);
};

exports.loginApiKey = async function loginApiKey(number, tokens) {
	return handles.get(number).config.oauth.getApiKey(tokens);
};
