// The functions that Rust calls, and the order in which the realm is set up.

const natives = require;
const loader = natives("modules").compileHost("pi:loader")(natives);
loader.requireHost("pi:globals").install();
loader.requireHost("pi:stack").install();
loader.requireHost("pi:json").install();
loader.requireHost("pi:locale").install();
const timers = loader.requireHost("pi:timers");
const extensions = loader.requireHost("pi:extensions");

/** Runs the tests of a file. */
async function runTests(path) {
	await new loader.ModuleGraph().import(path);
	return loader.requireHost("pi/test").runAll();
}

return {
	fireTimer: timers.fire,
	runTicks: timers.runTicks,
	runTests,
	describe: (asked) => loader.requireHost("pi:describe").describe(asked),
	...extensions,
	screen: (...args) => loader.requireHost("pi:drawing").screen(...args),
	...loader.requireHost("pi:calls"),
};
