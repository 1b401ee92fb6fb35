// Locale tags: checks, canonical form, and the choice of the data.

const { LOCALES, NUMBERS_ONLY } = require("pi:intl-data");

const TAG = /^[a-z]{2,8}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?(?:-(?:[a-z0-9]{5,8}|\d[a-z0-9]{3}))*(?:-[a-wy-z0-9](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?$/i;

/** Returns the canonical form of a tag. */
function canonicalize(tag) {
	if (typeof tag !== "string" && !(tag !== null && typeof tag === "object")) throw new TypeError("Language ID should be string or object.");
	const text = tag instanceof Locale ? tag.toString() : String(tag);
	if (!TAG.test(text)) throw new RangeError(`Incorrect locale information provided`);
	let isExtension = false;
	return text.split("-").map((part, at) => {
		if (at > 0 && part.length === 1) isExtension = true;
		if (at === 0 || isExtension) return part.toLowerCase();
		if (part.length === 4 && !/\d/.test(part)) return part[0].toUpperCase() + part.slice(1).toLowerCase();
		return part.length <= 3 ? part.toUpperCase() : part.toLowerCase();
	}).join("-");
}

function getCanonicalLocales(locales) {
	if (locales === undefined) return [];
	const list = typeof locales === "string" || locales instanceof Locale ? [locales] : [...locales];
	return [...new Set(list.map(canonicalize))];
}

let cachedDefault;
/** Returns the default locale, which follows the environment. */
function defaultLocale() {
	const env = globalThis.process?.env ?? {};
	const text = env.LC_ALL || env.LC_MESSAGES || env.LANG || "";
	if (cachedDefault?.text === text) return cachedDefault.tag;
	const tag = text.replace(/[.@].*$/, "").replaceAll("_", "-");
	const isKnown = tag !== "" && TAG.test(tag) && !/^(C|POSIX)$/i.test(tag) && find(canonicalize(tag)) !== undefined;
	cachedDefault = { text, tag: isKnown ? canonicalize(tag) : "en-US" };
	return cachedDefault.tag;
}

/** Returns the key of the data for a tag: the tag itself, or its language. */
function find(tag) {
	const plain = tag.replace(/-u-.*$/, "").replace(/-[A-Z][a-z]{3}(?=-|$)/, "");
	if (plain in LOCALES) return plain;
	const [language] = plain.split("-");
	return language in LOCALES ? language : undefined;
}

/** Returns { tag, data } for what a caller asks; `needsNames` if month or day names are used. */
function resolve(locales, needsNames = false) {
	const tags = getCanonicalLocales(locales);
	const tag = tags[0] ?? defaultLocale();
	const key = find(tag);
	if (key === undefined || (needsNames && NUMBERS_ONLY.has(key))) {
		throw new RangeError(`the data of the locale "${tag}" is not available in this extension host`);
	}
	return { tag: tag.replace(/-u-.*$/, ""), data: LOCALES[key], extension: /-u-(.*)$/.exec(tag)?.[1] };
}

function supportedLocalesOf(locales) {
	return getCanonicalLocales(locales).filter((tag) => find(tag) !== undefined);
}

class Locale {
	#tag;
	constructor(tag, options = {}) {
		const base = canonicalize(tag);
		const [language, ...rest] = base.split("-");
		const script = options.script ?? rest.find((part) => /^[A-Z][a-z]{3}$/.test(part));
		const region = options.region ?? rest.find((part) => /^([A-Z]{2}|\d{3})$/.test(part));
		this.#tag = [options.language ?? language, script, region].filter(Boolean).join("-");
		Object.assign(this, { language: options.language ?? language, script, region, hourCycle: options.hourCycle, calendar: options.calendar, numberingSystem: options.numberingSystem });
	}
	get baseName() { return this.#tag; }
	toString() { return this.#tag; }
	maximize() { return this; }
	minimize() { return this; }
}

module.exports = { getCanonicalLocales, resolve, supportedLocalesOf, defaultLocale, Locale };
