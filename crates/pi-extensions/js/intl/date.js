// Intl.DateTimeFormat.

const native = require("native:locale");
const { resolve, supportedLocalesOf } = require("pi:intl-locale");

/** Between the time and AM or PM; `format` writes a plain space there. */
const THIN = "\u202f";
const FIELDS = ["weekday", "era", "year", "month", "day", "dayPeriod", "hour", "minute", "second", "fractionalSecondDigits", "timeZoneName"];
const DATE_FIELDS = ["weekday", "year", "month", "day"];
const TIME_FIELDS = ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"];

/** Returns the zone that dates are shown in without a `timeZone` option. */
function localZone() {
	return native.localZone();
}

function checkZone(name) {
	const zone = native.zoneName(String(name));
	if (zone === undefined || zone === null) throw new RangeError(`Invalid time zone specified: ${name}`);
	return zone;
}

/** Returns the fields of a time in a zone. */
function fieldsOf(time, zone) {
	const [offset, abbreviation] = native.zoneAt(time, zone);
	const date = new Date(time + offset * 1000);
	return {
		year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate(), weekday: date.getUTCDay(),
		hour: date.getUTCHours(), minute: date.getUTCMinutes(), second: date.getUTCSeconds(), milliseconds: date.getUTCMilliseconds(),
		offset, abbreviation,
	};
}

const two = (value) => String(value).padStart(2, "0");

class DateTimeFormat {
	#data;
	#options;
	#zone;
	constructor(locales = undefined, options = {}) {
		const given = options ?? {};
		const { dateStyle, timeStyle } = given;
		const usesStyles = dateStyle !== undefined || timeStyle !== undefined;
		if (usesStyles && FIELDS.some((name) => given[name] !== undefined)) {
			const name = FIELDS.find((one) => given[one] !== undefined);
			throw new TypeError(`Can't set option ${name} when ${dateStyle !== undefined ? "dateStyle" : "timeStyle"} is used`);
		}
		for (const [name, value] of [["dateStyle", dateStyle], ["timeStyle", timeStyle]]) {
			if (value !== undefined && !["full", "long", "medium", "short"].includes(value)) throw new RangeError(`Value ${value} out of range for Intl.DateTimeFormat options property ${name}`);
		}
		const fields = Object.fromEntries(FIELDS.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]));
		const needsDefault = !usesStyles && ![...DATE_FIELDS, ...TIME_FIELDS].some((name) => fields[name] !== undefined);
		if (needsDefault) Object.assign(fields, defaultsOf(given[KIND] ?? "date"));
		const usesNames = (dateStyle !== undefined && dateStyle !== "short") || fields.weekday !== undefined || ["long", "short", "narrow"].includes(fields.month);
		const { tag, data } = resolve(locales, usesNames);
		this.#data = data;
		this.#zone = given.timeZone === undefined ? localZone() : checkZone(given.timeZone);
		const hasHour = fields.hour !== undefined || timeStyle !== undefined;
		let hourCycle = given.hourCycle ?? (data.hour12 ? "h12" : "h23");
		if (given.hour12 !== undefined) hourCycle = given.hour12 ? "h12" : "h23";
		this.#options = { tag, fields, dateStyle, timeStyle, hourCycle: hasHour ? hourCycle : undefined };
		this.format = this.format.bind(this);
	}
	static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
	resolvedOptions() {
		const { tag, fields, dateStyle, timeStyle, hourCycle } = this.#options;
		const shown = { ...fields };
		if (shown.hour !== undefined && shown.minute !== undefined) Object.assign(shown, { minute: "2-digit" }, shown.second === undefined ? {} : { second: "2-digit" });
		return {
			locale: tag, calendar: "gregory", numberingSystem: "latn", timeZone: this.#zone,
			...(hourCycle === undefined ? {} : { hourCycle, hour12: hourCycle === "h12" || hourCycle === "h11" }),
			...shown, ...(dateStyle === undefined ? {} : { dateStyle }), ...(timeStyle === undefined ? {} : { timeStyle }),
		};
	}
	format(date) { return this.formatToParts(date).map((part) => part.value).join("").replaceAll(THIN, " "); }
	formatToParts(date = Date.now()) {
		const time = Number(date);
		if (Number.isNaN(time) || Math.abs(time) > 8.64e15) throw new RangeError("Invalid time value");
		const now = fieldsOf(time, this.#zone);
		const { dateStyle, timeStyle } = this.#options;
		const datePart = dateStyle === undefined ? (timeStyle === undefined ? this.#date(now) : []) : expand(this.#data.styles[dateStyle], now, this.#data);
		const timePart = timeStyle === undefined ? (dateStyle === undefined ? this.#time(now, this.#options.fields) : []) : this.#time(now, STYLE_TIMES[timeStyle]);
		if (datePart.length === 0 || timePart.length === 0) return [...datePart, ...timePart];
		return [...datePart, { type: "literal", value: this.#joiner() }, ...timePart];
	}
	formatRange(start, end) {
		const [a, b] = [this.format(start), this.format(end)];
		return a === b ? a : `${a} – ${b}`;
	}

	#joiner() {
		const { dateStyle, fields } = this.#options;
		const { join, longJoin, mediumJoin = join } = this.#data;
		if (dateStyle === "full" || dateStyle === "long") return longJoin;
		if (dateStyle === "medium") return mediumJoin;
		if (dateStyle === undefined && ["year", "month", "day"].every((name) => fields[name] === undefined)) return " ";
		if (dateStyle === undefined && fields.month === "long") return longJoin;
		return dateStyle === undefined && fields.month === "short" ? mediumJoin : join;
	}

	/** Formats the fields of the date. */
	#date(now) {
		const { fields } = this.#options;
		const data = this.#data;
		const isText = ["long", "short", "narrow"].includes(fields.month);
		let list;
		if (isText) {
			const key = `${fields.year === undefined ? "" : "y"}M${fields.day === undefined ? "" : "d"}`;
			const table = (fields.month === "long" && data.text.longMonth) || data.text;
			const pattern = key === "M" ? "M" : (table[key] ?? data.text[key]);
			list = fill(pattern, (letter) => this.#field(letter, now, fields, true));
		} else list = this.#numeric(now, fields);
		if (fields.weekday === undefined) return list;
		const weekday = { type: "weekday", value: nameOfDay(now.weekday, fields.weekday, data) };
		if (list.length === 0) return [weekday];
		if (data.text.lastE !== undefined) return [...list, ...fill(fields.weekday === "long" ? data.text.lastLongE : data.text.lastE, () => weekday)];
		const separator = fields.weekday === "long" && isText ? (data.text.longE ?? data.text.E) : data.text.E;
		return fill(separator, () => weekday).concat(list);
	}

	#numeric(now, fields) {
		const data = this.#data;
		const has = (name) => fields[name] !== undefined;
		let pattern;
		if (has("year") && has("month") && has("day")) pattern = data.numeric;
		else if (has("year") && has("month")) pattern = data.monthYear;
		else if (has("month") && has("day")) pattern = data.monthDay;
		else pattern = has("year") ? "y" : has("month") ? "M" : has("day") ? "d" : "";
		// A two-digit form that is asked for wins over the pattern's.
		return fill(pattern, (letter, isDouble) => this.#field(letter, now, fields, false, isDouble));
	}

	#field(letter, now, fields, isText, isDouble = false) {
		if (letter === "y") return { type: "year", value: fields.year === "2-digit" ? two(now.year % 100) : String(now.year) };
		if (letter === "d") return { type: "day", value: fields.day === "2-digit" || isDouble ? two(now.day) : String(now.day) };
		if (isText) return { type: "month", value: nameOfMonth(now.month, fields.month, this.#data) };
		return { type: "month", value: fields.month === "2-digit" || isDouble ? two(now.month + 1) : String(now.month + 1) };
	}

	/** Formats the fields of the time. */
	#time(now, fields) {
		const { hourCycle } = this.#options;
		const list = [];
		const add = (type, value) => {
			if (list.length > 0) list.push({ type: "literal", value: type === "fractionalSecond" ? this.#data.decimal : ":" });
			list.push({ type, value });
		};
		const isTwelve = hourCycle === "h12" || hourCycle === "h11";
		if (fields.hour !== undefined) {
			let hour = isTwelve ? now.hour % 12 : now.hour;
			if (hourCycle === "h12" && hour === 0) hour = 12;
			if (hourCycle === "h24" && hour === 0) hour = 24;
			// Without minutes a 24-hour time has two digits too, in most locales.
			const isDouble = fields.hour === "2-digit" || (!isTwelve && this.#data.hourDigits !== 1);
			add("hour", isDouble ? two(hour) : String(hour));
		}
		if (fields.minute !== undefined) add("minute", fields.hour !== undefined || fields.second !== undefined ? two(now.minute) : String(now.minute));
		if (fields.second !== undefined) add("second", fields.minute !== undefined ? two(now.second) : String(now.second));
		if (fields.fractionalSecondDigits !== undefined) add("fractionalSecond", String(now.milliseconds).padStart(3, "0").slice(0, fields.fractionalSecondDigits));
		if (fields.hour !== undefined && isTwelve) {
			list.push({ type: "literal", value: THIN }, { type: "dayPeriod", value: this.#data.periods[now.hour < 12 ? 0 : 1] });
		}
		if (fields.timeZoneName !== undefined) {
			if (list.length > 0) list.push({ type: "literal", value: " " });
			list.push({ type: "timeZoneName", value: zoneText(this.#zone, now, fields.timeZoneName) });
		} else if (list.length === 0 && this.#options.fields.timeZoneName !== undefined) {
			list.push({ type: "timeZoneName", value: zoneText(this.#zone, now, this.#options.fields.timeZoneName) });
		}
		return list;
	}
}

const STYLE_TIMES = {
	full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
	long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
	medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
	short: { hour: "numeric", minute: "2-digit" },
};

/** Key of the internal option that says which fields are shown by default. */
const KIND = Symbol("kind");

function defaultsOf(kind) {
	const date = { year: "numeric", month: "numeric", day: "numeric" };
	const time = { hour: "numeric", minute: "numeric", second: "numeric" };
	return kind === "date" ? date : kind === "time" ? time : { ...date, ...time };
}

function nameOfMonth(month, form, data) {
	if (form === "narrow") return data.months[month][0].toUpperCase();
	return (form === "long" ? data.months : data.shortMonths)[month];
}

function nameOfDay(day, form, data) {
	if (form === "narrow") return data.days[day][0].toUpperCase();
	return (form === "long" ? data.days : data.shortDays)[day];
}

/** Appends text to a list of parts. */
function addLiteral(list, text) {
	if (list.at(-1)?.type === "literal") list.at(-1).value += text;
	else list.push({ type: "literal", value: text });
}

const LETTERS = /(?<![\p{L}])(yy|y|MM|M|dd|d|E)(?=[年日(]|[^\p{L}]|$)|(?<=年|^)(M)(?=d日|$)|(?<=M)(d)(?=日)|(?<=\()(E)|[^]/gu;

/** Replaces the letters of a pattern by parts; other text becomes literals. */
function fill(pattern, part) {
	const list = [];
	for (const [text, ...letters] of (pattern ?? "").matchAll(LETTERS)) {
		const letter = letters.find((one) => one !== undefined);
		if (letter === undefined) addLiteral(list, text);
		else list.push(part(letter[0], letter.length === 2));
	}
	return list;
}

const STYLE_LETTERS = /(EEEE|MMMM|MMM|MM|M|dd|(?<![a-z])d(?![a-z])|yy|(?<![a-z])y)|[^]/g;

/** Expands the pattern of a date style. */
function expand(pattern, now, data) {
	const values = {
		EEEE: ["weekday", () => nameOfDay(now.weekday, "long", data)], MMMM: ["month", () => nameOfMonth(now.month, "long", data)], MMM: ["month", () => nameOfMonth(now.month, "short", data)],
		MM: ["month", () => two(now.month + 1)], M: ["month", () => String(now.month + 1)], dd: ["day", () => two(now.day)], d: ["day", () => String(now.day)],
		yy: ["year", () => two(now.year % 100)], y: ["year", () => String(now.year)],
	};
	const list = [];
	for (const [text, letters] of pattern.matchAll(STYLE_LETTERS)) {
		if (letters === undefined) addLiteral(list, text);
		else list.push({ type: values[letters][0], value: values[letters][1]() });
	}
	return list;
}

/** Returns "GMT+1", "GMT+01:00" and the like. */
function offsetText(offset, isLong) {
	if (offset === 0) return "GMT";
	const minutes = Math.abs(offset) / 60;
	const [hour, minute] = [Math.floor(minutes / 60), Math.round(minutes % 60)];
	const sign = offset < 0 ? "-" : "+";
	return `GMT${sign}${isLong ? `${two(hour)}:${two(minute)}` : minute === 0 ? hour : `${hour}:${two(minute)}`}`;
}

/** Names of zones in English, by their abbreviations. */
const ZONES = {
	UTC: "Coordinated Universal Time", GMT: "Greenwich Mean Time", BST: "British Summer Time", WET: "Western European Standard Time", WEST: "Western European Summer Time",
	CET: "Central European Standard Time", CEST: "Central European Summer Time", EET: "Eastern European Standard Time", EEST: "Eastern European Summer Time", MSK: "Moscow Standard Time",
	EST: "Eastern Standard Time", EDT: "Eastern Daylight Time", CST: "Central Standard Time", CDT: "Central Daylight Time", MST: "Mountain Standard Time", MDT: "Mountain Daylight Time", PST: "Pacific Standard Time", PDT: "Pacific Daylight Time",
	AKST: "Alaska Standard Time", AKDT: "Alaska Daylight Time", HST: "Hawaii-Aleutian Standard Time", AST: "Atlantic Standard Time", ADT: "Atlantic Daylight Time",
	JST: "Japan Standard Time", KST: "Korean Standard Time", SAST: "South Africa Standard Time", AEST: "Australian Eastern Standard Time", AEDT: "Australian Eastern Daylight Time", ACST: "Australian Central Standard Time", AWST: "Australian Western Standard Time", NZST: "New Zealand Standard Time", NZDT: "New Zealand Daylight Time",
};
const BY_NAME = { "Asia/Kolkata": "India Standard Time", "Asia/Calcutta": "India Standard Time", "Asia/Shanghai": "China Standard Time", "Asia/Taipei": "Taipei Standard Time", "Asia/Singapore": "Singapore Standard Time", "America/Sao_Paulo": "Brasilia Standard Time" };
const AMERICAN = new Set(["EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST"]);

function zoneText(zone, { offset, abbreviation }, form) {
	if (form === "shortOffset") return offsetText(offset, false);
	if (form === "longOffset") return offsetText(offset, true);
	const isAmerican = /^(America|US|Pacific\/Honolulu|EST|CST|MST|PST)/.test(zone) && AMERICAN.has(abbreviation);
	if (form === "short" || form === "shortGeneric") return abbreviation === "UTC" || isAmerican ? abbreviation : offsetText(offset, false);
	return longName(zone, offset, abbreviation);
}

function longName(zone, offset, abbreviation) {
	return BY_NAME[zone] ?? ZONES[abbreviation] ?? offsetText(offset, true);
}

/** Returns the long name of the local zone at a time, for `String(date)`. */
function localZoneName(time) {
	const zone = localZone();
	const [offset, abbreviation] = native.zoneAt(time, zone);
	return longName(zone, offset, abbreviation);
}

/** Formats for Date.prototype.toLocaleString and its relatives. */
function formatDate(date, locales, options, kind) {
	if (Number.isNaN(date.getTime())) return "Invalid Date";
	const given = options ?? {};
	const settings = { ...given, [KIND]: kind };
	if (given.dateStyle === undefined && given.timeStyle === undefined) {
		const has = (names) => names.some((name) => given[name] !== undefined);
		// A date with only fields of a time gets the date too, and the other way round.
		if (kind === "date" && has(TIME_FIELDS) && !has(DATE_FIELDS)) Object.assign(settings, defaultsOf("date"));
		if (kind === "time" && has(DATE_FIELDS) && !has(TIME_FIELDS)) Object.assign(settings, defaultsOf("time"));
	} else if (kind === "date" && given.timeStyle !== undefined) throw new TypeError("Invalid option : timeStyle");
	else if (kind === "time" && given.dateStyle !== undefined) throw new TypeError("Invalid option : dateStyle");
	return new DateTimeFormat(locales, settings).format(date);
}

module.exports = { DateTimeFormat, formatDate, localZoneName };
