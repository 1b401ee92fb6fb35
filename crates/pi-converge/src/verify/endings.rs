//! Code that ends its own process with success. Pure.
//!
//! A test runner that loads such code ends before it has compared anything, and its exit code says
//! that all is well. No check can see this from outside, so a person has to look at it.

use crate::report::Concern;
use crate::workspace::Changes;

use super::inputs::is_source;

/// Calls that end a process with success, or without any code of the runner.
const ENDINGS: &[&str] = &[
    "os._exit(",
    "sys.exit()",
    "sys.exit(0",
    "process.exit()",
    "process.exit(0",
    "process.reallyExit(",
    "process::exit(0",
    "libc::_exit(",
    "libc::exit(0",
    "System.exit(0",
    "os.Exit(0",
    "_Exit(0",
    "_exit(0",
    "quick_exit(0",
    "Environment.Exit(0",
    "os.execv",
    "SystemExit(0",
    "raise SystemExit\n",
];

/// Returns a remark for each source file to which the run added such a call.
pub(super) fn added(changes: &Changes) -> Vec<Concern> {
    let diff = changes.text();
    let mut concerns = Vec::new();
    let mut path: Option<&str> = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            path = name.strip_prefix("b/").filter(|path| is_source(path));
            continue;
        }
        let Some(added) = line.strip_prefix('+') else { continue };
        let text: String = added.chars().filter(|c| !c.is_whitespace()).chain(['\n']).collect();
        let has = |ending: &&&str| text.contains(&ending.replace(' ', ""));
        if let Some(ending) = ENDINGS.iter().find(has)
            && let Some(path) = path.take()
        {
            let call = ending.trim_end_matches(['(', '\n']);
            let reason = format!(
                "it ends its process ({call}); a test runner that loads it ends with success"
            );
            concerns.push(Concern::new(Some(path.to_owned()), reason));
        }
    }
    concerns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_end_the_process_are_named_once_per_file() {
        let cases = [
            ("calc.py", "+    os._exit( 0 )\n", true),
            ("calc.py", "+raise SystemExit\n", true),
            ("calc.py", "+    raise SystemExit(main())\n", false),
            ("calc.py", "+    sys.exit(1)\n", false),
            ("src/main.rs", "+    std::process::exit(0);\n", true),
            ("src/main.rs", "+    std::process::exit(code);\n", false),
            ("index.js", "+process.exit(0)\n+process.exit(0)\n", true),
            ("index.js", "-process.exit(0)\n", false),
            ("notes.md", "+process.exit(0)\n", false),
        ];
        for (path, lines, expected) in cases {
            let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n{lines}");
            let changes = Changes { diff: diff.into_bytes(), ..Changes::default() };
            let found: Vec<_> = added(&changes);
            assert_eq!(found.len(), usize::from(expected), "{path}: {lines}");
        }
    }
}
