// The global `crypto`: random values and the part of SubtleCrypto that needs no public keys.

const native = require("native:crypto");
const node = require("node:crypto");
const { bytesOf } = require("pi:text");

const HASHES = { "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };

function unsupported(text) {
	return new DOMException(text, "NotSupportedError");
}

function nameOf(algorithm) {
	return String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
}

function hashOf(algorithm) {
	const name = nameOf(algorithm);
	const hash = HASHES[name];
	if (hash === undefined) throw unsupported("Unrecognized algorithm name");
	return hash;
}

function bufferOf(bytes) {
	return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

class CryptoKey {
	#bytes;
	constructor(algorithm, bytes, extractable, usages) {
		this.type = "secret";
		this.algorithm = algorithm;
		this.extractable = Boolean(extractable);
		this.usages = [...usages];
		this.#bytes = bytes;
	}
	static bytes(key, usage) {
		if (usage !== undefined && !key.usages.includes(usage)) throw new DOMException(`Unable to use this key to ${usage}`, "InvalidAccessError");
		return key.#bytes;
	}
}
const keyBytes = CryptoKey.bytes;
delete CryptoKey.bytes;

function keyAlgorithm(algorithm, bytes) {
	const name = nameOf(algorithm);
	if (name === "HMAC") return { name, hash: { name: nameOf(algorithm.hash) }, length: bytes.length * 8 };
	if (/^AES-(GCM|CBC|CTR)$/.test(name)) return { name, length: bytes.length * 8 };
	if (name === "PBKDF2" || name === "HKDF") return { name };
	throw unsupported(`${name} is not available in this extension host`);
}

/** Encrypts or decrypts with a key of AES. */
function transform(algorithm, key, data, isEncryption) {
	const mode = nameOf(algorithm).slice(4).toLowerCase();
	const secret = keyBytes(key, isEncryption ? "encrypt" : "decrypt");
	const job = {
		name: `aes-${secret.length * 8}-${mode}`, key: secret, iv: bytesOf(algorithm.iv ?? algorithm.counter), data: bytesOf(data),
		additional: algorithm.additionalData === undefined ? new Uint8Array(0) : bytesOf(algorithm.additionalData), isEncryption, isPadded: true,
	};
	try {
		return bufferOf(native.cipher(job));
	} catch (error) {
		throw new DOMException("The operation failed for an operation-specific reason", { name: "OperationError", cause: error });
	}
}

class SubtleCrypto {
	async digest(algorithm, data) {
		const hash = native.createHash(hashOf(algorithm));
		hash.update(bytesOf(data));
		return bufferOf(hash.digest());
	}
	async importKey(format, data, algorithm, extractable, usages) {
		let bytes;
		if (format === "raw") bytes = bytesOf(data).slice();
		else if (format === "jwk" && data?.kty === "oct") bytes = new Uint8Array(Buffer.from(data.k, "base64url"));
		else throw unsupported(`keys in the format ${format} are not available in this extension host`);
		return new CryptoKey(keyAlgorithm(algorithm, bytes), bytes, extractable, usages);
	}
	async exportKey(format, key) {
		if (!key.extractable) throw new DOMException("key is not extractable", "InvalidAccessException");
		const bytes = keyBytes(key);
		if (format === "raw") return bufferOf(bytes);
		if (format === "jwk") return { kty: "oct", k: Buffer.from(bytes).toString("base64url"), ext: true, key_ops: [...key.usages] };
		throw unsupported(`keys in the format ${format} are not available in this extension host`);
	}
	async generateKey(algorithm, extractable, usages) {
		const sizes = { "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };
		const bits = algorithm.length ?? (nameOf(algorithm) === "HMAC" ? sizes[nameOf(algorithm.hash)] : undefined);
		if (bits === undefined) throw unsupported(`${nameOf(algorithm)} is not available in this extension host`);
		const bytes = native.random(bits / 8);
		return new CryptoKey(keyAlgorithm(algorithm, bytes), bytes, extractable, usages);
	}
	async sign(algorithm, key, data) {
		if (nameOf(algorithm) !== "HMAC") throw unsupported(`signing with ${nameOf(algorithm)} is not available in this extension host`);
		const hmac = native.createHmac(hashOf(key.algorithm.hash), keyBytes(key, "sign"));
		hmac.update(bytesOf(data));
		return bufferOf(hmac.digest());
	}
	async verify(algorithm, key, signature, data) {
		if (nameOf(algorithm) !== "HMAC") throw unsupported(`verifying with ${nameOf(algorithm)} is not available in this extension host`);
		const hmac = native.createHmac(hashOf(key.algorithm.hash), keyBytes(key, "verify"));
		hmac.update(bytesOf(data));
		return native.isEqual(hmac.digest(), bytesOf(signature));
	}
	async encrypt(algorithm, key, data) { return transform(algorithm, key, data, true); }
	async decrypt(algorithm, key, data) { return transform(algorithm, key, data, false); }
	async deriveBits(algorithm, key, length) {
		const secret = keyBytes(key);
		const salt = bytesOf(algorithm.salt);
		if (nameOf(algorithm) === "HKDF") return node.hkdfSync(hashOf(algorithm.hash), secret, salt, bytesOf(algorithm.info), length / 8);
		if (nameOf(algorithm) !== "PBKDF2") throw unsupported(`${nameOf(algorithm)} is not available in this extension host`);
		const job = { password: secret, salt, cost: algorithm.iterations, length: length / 8, digest: hashOf(algorithm.hash), blockSize: 0, parallelization: 0, isSync: false };
		return bufferOf(await native.pbkdf2(job));
	}
	async deriveKey(algorithm, key, derived, extractable, usages) {
		const bytes = new Uint8Array(await this.deriveBits(algorithm, key, derived.length ?? 512));
		return new CryptoKey(keyAlgorithm(derived, bytes), bytes, extractable, usages);
	}
	async wrapKey() { throw unsupported("subtle.wrapKey is not available in this extension host"); }
	async unwrapKey() { throw unsupported("subtle.unwrapKey is not available in this extension host"); }
}

class Crypto {
	#subtle = new SubtleCrypto();
	get subtle() { return this.#subtle; }
	getRandomValues(view) {
		if (!ArrayBuffer.isView(view) || view instanceof Float32Array || view instanceof Float64Array || view instanceof DataView) {
			throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
		}
		if (view.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
		new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(native.random(view.byteLength));
		return view;
	}
	randomUUID() { return node.randomUUID(); }
}
Object.defineProperty(Crypto.prototype, Symbol.toStringTag, { value: "Crypto", configurable: true });

module.exports = { crypto: new Crypto(), Crypto, SubtleCrypto, CryptoKey };
