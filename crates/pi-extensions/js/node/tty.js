// node:tty.

const native = require("native:console");
const { missing } = require("pi:missing");

module.exports = {
	/** Standard streams are a terminal only while this program draws a screen on one. */
	isatty: (fd) => Number.isInteger(fd) && fd >= 0 && fd <= 2 && Boolean(native.terminalSize()),
	ReadStream: missing("tty.ReadStream"),
	WriteStream: missing("tty.WriteStream"),
};
