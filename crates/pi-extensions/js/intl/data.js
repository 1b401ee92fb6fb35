// Locale data: separators, names and patterns of the locales in use.
//
// In patterns: y year, M month, d day, E weekday; a doubled letter has two digits.

const NBSP = "\u00a0";
const THIN = "\u202f";

const en = {
	group: ",", decimal: ".", percent: "%", currency: "prefix",
	months: ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
	shortMonths: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
	days: ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
	shortDays: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
	periods: ["AM", "PM"], hour12: true,
	numeric: "M/d/y", monthYear: "M/y", monthDay: "M/d",
	text: { yMd: "M d, y", yM: "M y", Md: "M d", E: "E, " },
	styles: { full: "EEEE, MMMM d, y", long: "MMMM d, y", medium: "MMM d, y", short: "M/d/yy" },
	join: ", ", longJoin: " at ",
};
const enGB = {
	...en, periods: ["am", "pm"], hour12: false, currencySymbols: { USD: "US$", JPY: "JP¥" },
	numeric: "dd/MM/y", monthYear: "MM/y", monthDay: "dd/MM", shortMonths: en.shortMonths.with(8, "Sept"),
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E, ", longE: "E " },
	styles: { full: "EEEE d MMMM y", long: "d MMMM y", medium: "d MMM y", short: "dd/MM/y" },
};
const de = {
	group: ".", decimal: ",", percent: `${NBSP}%`, currency: "suffix",
	months: ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
	shortMonths: ["Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."],
	days: ["Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"],
	shortDays: ["So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"],
	periods: ["AM", "PM"], hour12: false,
	numeric: "d.M.y", monthYear: "M/y", monthDay: "d.M.",
	text: { yMd: "d. M y", yM: "M y", Md: "d. M", E: "E, " },
	styles: { full: "EEEE, d. MMMM y", long: "d. MMMM y", medium: "dd.MM.y", short: "dd.MM.yy" },
	join: ", ", longJoin: " um ", shortDot: true,
};
const fr = {
	group: THIN, decimal: ",", percent: `${NBSP}%`, currency: "suffix", currencySymbols: { USD: "$US", GBP: "£GB", JPY: "JPY" },
	months: ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"],
	shortMonths: ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."],
	days: ["dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"],
	shortDays: ["dim.", "lun.", "mar.", "mer.", "jeu.", "ven.", "sam."],
	periods: ["AM", "PM"], hour12: false,
	numeric: "dd/MM/y", monthYear: "MM/y", monthDay: "dd/MM",
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E " },
	styles: { full: "EEEE d MMMM y", long: "d MMMM y", medium: "d MMM y", short: "dd/MM/y" },
	join: " ", longJoin: " à ", mediumJoin: ", ",
};
const es = {
	group: ".", decimal: ",", percent: `${NBSP}%`, currency: "suffix", minGroup: 2, currencySymbols: { USD: "US$", GBP: "GBP", JPY: "JPY" },
	months: ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"],
	shortMonths: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"],
	days: ["domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"],
	shortDays: ["dom", "lun", "mar", "mié", "jue", "vie", "sáb"],
	periods: ["a. m.", "p. m."], hour12: false, hourDigits: 1,
	numeric: "d/M/y", monthYear: "M/y", monthDay: "d/M",
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E, ", longMonth: { yMd: "d de M de y", yM: "M de y", Md: "d de M" } },
	styles: { full: "EEEE, d de MMMM de y", long: "d de MMMM de y", medium: "d MMM y", short: "d/M/yy" },
	join: ", ", longJoin: ", ",
};
const it = {
	...es, minGroup: 2, percent: "%", currencySymbols: { USD: "USD", GBP: "GBP", JPY: "JPY" },
	months: ["gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"],
	shortMonths: ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"],
	days: ["domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"],
	shortDays: ["dom", "lun", "mar", "mer", "gio", "ven", "sab"],
	periods: ["AM", "PM"], hourDigits: 2,
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E " },
	styles: { full: "EEEE d MMMM y", long: "d MMMM y", medium: "d MMM y", short: "dd/MM/yy" },
	longJoin: " alle ore ",
};
const pt = {
	...es, minGroup: 1, percent: "%", currency: "prefixSpace", currencySymbols: { USD: "US$", JPY: "JP¥" },
	months: ["janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"],
	shortMonths: ["jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez."],
	days: ["domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"],
	shortDays: ["dom.", "seg.", "ter.", "qua.", "qui.", "sex.", "sáb."],
	periods: ["AM", "PM"], hourDigits: 2, numeric: "dd/MM/y", monthYear: "MM/y", monthDay: "dd/MM",
	text: { yMd: "d de M de y", yM: "M de y", Md: "d de M", E: "E, " },
	styles: { full: "EEEE, d de MMMM de y", long: "d de MMMM de y", medium: "d de MMM de y", short: "dd/MM/y" },
	longJoin: " às ",
};
const nl = {
	...de, percent: "%", currency: "prefixSpace", currencySymbols: { USD: "US$", JPY: "JP¥" },
	months: ["januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"],
	shortMonths: ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
	days: ["zondag", "maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag"],
	shortDays: ["zo", "ma", "di", "wo", "do", "vr", "za"],
	periods: ["a.m.", "p.m."], numeric: "d-M-y", monthYear: "M-y", monthDay: "d-M",
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E " },
	styles: { full: "EEEE d MMMM y", long: "d MMMM y", medium: "d MMM y", short: "dd-MM-y" },
	longJoin: " om ",
};
const sv = {
	...de, group: NBSP, minus: "\u2212", percent: `${NBSP}%`, currencySymbols: { USD: "US$", JPY: "JPY" },
	months: ["januari", "februari", "mars", "april", "maj", "juni", "juli", "augusti", "september", "oktober", "november", "december"],
	shortMonths: ["jan.", "feb.", "mars", "apr.", "maj", "juni", "juli", "aug.", "sep.", "okt.", "nov.", "dec."],
	days: ["söndag", "måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag"],
	shortDays: ["sön", "mån", "tis", "ons", "tors", "fre", "lör"],
	periods: ["fm", "em"], numeric: "y-MM-dd", monthYear: "y-MM", monthDay: "d/M",
	text: { yMd: "d M y", yM: "M y", Md: "d M", E: "E " },
	styles: { full: "EEEE d MMMM y", long: "d MMMM y", medium: "d MMM y", short: "y-MM-dd" },
	join: " ", longJoin: " kl. ", mediumJoin: " ",
};
const ja = {
	group: ",", decimal: ".", percent: "%", currency: "prefix", currencySymbols: { JPY: "￥", CNY: "元" },
	months: Array.from({ length: 12 }, (_, at) => `${at + 1}月`), shortMonths: Array.from({ length: 12 }, (_, at) => `${at + 1}月`),
	days: ["日曜日", "月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日"], shortDays: ["日", "月", "火", "水", "木", "金", "土"],
	periods: ["午前", "午後"], hour12: false, hourDigits: 1,
	numeric: "y/M/d", monthYear: "y/M", monthDay: "M/d",
	text: { yMd: "y年Md日", yM: "y年M", Md: "Md日", E: "" , lastE: "(E)", lastLongE: "E" },
	styles: { full: "y年M月d日EEEE", long: "y年M月d日", medium: "y/MM/dd", short: "y/MM/dd" },
	join: " ", longJoin: " ", mediumJoin: " ",
};

/** Locales by their tags; a tag inherits from its language. */
const LOCALES = {
	en, "en-US": en, "en-GB": enGB, "en-IE": { ...enGB, numeric: "d/M/y", currencySymbols: {} }, "en-AU": { ...enGB, hour12: true },
	"en-NZ": { ...enGB, hour12: true }, "en-ZA": { ...enGB, numeric: "y/MM/dd", group: NBSP, decimal: "," },
	"en-CA": { ...en, periods: ["a.m.", "p.m."], numeric: "y-MM-dd", monthYear: "y-MM", monthDay: "MM-dd", styles: { ...en.styles, short: "y-MM-dd" }, currencySymbols: { CAD: "$", USD: "US$" } },
	"en-IN": { ...enGB, hour12: true, numeric: "d/M/y", groups: [3, 2], currencySymbols: { USD: "$", JPY: "JP¥" } },
	de, "de-AT": { ...de, group: NBSP, currency: "prefixSpace" }, "de-CH": { ...de, group: "’", decimal: ".", percent: "%", currency: "prefixSpace" },
	fr, "fr-CA": { ...fr, group: NBSP, percent: `${NBSP}%`, numeric: "y-MM-dd" }, "fr-CH": { ...fr, numeric: "dd.MM.y" },
	es, "es-MX": { ...es, group: ",", decimal: ".", minGroup: 1, percent: "%", currency: "prefix" }, "es-US": { ...es, group: ",", decimal: ".", minGroup: 1, currency: "prefix" },
	it, pt, "pt-BR": pt, "pt-PT": { ...pt, group: NBSP, minGroup: 2, currency: "suffix", numeric: "dd/MM/y" },
	nl, sv, ja,
	da: { ...de, join: " " }, nb: { ...de, group: NBSP, minus: "\u2212" }, no: { ...de, group: NBSP, minus: "\u2212" }, fi: { ...de, group: NBSP, minus: "\u2212", join: " " },
	pl: { ...de, group: NBSP, minGroup: 2, percent: "%", numeric: "d.MM.y" }, cs: { ...de, group: NBSP, numeric: "d. M. y", join: " " },
	ru: { ...de, group: NBSP, numeric: "dd.MM.y" }, uk: { ...de, group: NBSP, numeric: "dd.MM.y" }, tr: { ...de, percent: "%", numeric: "dd.MM.y", join: " " },
	zh: { ...ja, currencySymbols: { JPY: "JP¥", CNY: "¥" } }, ko: { ...ja, numeric: "y. M. d.", currencySymbols: { JPY: "JP¥" } },
};
/** Locales of which only numbers and numeric dates are known. */
const NUMBERS_ONLY = new Set(["da", "nb", "no", "fi", "pl", "cs", "ru", "uk", "tr", "zh", "ko"]);

const SYMBOLS = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", NZD: "NZ$", ILS: "₪", VND: "₫", HKD: "HK$", TWD: "NT$", PHP: "₱" };
const DIGITS = { JPY: 0, KRW: 0, VND: 0, CLP: 0, ISK: 0, HUF: 2, BHD: 3, KWD: 3, JOD: 3, TND: 3 };
const CURRENCY_NAMES = { USD: ["US dollar", "US dollars"], EUR: ["euro", "euros"], GBP: ["British pound", "British pounds"], JPY: ["Japanese yen", "Japanese yen"], CAD: ["Canadian dollar", "Canadian dollars"], AUD: ["Australian dollar", "Australian dollars"], CHF: ["Swiss franc", "Swiss francs"], CNY: ["Chinese yuan", "Chinese yuan"], INR: ["Indian rupee", "Indian rupees"] };

/** Units: [narrow, short, long one, long many]; a leading space separates. */
const UNITS = {
	byte: ["B", " byte", " byte", " bytes"], kilobyte: ["kB", " kB", " kilobyte", " kilobytes"], megabyte: ["MB", " MB", " megabyte", " megabytes"], gigabyte: ["GB", " GB", " gigabyte", " gigabytes"], terabyte: ["TB", " TB", " terabyte", " terabytes"], bit: ["bit", " bit", " bit", " bits"],
	second: ["s", " sec", " second", " seconds"], minute: ["m", " min", " minute", " minutes"], hour: ["h", " hr", " hour", " hours"], day: ["d", " day", " day", " days"], week: ["w", " wk", " week", " weeks"], month: ["m", " mth", " month", " months"], year: ["y", " yr", " year", " years"], millisecond: ["ms", " ms", " millisecond", " milliseconds"],
	percent: ["%", "%", " percent", " percent"], meter: ["m", " m", " meter", " meters"], kilometer: ["km", " km", " kilometer", " kilometers"], celsius: ["°C", "°C", " degree Celsius", " degrees Celsius"], fahrenheit: ["°", "°F", " degree Fahrenheit", " degrees Fahrenheit"], liter: ["L", " L", " liter", " liters"], gram: ["g", " g", " gram", " grams"], kilogram: ["kg", " kg", " kilogram", " kilograms"], mile: ["mi", " mi", " mile", " miles"],
};
/** Units whose short form has a plural. */
const SHORT_PLURALS = { byte: " byte", day: " days", week: " wks", month: " mths", year: " yrs" };

module.exports = { LOCALES, NUMBERS_ONLY, SYMBOLS, DIGITS, CURRENCY_NAMES, UNITS, SHORT_PLURALS, NBSP };
