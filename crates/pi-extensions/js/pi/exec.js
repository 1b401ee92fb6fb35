// `pi.exec`: runs a program and resolves with its result, whatever it is.

const native = require("native:exec");
const { withSignal } = require("pi:signals");

/** Length of the longest string, in bytes. */
const LARGEST_BUFFER = 536870888;

exports.exec = async function exec(binding, command, args = [], options = {}) {
	const { cwd, timeout, maxBuffer, signal } = options ?? {};
	if (maxBuffer !== undefined && (!Number.isInteger(maxBuffer) || maxBuffer < 0 || maxBuffer > LARGEST_BUFFER)) {
		throw new RangeError(`maxBuffer must be an integer between 0 and ${LARGEST_BUFFER} bytes`);
	}
	const texts = [...(args ?? [])].map(String);
	const directory = cwd === undefined || cwd === null ? undefined : String(cwd);
	return withSignal(native.exec(binding.id, String(command), texts, { cwd: directory, timeout, maxBuffer }), signal);
};
