// The functions of the engine that depend on a locale, with the answers of Node.

const loader = require("pi:loader");

/** Replaces a method by one that keeps its name and length. Returns the original. */
function replace(prototype, name, method) {
	const original = prototype[name];
	Object.defineProperty(method, "name", { value: name });
	Object.defineProperty(method, "length", { value: original.length });
	Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
	return original;
}

const date = () => loader.requireHost("pi:intl-date");
const text = () => loader.requireHost("pi:intl-text");

/** The formatter of plain calls, which are many. */
let plainNumber;
function formatNumber(value, locales, options) {
	const { NumberFormat } = loader.requireHost("pi:intl-number");
	if (locales !== undefined || options !== undefined) return new NumberFormat(locales, options).format(value);
	plainNumber ??= new NumberFormat();
	return plainNumber.format(value);
}

/** Returns true for a language with a dotless i. */
function isTurkic(locales) {
	const tag = String((Array.isArray(locales) ? locales[0] : locales) ?? "");
	return /^(tr|az)\b/i.test(tag);
}

function installNumbers() {
	for (const type of [Number, BigInt]) {
		const { valueOf } = type.prototype;
		replace(type.prototype, "toLocaleString", {
			toLocaleString(locales, options) { return formatNumber(valueOf.call(this), locales, options); },
		}.toLocaleString);
	}
}

function installDates() {
	for (const [name, kind] of [["toLocaleString", "any"], ["toLocaleDateString", "date"], ["toLocaleTimeString", "time"]]) {
		replace(Date.prototype, name, { [name](locales, options) { return date().formatDate(this, locales, options, kind); } }[name]);
	}
	for (const name of ["toString", "toTimeString"]) {
		const original = replace(Date.prototype, name, {
			[name]() {
				const plain = original.call(this);
				const time = this.getTime();
				return Number.isNaN(time) ? plain : `${plain} (${date().localZoneName(time)})`;
			},
		}[name]);
	}
}

function installStrings() {
	replace(String.prototype, "localeCompare", {
		localeCompare(other, locales, options) {
			const [a, b] = [String(this), String(other)];
			if (a === b) return 0;
			if (locales !== undefined) return new (text().Collator)(locales, options).compare(a, b);
			return text().compare(a, b, options);
		},
	}.localeCompare);
	const { toLowerCase, toUpperCase } = String.prototype;
	replace(String.prototype, "toLocaleLowerCase", {
		toLocaleLowerCase(locales) {
			const value = String(this);
			return toLowerCase.call(isTurkic(locales) ? value.replaceAll("İ", "i").replaceAll("I", "ı") : value);
		},
	}.toLocaleLowerCase);
	replace(String.prototype, "toLocaleUpperCase", {
		toLocaleUpperCase(locales) {
			const value = String(this);
			return toUpperCase.call(isTurkic(locales) ? value.replaceAll("i", "İ").replaceAll("ı", "I") : value);
		},
	}.toLocaleUpperCase);
}

/** Installs the functions. */
exports.install = function install() {
	installNumbers();
	installDates();
	installStrings();
};
