// An editor of an extension in place of the built-in one.
exports.mountEditor = function () {};
exports.editorFactory = function () {};
