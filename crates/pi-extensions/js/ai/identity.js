// Names and keys: environment variables, client identity, ids, credentials in memory.

const native = require("native:ai");

/** Returns the variables of a provider that are set. */
function findEnvKeys(provider) {
	const names = native.keyVariables(String(provider)).filter((name) => native.variable(name));
	return names.length === 0 ? undefined : names;
}

function getEnvApiKey(provider) {
	const name = findEnvKeys(provider)?.[0];
	return name === undefined ? undefined : native.variable(name);
}

/** Credentials by provider, kept in memory. */
class InMemoryCredentialStore {
	#credentials = new Map();
	#last = Promise.resolve();

	enqueue(work) {
		const result = this.#last.then(work);
		this.#last = result.catch(() => {});
		return result;
	}
	async read(provider) {
		return this.#credentials.get(provider);
	}
	async list() {
		return [...this.#credentials.entries()].map(([provider, credential]) => ({ provider, type: credential.type }));
	}
	modify(provider, change) {
		return this.enqueue(async () => {
			const next = await change(this.#credentials.get(provider));
			if (next !== undefined) this.#credentials.set(provider, next);
			return next ?? this.#credentials.get(provider);
		});
	}
	delete(provider) {
		return this.enqueue(async () => {
			this.#credentials.delete(provider);
		});
	}
}

let lastTime = 0;
let sequence = 0;

/** Returns an id that sorts by time. */
function uuidv7() {
	const now = Date.now();
	if (now > lastTime) {
		lastTime = now;
		sequence = Math.floor(Math.random() * 0x800);
	} else {
		sequence += 1;
		if (sequence > 0xfff) {
			lastTime += 1;
			sequence = 0;
		}
	}
	const hex = (value, length) => value.toString(16).padStart(length, "0");
	const time = hex(lastTime, 12);
	const random = (bits) => Math.floor(Math.random() * 2 ** bits);
	return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(sequence, 3)}-${hex(0x8000 | random(14), 4)}-${hex(random(48), 12)}`;
}

const PI_AI_VERSION = "1.5.0";
const PI_ATTRIBUTION = { name: "pi", url: "https://pi.dev", categories: ["cli-agent"] };
const formatUserAgent = () => `pi/${PI_AI_VERSION}`;

module.exports = {
	ANTHROPIC_API_KEY_ENV: "ANTHROPIC_API_KEY",
	ANTHROPIC_AUTH_TOKEN_ENV: "ANTHROPIC_AUTH_TOKEN",
	ANTHROPIC_FEDERATION_RULE_ID_ENV: "ANTHROPIC_FEDERATION_RULE_ID",
	ANTHROPIC_IDENTITY_TOKEN_FILE_ENV: "ANTHROPIC_IDENTITY_TOKEN_FILE",
	ANTHROPIC_OAUTH_TOKEN_ENV: "ANTHROPIC_OAUTH_TOKEN",
	ANTHROPIC_ORGANIZATION_ID_ENV: "ANTHROPIC_ORGANIZATION_ID",
	ANTHROPIC_SERVICE_ACCOUNT_ID_ENV: "ANTHROPIC_SERVICE_ACCOUNT_ID",
	ANTHROPIC_WORKSPACE_ID_ENV: "ANTHROPIC_WORKSPACE_ID",
	DEFAULT_MAX_AGENT_RETRY_DELAY_MS: 60000,
	AI_TELEMETRY_SCHEMA: { version: 1, spans: {} },
	PI_AI_VERSION, PI_ATTRIBUTION, InMemoryCredentialStore, findEnvKeys, getEnvApiKey, uuidv7, formatUserAgent,
	getClientVersion: () => PI_AI_VERSION,
	getIdentityHeaders: (identity) => ({ "User-Agent": identity?.userAgent ?? formatUserAgent() }),
};
