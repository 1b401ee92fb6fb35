// The global `navigator`.

const platforms = { linux: "Linux", darwin: "MacIntel", win32: "Win32" };

class Navigator {
	get hardwareConcurrency() { return require("node:os").availableParallelism(); }
	get language() { return new Intl.DateTimeFormat().resolvedOptions().locale; }
	get languages() { return [this.language]; }
	get platform() { return platforms[process.platform] ?? process.platform; }
	get userAgent() { return `Node.js/${process.versions.node.split(".")[0]}`; }
}

exports.navigator = new Navigator();
exports.Navigator = Navigator;
