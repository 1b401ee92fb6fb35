// Names and numbers of signals.

const { codeError, invalidArgType } = require("pi:node-errors");

const isDarwin = require("native:os").facts().platform === "darwin";

/** Numbers that all systems share. */
const NUMBERS = {
	SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGIOT: 6, SIGFPE: 8,
	SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGTTIN: 21, SIGTTOU: 22,
	SIGXCPU: 24, SIGXFSZ: 25, SIGVTALRM: 26, SIGPROF: 27, SIGWINCH: 28,
	...(isDarwin
		? { SIGBUS: 10, SIGSYS: 12, SIGURG: 16, SIGSTOP: 17, SIGTSTP: 18, SIGCONT: 19, SIGCHLD: 20, SIGIO: 23, SIGINFO: 29, SIGUSR1: 30, SIGUSR2: 31 }
		: { SIGBUS: 7, SIGUSR1: 10, SIGUSR2: 12, SIGSTKFLT: 16, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGURG: 23, SIGIO: 29, SIGPOLL: 29, SIGPWR: 30, SIGSYS: 31 }),
};

/** Returns the name of a number; null for none. */
function nameOf(number) {
	if (number === null || number === undefined) return null;
	return Object.keys(NUMBERS).find((name) => NUMBERS[name] === number) ?? `SIG${number}`;
}

/** Returns the number of a name or number; `undefined` means SIGTERM. */
function numberOf(signal) {
	if (signal === undefined || signal === null) return NUMBERS.SIGTERM;
	if (typeof signal === "number") return signal;
	if (typeof signal !== "string") throw invalidArgType("signal", "of type string or number", signal);
	const number = Object.hasOwn(NUMBERS, signal.toUpperCase()) ? NUMBERS[signal.toUpperCase()] : undefined;
	if (number === undefined) throw codeError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
	return number;
}

module.exports = { NUMBERS, nameOf, numberOf };
