// node:crypto.

const native = require("native:crypto");
const { Buffer } = require("node:buffer");
const { codeError, invalidArgType, outOfRange, validateString, validateFunction } = require("pi:node-errors");
const { missing } = require("pi:missing");
const stream = require("node:stream");

/** Returns bytes of a text, a view or a key. */
function bytesOf(value, name, encoding) {
	if (typeof value === "string") return Buffer.from(value, encoding === "buffer" ? "utf8" : encoding);
	if (value instanceof KeyObject) return value.export();
	if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
	if (value instanceof ArrayBuffer) return new Uint8Array(value);
	throw invalidArgType(name, "of type string or an instance of Buffer, TypedArray, or DataView", value);
}

function output(bytes, encoding) {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return encoding === undefined || encoding === "buffer" ? buffer : buffer.toString(encoding);
}

/** A transform that hashes what is written. */
class Digest extends stream.Transform {
	#state;
	#isDone = false;
	constructor(state, options) {
		super(options);
		this.#state = state;
	}
	get state() { return this.#state; }
	update(data, encoding) {
		if (this.#isDone) throw codeError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
		this.#state.update(bytesOf(data, "data", encoding));
		return this;
	}
	digest(encoding) {
		if (this.#isDone) throw codeError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
		this.#isDone = true;
		return output(this.#state.digest(), encoding);
	}
	_transform(chunk, encoding, callback) {
		this.update(chunk, encoding);
		callback();
	}
	_flush(callback) {
		this.push(this.digest());
		callback();
	}
}

class Hash extends Digest {
	constructor(algorithm, options) {
		super(typeof algorithm === "string" ? native.createHash(algorithm) : algorithm, options);
	}
	copy() { return new Hash(this.state.copy()); }
}

class Hmac extends Digest {
	constructor(algorithm, key, options) { super(native.createHmac(algorithm, bytesOf(key, "key")), options); }
}

/** Collects the text and transforms it at the end: all parts together are the result. */
class Cipher extends stream.Transform {
	#job;
	#chunks = [];
	#tag;
	#tagLength;
	#isDone = false;
	constructor(name, key, iv, isEncryption, options) {
		super(options);
		validateString(name, "cipher");
		this.#tagLength = options?.authTagLength ?? 16;
		this.#job = {
			name: name.toLowerCase().replace(/^id-aes(\d+)-gcm$/i, "aes-$1-gcm"), key: bytesOf(key, "key"),
			iv: iv === null || iv === undefined ? new Uint8Array(0) : bytesOf(iv, "iv"),
			additional: new Uint8Array(0), isEncryption, isPadded: true,
		};
		// Checks name, key and vector now.
		if (isEncryption) native.cipher({ ...this.#job, data: new Uint8Array(0) });
	}
	get #isGcm() { return this.#job.name.endsWith("gcm"); }
	update(data, inputEncoding, outputEncoding) {
		this.#chunks.push(Buffer.from(bytesOf(data, "data", inputEncoding)));
		return output(new Uint8Array(0), outputEncoding);
	}
	final(encoding) {
		if (this.#isDone) throw codeError(Error, "ERR_CRYPTO_INVALID_STATE", "Unsupported state");
		this.#isDone = true;
		const parts = [...this.#chunks];
		if (this.#isGcm && !this.#job.isEncryption) {
			if (this.#tag === undefined) throw new Error("Unsupported state or unable to authenticate data");
			parts.push(this.#tag);
		}
		const result = native.cipher({ ...this.#job, data: Buffer.concat(parts) });
		if (!this.#isGcm || !this.#job.isEncryption) return output(result, encoding);
		this.#tag = Buffer.from(result.slice(-16)).subarray(0, this.#tagLength);
		return output(result.slice(0, -16), encoding);
	}
	setAutoPadding(isPadded = true) {
		this.#job.isPadded = Boolean(isPadded);
		return this;
	}
	setAAD(bytes) {
		this.#job.additional = bytesOf(bytes, "buffer");
		return this;
	}
	getAuthTag() {
		if (!this.#job.isEncryption || this.#tag === undefined) throw codeError(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation getAuthTag");
		return this.#tag;
	}
	setAuthTag(tag, encoding) {
		this.#tag = Buffer.from(bytesOf(tag, "tag", encoding));
		return this;
	}
	_transform(chunk, encoding, callback) {
		this.update(chunk, encoding);
		callback();
	}
	_flush(callback) {
		try {
			this.push(this.final());
			callback();
		} catch (error) {
			callback(error);
		}
	}
}

class KeyObject {
	#bytes;
	constructor(type, bytes) {
		this.type = type;
		this.#bytes = Buffer.from(bytes);
	}
	get symmetricKeySize() { return this.#bytes.length; }
	export(options) {
		return options?.format === "jwk" ? { kty: "oct", k: this.#bytes.toString("base64url") } : Buffer.from(this.#bytes);
	}
	equals(other) { return this.#bytes.equals(other.export()); }
}

function randomBytes(size, callback) {
	if (typeof size !== "number") throw invalidArgType("size", "of type number", size);
	if (!(size >= 0 && size <= 2 ** 26)) throw outOfRange("size", ">= 0 && <= 67108864", size);
	const bytes = output(native.random(size));
	if (callback === undefined) return bytes;
	queueMicrotask(() => callback(null, bytes));
	return undefined;
}

function randomFillSync(target, offset = 0, size = target.byteLength - offset) {
	const view = target instanceof ArrayBuffer ? new Uint8Array(target) : new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
	view.set(native.random(size), offset);
	return target;
}

function randomInt(min, max, callback) {
	if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
	if (!Number.isSafeInteger(min)) throw invalidArgType("min", "a safe integer", min);
	if (!Number.isSafeInteger(max)) throw invalidArgType("max", "a safe integer", max);
	if (max <= min) throw outOfRange("max", `greater than the value of "min" (${min})`, max);
	const range = max - min;
	const limit = 2 ** 48 - (2 ** 48 % range);
	let value;
	do {
		value = output(native.random(6)).readUIntBE(0, 6);
	} while (value >= limit);
	const result = min + (value % range);
	if (callback === undefined) return result;
	queueMicrotask(() => callback(null, result));
	return undefined;
}

function randomUUID() {
	const bytes = native.random(16);
	bytes[6] = (bytes[6] & 0x0f) | 0x40;
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	const hex = output(bytes, "hex");
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function timingSafeEqual(a, b) {
	const [first, second] = [bytesOf(a, "buf1"), bytesOf(b, "buf2")];
	if (first.length !== second.length) throw codeError(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
	return native.isEqual(first, second);
}

function pbkdf2Job(password, salt, iterations, length, digest, isSync) {
	if (typeof digest !== "string") throw invalidArgType("digest", "of type string", digest);
	if (!(iterations >= 1)) throw outOfRange("iterations", ">= 1 && <= 2147483647", iterations);
	return native.pbkdf2({ password: bytesOf(password, "password"), salt: bytesOf(salt, "salt"), cost: iterations, length, digest, blockSize: 0, parallelization: 0, isSync });
}

function scryptJob(password, salt, length, options, isSync) {
	const cost = options?.N ?? options?.cost ?? 16384;
	const blockSize = options?.r ?? options?.blockSize ?? 8;
	const parallelization = options?.p ?? options?.parallelization ?? 1;
	const limit = options?.maxmem ?? 32 * 1024 * 1024;
	if (128 * cost * blockSize > limit) throw codeError(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded");
	return native.scrypt({ password: bytesOf(password, "password"), salt: bytesOf(salt, "salt"), length, cost, blockSize, parallelization, digest: "", isSync });
}

/** Calls back with the value of a promise. */
function settle(promise, callback) {
	validateFunction(callback, "callback");
	promise.then((bytes) => callback(null, output(bytes)), callback);
}

const HASHES = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "RSA-MD5", "RSA-SHA1", "RSA-SHA224", "RSA-SHA256", "RSA-SHA384", "RSA-SHA512"];
const CIPHERS = [128, 192, 256].flatMap((bits) => ["cbc", "ctr", "ecb", "gcm"].filter((mode) => mode !== "gcm" || bits !== 192).map((mode) => `aes-${bits}-${mode}`));

const absent = [
	"createSign", "createVerify", "sign", "verify", "createPrivateKey", "createPublicKey", "generateKeyPair", "generateKeyPairSync",
	"createDiffieHellman", "createECDH", "diffieHellman", "publicEncrypt", "privateDecrypt", "privateEncrypt", "publicDecrypt",
	"generatePrime", "generatePrimeSync", "checkPrime", "checkPrimeSync", "getCurves", "X509Certificate", "argon2", "argon2Sync",
];

module.exports = {
	Hash, Hmac, KeyObject, Cipheriv: Cipher, Decipheriv: Cipher,
	createHash: (algorithm, options) => {
		validateString(algorithm, "algorithm");
		return new Hash(algorithm, options);
	},
	createHmac: (algorithm, key, options) => new Hmac(algorithm, key, options),
	hash: (algorithm, data, encoding = "hex") => new Hash(algorithm).update(data).digest(encoding),
	createCipheriv: (name, key, iv, options) => new Cipher(name, key, iv, true, options),
	createDecipheriv: (name, key, iv, options) => new Cipher(name, key, iv, false, options),
	createSecretKey: (key, encoding) => new KeyObject("secret", bytesOf(key, "key", encoding)),
	randomBytes, randomInt, randomUUID, timingSafeEqual, randomFillSync,
	pseudoRandomBytes: randomBytes,
	randomFill(target, ...args) {
		const callback = args.pop();
		randomFillSync(target, ...args);
		queueMicrotask(() => callback(null, target));
	},
	pbkdf2Sync: (password, salt, iterations, length, digest) => output(pbkdf2Job(password, salt, iterations, length, digest, true)),
	pbkdf2: (password, salt, iterations, length, digest, callback) => settle(pbkdf2Job(password, salt, iterations, length, digest, false), callback),
	scryptSync: (password, salt, length, options) => output(scryptJob(password, salt, length, options, true)),
	scrypt: (password, salt, length, options, callback) => {
		if (typeof options === "function") [options, callback] = [undefined, options];
		settle(scryptJob(password, salt, length, options, false), callback);
	},
	hkdfSync: (digest, key, salt, info, length) => hkdf(digest, key, salt, info, length),
	hkdf: (digest, key, salt, info, length, callback) => queueMicrotask(() => callback(null, hkdf(digest, key, salt, info, length))),
	getHashes: () => [...HASHES],
	getCiphers: () => [...CIPHERS],
	getRandomValues: (view) => module.exports.webcrypto.getRandomValues(view),
	getFips: () => 0,
	constants: {},
	get webcrypto() { return require("pi:webcrypto").crypto; },
	get subtle() { return require("pi:webcrypto").crypto.subtle; },
};
for (const name of absent) module.exports[name] = missing(`crypto.${name}`);

/** Derives a key (RFC 5869). */
function hkdf(digest, key, salt, info, length) {
	const hmac = (secret, data) => new Hmac(digest, secret).update(data).digest();
	const saltBytes = bytesOf(salt, "salt");
	const size = new Hash(digest).digest().length;
	const extracted = hmac(saltBytes.length === 0 ? Buffer.alloc(size) : saltBytes, bytesOf(key, "ikm"));
	let block = Buffer.alloc(0);
	let result = Buffer.alloc(0);
	for (let count = 1; result.length < length; count++) {
		block = hmac(extracted, Buffer.concat([block, Buffer.from(bytesOf(info, "info")), Buffer.from([count])]));
		result = Buffer.concat([result, block]);
	}
	const bytes = result.subarray(0, length);
	return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}
