// The global `Intl`. Each class is loaded when it is first used.

const SOURCES = {
	NumberFormat: "pi:intl-number", PluralRules: "pi:intl-number", DateTimeFormat: "pi:intl-date",
	Collator: "pi:intl-text", Segmenter: "pi:intl-text", ListFormat: "pi:intl-text", RelativeTimeFormat: "pi:intl-text", DisplayNames: "pi:intl-text",
	Locale: "pi:intl-locale",
};

/** Classes that work without `new`. */
const CALLABLE = new Set(["NumberFormat", "DateTimeFormat", "Collator"]);

const Intl = {
	getCanonicalLocales: (locales) => require("pi:intl-locale").getCanonicalLocales(locales),
	supportedValuesOf(key) {
		if (key === "timeZone") return require("native:locale").zoneNames();
		if (key === "currency") return Object.keys(require("pi:intl-data").SYMBOLS).sort();
		if (key === "unit") return Object.keys(require("pi:intl-data").UNITS).sort();
		if (key === "calendar") return ["gregory"];
		if (key === "numberingSystem") return ["latn"];
		if (key === "collation") return ["default"];
		throw new RangeError(`Invalid key : ${key}`);
	},
};
for (const name of Object.keys(SOURCES)) {
	Object.defineProperty(Intl, name, {
		configurable: true, enumerable: false,
		get() {
			let value = require(SOURCES[name])[name];
			if (CALLABLE.has(name)) value = new Proxy(value, { apply: (target, _self, args) => new target(...args) });
			Object.defineProperty(Intl, name, { value, writable: true, configurable: true, enumerable: false });
			return value;
		},
	});
}
Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });

module.exports = { Intl };
