// node:dns: lookups of literal addresses and localhost; the rest is resolved by connections.

const { absent } = require("pi:absent");
const { isIP } = require("node:net");
const { codeError } = require("pi:node-errors");

const names = ["resolve", "resolve4", "resolve6", "resolveAny", "resolveCname", "resolveMx", "resolveNs", "resolveSrv", "resolveTxt", "resolvePtr", "resolveSoa", "reverse", "lookupService", "setServers", "Resolver"];

async function lookup(hostname, options) {
	const host = hostname === "localhost" ? "127.0.0.1" : hostname;
	const family = isIP(host);
	if (family === 0) throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "dns.lookup of a name is not available in this extension host; connect to the name instead");
	const found = { address: host, family };
	return options?.all ? [found] : found;
}

module.exports = {
	...absent("dns", names),
	lookup(hostname, options, callback) {
		const done = typeof options === "function" ? options : callback;
		const settings = typeof options === "function" ? undefined : options;
		lookup(hostname, settings).then((found) => (settings?.all ? done(null, found) : done(null, found.address, found.family)), done);
	},
	getServers: () => [],
	setDefaultResultOrder() {}, getDefaultResultOrder: () => "verbatim",
	promises: { ...absent("dns.promises", names), lookup, getServers: () => [], setDefaultResultOrder() {} },
	ADDRCONFIG: 32, ALL: 16, V4MAPPED: 8, NOTFOUND: "ENOTFOUND", NODATA: "ENODATA",
};
