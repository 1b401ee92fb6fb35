// Autocomplete providers of extensions, on top of the built-in completions.
exports.calls = {};
