//! Rules for JavaScript that is part of a crate: its first line, its length, its use, its tests.
//!
//! `budgets` counts its lines. Unused bindings are found by a test of `pi-extensions`, which has a parser.

use std::collections::BTreeSet;

use super::Finding;
use crate::files::SourceFile;

/// The limit for a file.
const MAX_LINES: usize = 500;

/// The directories of modules with the files that test them.
const TESTED: &[(&str, &str)] = &[
    ("crates/pi-extensions/js/agent", "crates/pi-extensions/tests/it/hostmods.rs"),
    ("crates/pi-extensions/js/ai", "crates/pi-extensions/tests/it/models.rs"),
    ("crates/pi-extensions/js/coding-agent", "crates/pi-extensions/tests/it/builtin_tools.rs"),
    ("crates/pi-extensions/js/host", "crates/pi-extensions/tests/it/loading.rs"),
    ("crates/pi-extensions/js/intl", "crates/pi-extensions/tests/it/hostmods.rs"),
    ("crates/pi-extensions/js/node", "crates/pi-extensions/tests/it/hostmods.rs"),
    ("crates/pi-extensions/js/pi", "crates/pi-extensions/tests/it/events.rs"),
    ("crates/pi-extensions/js/testing", "crates/pi-extensions/tests/it/test_runner.rs"),
    ("crates/pi-extensions/js/tui", "crates/pi-extensions/tests/it/tui.rs"),
    ("crates/pi-extensions/js/typebox", "crates/pi-extensions/tests/it/typebox.rs"),
    ("crates/pi-extensions/js/web", "crates/pi-extensions/tests/it/web.rs"),
];

/// Checks the JavaScript of the crates.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_with(files, TESTED)
}

fn check_with(files: &[SourceFile], tested: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut areas: BTreeSet<&str> = BTreeSet::new();
    for file in files.iter().filter(|file| is_product(file)) {
        let (name, inside) = crate_of(&file.path);
        let count = file.lines().count();
        if !file.text.starts_with("// ") {
            let advice = "begin the file with a `//` line on its purpose";
            findings.push(Finding::new(&file.path, 1, advice));
        }
        if count > MAX_LINES {
            let advice = format!("{count} lines, of at most {MAX_LINES}; split it by subject");
            findings.push(Finding::new(&file.path, MAX_LINES + 1, advice));
        }
        if !is_included(files, name, inside) {
            let advice = "no Rust file of the crate names it; include it or remove it";
            findings.push(Finding::new(&file.path, 0, advice));
        }
        areas.extend(area(&file.path));
    }
    for area in &areas {
        let test = tested.iter().find(|(other, _)| other == area).map(|(_, test)| *test);
        let found = test.and_then(|test| files.iter().find(|file| file.path == test));
        let has_tests = |text: &str| ["test]\n", "::test("].iter().any(|mark| text.contains(mark));
        if found.is_none_or(|test| !has_tests(&test.text)) {
            findings.push(Finding::new(area, 0, "name its tests in tidy/javascript.rs"));
        }
    }
    for (stale, _) in tested.iter().filter(|(area, _)| !areas.contains(area)) {
        let advice = "no such directory; remove it from tidy/javascript.rs";
        findings.push(Finding::new(stale, 0, advice));
    }
    findings
}

/// Returns true for JavaScript of a crate that is no test.
pub(super) fn is_product(file: &SourceFile) -> bool {
    file.path.ends_with(".js") && file.path.starts_with("crates/") && !file.is_test()
}

/// Returns the crate of a file, and the path below its `js` or `src`.
fn crate_of(path: &str) -> (&str, &str) {
    let split = ["/js/", "/src/"].iter().find_map(|part| path.split_once(part));
    split.unwrap_or((path, ""))
}

/// Returns the directory of a module below `js`.
fn area(path: &str) -> Option<&str> {
    let start = path.find("/js/")? + "/js/".len();
    let end = path.get(start..)?.find('/')?;
    path.get(..start + end)
}

/// Returns true if a Rust file of the crate names the file, by its path or the end of it.
fn is_included(files: &[SourceFile], name: &str, inside: &str) -> bool {
    let mut rust = files.iter().filter(|file| {
        file.is_source() && file.path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    });
    let ends: Vec<String> = std::iter::once(inside)
        .chain(inside.match_indices('/').filter_map(|(at, _)| inside.get(at + 1..)))
        .map(|end| format!("{end}\""))
        .collect();
    rust.any(|file| ends.iter().any(|end| file.text.contains(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn tree(script: &str) -> Vec<SourceFile> {
        vec![
            file("crates/a/src/lib.rs", "include_str!(\"../js/x/y.js\");\n"),
            file("crates/a/js/x/y.js", script),
            file("crates/a/tests/it/x.rs", "#[test]\nfn works() {}\n"),
        ]
    }

    #[test]
    fn untidy_scripts_are_found() {
        let tested = &[("crates/a/js/x", "crates/a/tests/it/x.rs")];
        let good = tree("// Does it.\n\nexports.x = 1;\n");
        assert_eq!(check_with(&good, tested), []);
        let first = |files: &[SourceFile], tested: &[(&str, &str)]| {
            let found = check_with(files, tested);
            assert_eq!(found.len(), 1, "{found:?}");
            found[0].advice.clone()
        };
        let long = tree(&format!("// Long.\n{}", "x();\n".repeat(500)));
        assert!(first(&long, tested).starts_with("501 lines, of at most"));
        assert!(first(&tree("x();\n//\n//\n"), tested).starts_with("begin the file"));
        assert!(first(&good, &[]).starts_with("name its tests"));
        let untested = &[("crates/a/js/x", "crates/a/tests/it/z.rs")];
        assert!(first(&good, untested).starts_with("name its tests"));
        let stale = &[tested[0], ("crates/a/js/z", "crates/a/tests/it/x.rs")];
        assert!(first(&good, stale).starts_with("no such directory"));
        let mut unused = tree("// Does it.\n\nexports.x = 1;\n");
        unused[0] = file("crates/a/src/lib.rs", "\n");
        assert!(first(&unused, tested).starts_with("no Rust file"));
    }
}
