// Intl.Collator, Segmenter, ListFormat, RelativeTimeFormat and DisplayNames.

const native = require("native:locale");
const { resolve, supportedLocalesOf } = require("pi:intl-locale");
const { NumberFormat, pluralCategory } = require("pi:intl-number");

/** Compares two texts in the order of a dictionary. */
function compare(a, b, options = undefined) {
	const { sensitivity = "variant", numeric = false, caseFirst = "false", ignorePunctuation = false } = options ?? {};
	return native.compare(a.toWellFormed(), b.toWellFormed(), sensitivity, Boolean(numeric), caseFirst === "upper", Boolean(ignorePunctuation));
}

class Collator {
	#options;
	constructor(locales = undefined, options = {}) {
		const { tag, extension = "" } = resolve(locales);
		this.#options = {
			locale: tag, usage: options.usage ?? "sort", sensitivity: options.sensitivity ?? "variant", ignorePunctuation: Boolean(options.ignorePunctuation),
			collation: "default", numeric: options.numeric ?? /(^|-)kn(-true)?(-|$)/.test(extension), caseFirst: options.caseFirst ?? "false",
		};
		this.compare = (a, b) => compare(String(a), String(b), this.#options);
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	resolvedOptions() { return { ...this.#options }; }
}

class Segments {
	#text;
	#granularity;
	constructor(text, granularity) {
		this.#text = text;
		this.#granularity = granularity;
	}
	*[Symbol.iterator]() {
		let index = 0;
		const isWord = this.#granularity === "word";
		for (const segment of native.segments(this.#text.toWellFormed(), this.#granularity)) {
			const part = { segment, index, input: this.#text };
			if (isWord) part.isWordLike = /[\p{L}\p{N}]/u.test(segment);
			yield part;
			index += segment.length;
		}
	}
	containing(position = 0) {
		for (const part of this) if (position >= part.index && position < part.index + part.segment.length) return part;
		return undefined;
	}
}

class Segmenter {
	#options;
	constructor(locales = undefined, options = {}) {
		const { granularity = "grapheme" } = options ?? {};
		if (!["grapheme", "word", "sentence"].includes(granularity)) throw new RangeError(`Value ${granularity} out of range for Intl.Segmenter options property granularity`);
		this.#options = { locale: resolve(locales).tag, granularity };
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	segment(text) { return new Segments(String(text), this.#options.granularity); }
	resolvedOptions() { return { ...this.#options }; }
}

const LISTS = {
	en: { conjunction: ["and", ","], disjunction: ["or", ","] }, de: { conjunction: ["und", ""], disjunction: ["oder", ""] },
	fr: { conjunction: ["et", ""], disjunction: ["ou", ""] }, es: { conjunction: ["y", ""], disjunction: ["o", ""] },
	it: { conjunction: ["e", ""], disjunction: ["o", ""] }, pt: { conjunction: ["e", ""], disjunction: ["ou", ""] }, nl: { conjunction: ["en", ""], disjunction: ["of", ""] }, sv: { conjunction: ["och", ""], disjunction: ["eller", ""] },
};

class ListFormat {
	#options;
	#words;
	constructor(locales = undefined, options = {}) {
		const { tag } = resolve(locales);
		const { type = "conjunction", style = "long" } = options ?? {};
		this.#options = { locale: tag, type, style };
		const words = LISTS[tag.split("-")[0]];
		if (words === undefined) throw new RangeError(`lists of the locale "${tag}" are not available in this extension host`);
		this.#words = words;
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	resolvedOptions() { return { ...this.#options }; }
	format(list) { return this.formatToParts(list).map((part) => part.value).join(""); }
	formatToParts(list) {
		const items = [...list];
		for (const item of items) if (typeof item !== "string") throw new TypeError("Iterable yielded a non-String value");
		const { type, style, locale } = this.#options;
		let [word, comma] = type === "unit" ? ["", ","] : this.#words[type];
		if (locale !== "en" && locale !== "en-US" && locale.startsWith("en")) comma = type === "unit" ? "," : "";
		const isEnglish = locale.startsWith("en");
		if (type === "conjunction" && isEnglish && style === "short") word = "&";
		if (type === "conjunction" && isEnglish && style === "narrow") [word, comma] = ["", ","];
		const middle = type === "unit" && style === "narrow" ? " " : ", ";
		const last = type === "unit" || word === "" ? middle : `${items.length > 2 ? comma : ""} ${word} `;
		return items.flatMap((value, at) => {
			const part = { type: "element", value };
			if (at === 0) return [part];
			return [{ type: "literal", value: at === items.length - 1 ? last : middle }, part];
		});
	}
}

const UNITS = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
const SHORT = { second: "sec.", minute: "min.", hour: "hr.", day: "day", week: "wk.", month: "mo.", quarter: "qtr.", year: "yr." };
const NARROW = { second: "s", minute: "m", hour: "h", day: "d", week: "w", month: "mo", quarter: "q", year: "y" };
const WORDS = {
	second: { 0: "now" }, minute: { 0: "this minute" }, hour: { 0: "this hour" }, day: { "-1": "yesterday", 0: "today", 1: "tomorrow" },
};

class RelativeTimeFormat {
	#options;
	#number;
	constructor(locales = undefined, options = {}) {
		const { tag } = resolve(locales);
		if (!tag.startsWith("en")) throw new RangeError(`relative times of the locale "${tag}" are not available in this extension host`);
		this.#options = { locale: tag, style: options?.style ?? "long", numeric: options?.numeric ?? "always", numberingSystem: "latn" };
		this.#number = new NumberFormat(tag);
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	resolvedOptions() { return { ...this.#options }; }
	format(value, unit) { return this.formatToParts(value, unit).map((part) => part.value).join(""); }
	formatToParts(value, unit) {
		const number = Number(value);
		if (!Number.isFinite(number)) throw new RangeError("Invalid time value");
		const name = String(unit).replace(/s$/, "");
		if (!UNITS.includes(name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
		const { style, numeric } = this.#options;
		if (numeric === "auto") {
			const label = style === "long" ? name : (style === "short" ? SHORT : NARROW)[name];
			const word = WORDS[name]?.[number] ?? (["second", "minute", "hour", "day"].includes(name) ? undefined : { "-1": `last ${label}`, 0: `this ${label}`, 1: `next ${label}` }[number]);
			if (word !== undefined) return [{ type: "literal", value: word }];
		}
		const amount = Math.abs(number);
		let label;
		if (style === "long") label = pluralCategory("en", amount) === "one" ? name : `${name}s`;
		else if (style === "short") label = name === "day" && amount !== 1 ? "days" : name === "quarter" && amount !== 1 ? "qtrs." : SHORT[name];
		else label = NARROW[name];
		const digits = this.#number.formatToParts(amount).map((part) => ({ ...part, unit: name }));
		const space = style === "narrow" ? "" : " ";
		const isPast = number < 0 || Object.is(number, -0);
		if (isPast) return [...digits, { type: "literal", value: `${space}${label} ago` }];
		return [{ type: "literal", value: "in " }, ...digits, { type: "literal", value: `${space}${label}` }];
	}
}

const NAMES = {
	language: { en: "English", de: "German", fr: "French", es: "Spanish", it: "Italian", pt: "Portuguese", nl: "Dutch", sv: "Swedish", ja: "Japanese", zh: "Chinese", ko: "Korean", ru: "Russian", pl: "Polish", uk: "Ukrainian", tr: "Turkish", ar: "Arabic", hi: "Hindi", "en-US": "American English", "en-GB": "British English", "pt-BR": "Brazilian Portuguese" },
	region: { US: "United States", GB: "United Kingdom", DE: "Germany", FR: "France", ES: "Spain", IT: "Italy", JP: "Japan", CN: "China", IN: "India", BR: "Brazil", CA: "Canada", AU: "Australia", AT: "Austria", CH: "Switzerland", NL: "Netherlands", SE: "Sweden" },
	currency: { USD: "US Dollar", EUR: "Euro", GBP: "British Pound", JPY: "Japanese Yen", CHF: "Swiss Franc", CNY: "Chinese Yuan", INR: "Indian Rupee", CAD: "Canadian Dollar", AUD: "Australian Dollar" },
};

class DisplayNames {
	#options;
	constructor(locales, options) {
		const { tag } = resolve(locales);
		if (options?.type === undefined) throw new TypeError('Required option "type" must not be undefined');
		if (!tag.startsWith("en")) throw new RangeError(`display names of the locale "${tag}" are not available in this extension host`);
		this.#options = { locale: tag, style: options.style ?? "long", type: options.type, fallback: options.fallback ?? "code" };
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	of(code) {
		const { type, fallback } = this.#options;
		return NAMES[type]?.[code] ?? (fallback === "code" ? String(code) : undefined);
	}
	resolvedOptions() { return { ...this.#options }; }
}

module.exports = { compare, Collator, Segmenter, ListFormat, RelativeTimeFormat, DisplayNames };
