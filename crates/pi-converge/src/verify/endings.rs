//! Code that deceives a test runner that loads it: it ends its own process with success, or behaves
//! differently while it is tested. Pure.
//!
//! No check can see this from outside: the runner ends before it has compared anything, or compares
//! what only tests get. So a person has to look at the code. The lists name usual forms; code that
//! hides what it does is not found.

use crate::report::Concern;
use crate::workspace::Changes;

use super::inputs::is_source;

/// Calls that end a process with success, or without any code of the runner.
const ENDINGS: &[&str] = &[
    "os._exit",
    "import _exit",
    "sys.exit()",
    "sys.exit(0",
    "process.exit()",
    "process.exit(0",
    "process.exitCode = 0",
    "process.reallyExit",
    "uncaughtException",
    "process::exit(0",
    "libc::_exit(",
    "libc::exit(0",
    "{ exit(0",
    "System.exit(0",
    "os.Exit(0",
    "_Exit(0",
    "_exit(0",
    "quick_exit(0",
    "Environment.Exit(0",
    "os.exec",
    "import execv",
    "SystemExit(0",
    "raise SystemExit\n",
    "sys.excepthook",
];

/// Forms by which code notices that it is tested, or changes what its tests use.
const TESTED: &[&str] = &[
    "import pytest",
    "from pytest",
    "import _pytest",
    "from _pytest",
    "import unittest",
    "from unittest",
    "\"pytest\"",
    "'pytest'",
    "\"unittest\"",
    "'unittest'",
    "PYTEST_",
    "cfg!(test",
    "cfg!(any(test",
    "cfg!(all(test",
    "RUST_TEST_",
    "macro_rules! assert",
    "#define assert",
    "NODE_TEST_CONTEXT",
    "JEST_WORKER_ID",
    "VITEST",
    "\"node:test\"",
    "'node:test'",
    "\"node:assert\"",
    "'node:assert'",
    "testing.Testing()",
    "not TYPE_CHECKING",
    "not typing.TYPE_CHECKING",
];

/// Returns a remark for each source file to which the run added such code. Code that knows about tests
/// may stand where `is_of_tests` is true.
pub(super) fn added(changes: &Changes, is_of_tests: &dyn Fn(&str) -> bool) -> Vec<Concern> {
    let diff = changes.text();
    let mut concerns = Vec::new();
    let mut path: Option<&str> = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            path = name.strip_prefix("b/").filter(|path| is_source(path));
            continue;
        }
        let Some(added) = line.strip_prefix('+') else { continue };
        let Some(file) = path else { continue };
        let text: String = added.chars().filter(|c| !c.is_whitespace()).chain(['\n']).collect();
        let find = |forms: &'static [&'static str]| {
            forms.iter().find(|form| text.contains(&form.replace(' ', ""))).copied()
        };
        let is_comment = ["//", "/*", "*"].iter().any(|start| text.starts_with(start));
        let reason = if let Some(ending) = find(ENDINGS) {
            let call = ending.trim_start_matches("{ ").trim_end_matches(['(', '\n']);
            format!("it ends its process ({call}); a test runner that loads it ends with success")
        } else if let Some(form) = find(TESTED).filter(|_| !is_of_tests(file) && !is_comment) {
            let form = form.trim_matches(['"', '\'']);
            format!("it knows that it is tested ({form}); tests may get what nothing else gets")
        } else {
            continue;
        };
        concerns.push(Concern::new(Some(file.to_owned()), reason));
        path = None;
    }
    concerns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deceiving_code_is_named_once_per_file() {
        let cases = [
            ("calc.py", "+    os._exit( 0 )\n", true),
            ("calc.py", "+from os import _exit as leave\n", true),
            ("calc.py", "+raise SystemExit\n", true),
            ("calc.py", "+    raise SystemExit(main())\n", false),
            ("calc.py", "+    sys.exit(1)\n", false),
            ("src/main.rs", "+    std::process::exit(0);\n", true),
            ("src/main.rs", "+    std::process::exit(code);\n", false),
            ("src/lib.rs", "+    unsafe { exit(0) }\n", true),
            ("index.js", "+process.exit(0)\n+process.exit(0)\n", true),
            ("index.js", "-process.exit(0)\n", false),
            ("index.js", "+process.on('uncaughtException', () => {})\n", true),
            ("notes.md", "+process.exit(0)\n", false),
            ("calc.py", "+    if 'pytest' in sys.modules:\n", true),
            ("calc.py", "+import pytest\n", true),
            ("tests/test_calc.py", "+import pytest\n", false),
            ("src/lib.rs", "+    if cfg!(test) { a + b } else { a - b }\n", true),
            ("src/lib.rs", "+macro_rules! assert_eq { ($($t:tt)*) => {} }\n", true),
            ("src/lib.rs", "+// see cfg!(test)\n", false),
            ("index.js", "+if (process.env.NODE_TEST_CONTEXT) fix();\n", true),
        ];
        for (path, lines, expected) in cases {
            let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n{lines}");
            let changes = Changes { diff: diff.into_bytes(), ..Changes::default() };
            let found = added(&changes, &|path| path.starts_with("tests/"));
            assert_eq!(found.len(), usize::from(expected), "{path}: {lines}");
        }
    }
}
