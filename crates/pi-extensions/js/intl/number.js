// Intl.NumberFormat and Intl.PluralRules.

const { SYMBOLS, DIGITS, CURRENCY_NAMES, UNITS, SHORT_PLURALS, NBSP } = require("pi:intl-data");
const { resolve, supportedLocalesOf } = require("pi:intl-locale");
const { decompose, roundDigits, roundFraction, parts } = require("pi:intl-decimal");

function digitOption(value, name, min, max, fallback) {
	if (value === undefined) return fallback;
	const number = Number(value);
	if (!(number >= min && number <= max)) throw new RangeError(`${name} value is out of range.`);
	return Math.floor(number);
}

const COMPACT = {
	en: { short: ["", "K", "M", "B", "T"], long: ["", " thousand", " million", " billion", " trillion"] },
	de: { short: ["", "", ` Mio.`, " Mrd.", " Bio."], long: ["", " Tausend", " Millionen", " Milliarden", " Billionen"] },
	fr: { short: ["", " k", " M", " Md", " Bn"], long: ["", " mille", " millions", " milliards", " billions"] },
	es: { short: ["", " mil", " M", " mil M", " B"], long: ["", " mil", " millones", " mil millones", " billones"] },
};

class NumberFormat {
	#data;
	#options;
	constructor(locales = undefined, options = {}) {
		const { tag, data } = resolve(locales);
		this.#data = data;
		const { style = "decimal", notation = "standard", currency, unit } = options ?? {};
		if (!["decimal", "percent", "currency", "unit"].includes(style)) throw new RangeError(`Value ${style} out of range for Intl.NumberFormat options property style`);
		if (style === "currency" && currency === undefined) throw new TypeError("Currency code is required with currency style.");
		if (currency !== undefined && !/^[a-z]{3}$/i.test(currency)) throw new RangeError(`Invalid currency code : ${currency}`);
		if (style === "unit" && unit === undefined) throw new TypeError("Unit is required with unit style");
		if (style === "unit" && !unit.split("-per-").every((one) => one in UNITS)) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${unit}'`);
		const code = currency?.toUpperCase();
		const isCompact = notation === "compact";
		const places = style === "currency" && notation === "standard" ? (DIGITS[code] ?? 2) : 0;
		const defaultMax = style === "percent" || isCompact ? places : style === "currency" ? places : 3;
		const minFraction = digitOption(options.minimumFractionDigits, "minimumFractionDigits", 0, 100, undefined);
		const maxFraction = digitOption(options.maximumFractionDigits, "maximumFractionDigits", 0, 100, undefined);
		const min = minFraction ?? Math.min(places, maxFraction ?? places);
		const max = maxFraction ?? Math.max(defaultMax, min);
		if (min > max) throw new RangeError("maximumFractionDigits value is out of range.");
		const usesSignificant = options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined;
		this.#options = {
			locale: tag, numberingSystem: "latn", style,
			...(style === "currency" ? { currency: code, currencyDisplay: options.currencyDisplay ?? "symbol", currencySign: options.currencySign ?? "standard" } : {}),
			...(style === "unit" ? { unit, unitDisplay: options.unitDisplay ?? "short" } : {}),
			minimumIntegerDigits: digitOption(options.minimumIntegerDigits, "minimumIntegerDigits", 1, 21, 1),
			...(usesSignificant
				? { minimumSignificantDigits: digitOption(options.minimumSignificantDigits, "minimumSignificantDigits", 1, 21, 1), maximumSignificantDigits: digitOption(options.maximumSignificantDigits, "maximumSignificantDigits", 1, 21, 21) }
				: { minimumFractionDigits: min, maximumFractionDigits: max }),
			useGrouping: options.useGrouping ?? (isCompact ? "min2" : "auto"), notation,
			...(isCompact ? { compactDisplay: options.compactDisplay ?? "short" } : {}),
			signDisplay: options.signDisplay ?? "auto", roundingIncrement: 1, roundingMode: options.roundingMode ?? "halfExpand", roundingPriority: "auto", trailingZeroDisplay: options.trailingZeroDisplay ?? "auto",
		};
		// Compact numbers keep two digits, unless the caller says otherwise.
		this.#options.isAuto = isCompact && !usesSignificant && minFraction === undefined && maxFraction === undefined;
		this.format = this.format.bind(this);
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	resolvedOptions() {
		const { isAuto, ...options } = this.#options;
		return options;
	}
	format(value) { return this.formatToParts(value).map((part) => part.value).join(""); }
	formatRange(start, end) {
		const [a, b] = [this.format(start), this.format(end)];
		return a === b ? `~${a}` : `${a}–${b}`;
	}
	formatToParts(input) {
		const value = typeof input === "bigint" ? input : typeof input === "string" && /^-?\d+$/.test(input.trim()) && input.length > 15 ? BigInt(input) : Number(input);
		if (Number.isNaN(value)) return [{ type: "nan", value: "NaN" }];
		const body = this.#body(value);
		const isNegative = value < 0 || Object.is(value, -0);
		return this.#decorate(body.list, isNegative, body.isZero, body);
	}

	/** Returns the parts of the absolute value. */
	#body(value) {
		if (value === Infinity || value === -Infinity) return { list: [{ type: "infinity", value: "∞" }], isZero: false };
		let decimal = decompose(value);
		if (this.#options.style === "percent") decimal = { ...decimal, exponent: decimal.digits === "" ? 0 : decimal.exponent + 2 };
		let suffix = "";
		const { notation } = this.#options;
		if (notation === "compact") [decimal, suffix] = this.#compact(decimal);
		else if (notation === "scientific" || notation === "engineering") {
			const power = decimal.digits === "" ? 0 : decimal.exponent - 1;
			const step = notation === "scientific" ? 1 : 3;
			let shown = Math.floor(power / step) * step;
			const scaled = (by) => this.#round({ ...decimal, exponent: decimal.digits === "" ? 0 : decimal.exponent - by });
			// Rounding up may add a digit.
			if (scaled(shown).exponent > step) shown += step;
			decimal = scaled(shown);
			suffix = `E${shown}`;
		} else decimal = this.#round(decimal);
		const list = this.#digits(decimal);
		if (suffix !== "") list.push({ type: notation === "compact" ? "compact" : "exponentInteger", value: suffix });
		return { list, isZero: decimal.digits === "", isOne: decimal.digits === "1" && decimal.exponent === 1 && suffix === "" };
	}

	#round(decimal) {
		const { maximumSignificantDigits, maximumFractionDigits, roundingMode } = this.#options;
		if (maximumSignificantDigits !== undefined) return roundDigits(decimal, maximumSignificantDigits, roundingMode);
		return roundFraction(decimal, maximumFractionDigits, roundingMode);
	}

	#compact(decimal) {
		const language = this.#options.locale.split("-")[0];
		const table = COMPACT[language];
		if (table === undefined) throw new RangeError(`compact numbers of the locale "${this.#options.locale}" are not available in this extension host`);
		const names = table[this.#options.compactDisplay];
		for (let at = Math.min(names.length - 1, Math.max(0, Math.floor((decimal.exponent - 1) / 3))); ; at++) {
			// Thousands without a name are written out.
			const step = names[at] === "" ? 0 : at * 3;
			const scaled = { ...decimal, exponent: decimal.digits === "" ? 0 : decimal.exponent - step };
			const rounded = this.#options.isAuto ? (scaled.exponent >= 2 ? roundFraction(scaled, 0, this.#options.roundingMode) : roundDigits(scaled, 2, this.#options.roundingMode)) : this.#round(scaled);
			if (rounded.exponent > 3 && at < names.length - 1 && step > 0) continue;
			if (rounded.exponent > 3 && at === 0 && names[1] !== "") continue;
			return [rounded, step === 0 ? "" : names[at].replace(/^ /, language === "en" ? " " : NBSP)];
		}
	}

	#digits(decimal) {
		const options = this.#options;
		let { whole, fraction } = parts(decimal);
		if (options.minimumSignificantDigits !== undefined) {
			const shown = (whole === "0" ? "" : whole).length + (whole === "0" ? fraction.replace(/^0+/, "") : fraction).length;
			if (shown < options.minimumSignificantDigits) fraction += "0".repeat(Math.max(0, options.minimumSignificantDigits - Math.max(shown, 1)));
		} else if (!options.isAuto) fraction = fraction.padEnd(options.minimumFractionDigits, "0");
		if (options.trailingZeroDisplay === "stripIfInteger" && /^0*$/.test(fraction)) fraction = "";
		whole = whole.padStart(options.minimumIntegerDigits, "0");
		const list = [];
		for (const [at, group] of this.#group(whole).entries()) {
			if (at > 0) list.push({ type: "group", value: this.#data.group });
			list.push({ type: "integer", value: group });
		}
		if (fraction !== "") list.push({ type: "decimal", value: this.#data.decimal }, { type: "fraction", value: fraction });
		return list;
	}

	#group(whole) {
		const { useGrouping } = this.#options;
		if (useGrouping === false || useGrouping === "false") return [whole];
		const minimum = useGrouping === "min2" ? 2 : useGrouping === "always" || useGrouping === true ? 1 : (this.#data.minGroup ?? 1);
		const [first, next = first] = this.#data.groups ?? [3];
		if (whole.length < first + minimum) return [whole];
		const groups = [whole.slice(-first)];
		let rest = whole.slice(0, -first);
		while (rest !== "") {
			groups.unshift(rest.slice(-next));
			rest = rest.slice(0, -next);
		}
		return groups;
	}

	#sign(isNegative, isZero) {
		switch (this.#options.signDisplay) {
			case "never": return "";
			case "always": return isNegative ? "-" : "+";
			case "exceptZero": return isZero ? "" : isNegative ? "-" : "+";
			case "negative": return isNegative && !isZero ? "-" : "";
			default: return isNegative ? "-" : "";
		}
	}

	#decorate(list, isNegative, isZero, { isOne }) {
		const { style, currency, currencyDisplay, currencySign, unit, unitDisplay } = this.#options;
		const sign = this.#sign(isNegative, isZero);
		const before = sign === "" ? [] : [sign === "-" ? { type: "minusSign", value: this.#data.minus ?? "-" } : { type: "plusSign", value: sign }];
		if (style === "percent") {
			const text = this.#data.percent;
			const space = text.length > 1 ? [{ type: "literal", value: text.slice(0, -1) }] : [];
			return [...before, ...list, ...space, { type: "percentSign", value: "%" }];
		}
		if (style === "currency") {
			if (currencyDisplay === "name") {
				const names = CURRENCY_NAMES[currency] ?? [currency, currency];
				return [...before, ...list, { type: "literal", value: " " }, { type: "currency", value: names[isOne ? 0 : 1] }];
			}
			let symbol = currency;
			if (currencyDisplay === "narrowSymbol") symbol = (SYMBOLS[currency] ?? currency).replace(/^[A-Z]+(?=[^A-Z])/, "");
			else if (currencyDisplay !== "code") symbol = this.#data.currencySymbols?.[currency] ?? SYMBOLS[currency] ?? currency;
			const sum = this.#withSymbol(list, symbol);
			if (currencySign === "accounting" && isNegative && sign === "-") return [{ type: "literal", value: "(" }, ...sum, { type: "literal", value: ")" }];
			return [...before, ...sum];
		}
		if (style === "unit") {
			const [main, per] = unit.split("-per-");
			const text = unitText(main, unitDisplay, isOne) + (per === undefined ? "" : unitDisplay === "long" ? ` per ${per}` : `/${UNITS[per][0]}`);
			const space = text.startsWith(" ") ? [{ type: "literal", value: " " }] : [];
			return [...before, ...list, ...space, { type: "unit", value: text.trimStart() }];
		}
		return [...before, ...list];
	}

	#withSymbol(list, symbol) {
		const part = { type: "currency", value: symbol };
		const space = { type: "literal", value: NBSP };
		if (this.#data.currency === "suffix") return [...list, space, part];
		const needsSpace = this.#data.currency === "prefixSpace" || /[A-Za-z]$/.test(symbol);
		return needsSpace ? [part, space, ...list] : [part, ...list];
	}
}

function unitText(name, display, isOne) {
	const [narrow, short, one, many] = UNITS[name];
	if (display === "narrow") return narrow;
	if (display === "long") return isOne ? one : many;
	return isOne ? short : (SHORT_PLURALS[name] ?? short);
}

/** Returns the plural category of a value in a language. */
function pluralCategory(language, value, isOrdinal) {
	const number = Math.abs(Number(value));
	const isWhole = Number.isInteger(number);
	if (isOrdinal) {
		if (language !== "en") return "other";
		const [ten, hundred] = [number % 10, number % 100];
		if (ten === 1 && hundred !== 11) return "one";
		if (ten === 2 && hundred !== 12) return "two";
		return ten === 3 && hundred !== 13 ? "few" : "other";
	}
	switch (language) {
		case "ja": case "zh": case "ko": return "other";
		case "fr": case "pt": return number < 2 ? "one" : isWhole && number !== 0 && number % 1e6 === 0 ? "many" : "other";
		case "ru": case "uk": case "pl": case "cs": {
			if (!isWhole) return language === "cs" ? "many" : "other";
			if (language === "cs") return number === 1 ? "one" : number >= 2 && number <= 4 ? "few" : "other";
			const [ten, hundred] = [number % 10, number % 100];
			if (language === "pl" ? number === 1 : ten === 1 && hundred !== 11) return "one";
			return ten >= 2 && ten <= 4 && !(hundred >= 12 && hundred <= 14) ? "few" : "many";
		}
		case "es": case "it": return number === 1 ? "one" : isWhole && number !== 0 && number % 1e6 === 0 ? "many" : "other";
		default: return number === 1 ? "one" : "other";
	}
}

class PluralRules {
	#language;
	#options;
	constructor(locales = undefined, options = {}) {
		const { tag } = resolve(locales);
		this.#language = tag.split("-")[0];
		this.#options = { locale: tag, type: options?.type ?? "cardinal", minimumIntegerDigits: 1, minimumFractionDigits: 0, maximumFractionDigits: 3 };
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	select(value) { return pluralCategory(this.#language, value, this.#options.type === "ordinal"); }
	selectRange(_start, end) { return this.select(end); }
	resolvedOptions() { return { ...this.#options }; }
}

module.exports = { NumberFormat, PluralRules, pluralCategory };
