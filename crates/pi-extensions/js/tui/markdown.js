// Markdown as lines.

const { missing } = require("pi:missing");

exports.Markdown = missing("Markdown");
exports.Marked = missing("Marked");
exports.renderLatex = missing("renderLatex");
