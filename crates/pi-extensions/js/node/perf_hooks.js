// node:perf_hooks: the clock of the engine, marks and measures.

const entries = [];

class PerformanceEntry {
	constructor(name, entryType, startTime, duration, detail) {
		Object.assign(this, { name, entryType, startTime, duration, detail: detail ?? null });
	}
	toJSON() {
		return { ...this };
	}
}

/** Entries that are kept at most, so that marks in a loop do not fill the memory. */
const MOST_ENTRIES = 10000;

function add(entry) {
	entries.push(entry);
	if (entries.length > MOST_ENTRIES) entries.shift();
	return entry;
}

const performance = globalThis.performance;

/** Returns the time of a mark or a number. */
function timeOf(mark, fallback) {
	if (mark === undefined) return fallback;
	if (typeof mark === "number") return mark;
	const entry = entries.findLast((one) => one.entryType === "mark" && one.name === mark);
	if (entry === undefined) throw new DOMException(`The "${mark}" performance mark has not been set`, "SyntaxError");
	return entry.startTime;
}

const additions = {
	mark: (name, options) => add(new PerformanceEntry(String(name), "mark", options?.startTime ?? performance.now(), 0, options?.detail)),
	measure(name, start, end) {
		const options = start !== null && typeof start === "object" ? start : { start, end };
		const until = timeOf(options.end, performance.now());
		const from = timeOf(options.start, 0);
		return add(new PerformanceEntry(String(name), "measure", from, options.duration ?? until - from, options.detail));
	},
	getEntries: () => [...entries],
	getEntriesByName: (name, type) => entries.filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)),
	getEntriesByType: (type) => entries.filter((entry) => entry.entryType === type),
	clearMarks: (name) => clear("mark", name),
	clearMeasures: (name) => clear("measure", name),
	clearResourceTimings() {},
	setResourceTimingBufferSize() {},
	timerify: (callback) => callback,
	eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
	toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};

function clear(type, name) {
	for (let at = entries.length - 1; at >= 0; at--) {
		if (entries[at].entryType === type && (name === undefined || entries[at].name === name)) entries.splice(at, 1);
	}
}

for (const name of Object.keys(additions)) {
	if (typeof performance[name] !== "function") {
		Object.defineProperty(performance, name, { value: additions[name], writable: true, configurable: true });
	}
}

const { missing } = require("pi:missing");
module.exports = {
	performance,
	PerformanceEntry,
	PerformanceObserver: missing("perf_hooks.PerformanceObserver"),
	monitorEventLoopDelay: missing("perf_hooks.monitorEventLoopDelay"),
	createHistogram: missing("perf_hooks.createHistogram"),
	constants: {},
};
