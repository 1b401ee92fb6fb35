//! Limits on the length of files and crates.
//!
//! A file of more than 500 lines without its tests usually has two subjects: split it. A file of
//! more than 800 lines with its tests is hard to read in any case.

use std::collections::BTreeMap;

use super::Finding;
use super::files::SourceFile;

/// The limit for a file with its tests.
const MAX_LINES: usize = 800;

/// The limit for a file without its tests.
const MAX_PRODUCT_LINES: usize = 500;

/// Files that may be longer without their tests, with the reason why they have one subject.
const LONG: &[(&str, &str)] = &[];

/// The lines that `src` of each crate may have, tests in it included: the measured size plus about
/// 3 %. Growth is a decision: raise a budget in the change that needs it, and give the reason in
/// the commit. A crate that shrinks by a tenth gets a smaller budget.
const BUDGETS: &[(&str, usize)] = &[
    ("crates/pi", 46_000),
    ("crates/pi-acp", 5_010),
    ("crates/pi-agent", 6_800),
    ("crates/pi-ai", 29_900),
    ("crates/pi-coding-agent", 38_600),
    ("crates/pi-config", 8_000),
    ("crates/pi-converge", 19_000),
    ("crates/pi-exec-watch", 530),
    ("crates/pi-extensions", 21_500),
    ("crates/pi-jsonrpc", 1_170),
    ("crates/pi-mcp", 9_080),
    ("crates/pi-guard", 16_080),
    ("crates/pi-packages", 4_880),
    ("crates/pi-protocol", 5_120),
    ("crates/pi-session", 11_700),
    ("crates/pi-tools", 11_800),
    ("crates/pi-tui", 23_400),
    ("xtask", 9_280),
    ("fuzz", 665),
];

/// Checks the length of each file.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_with(files, LONG)
}

/// Checks the length of each crate.
pub(super) fn crates(files: &[SourceFile]) -> Vec<Finding> {
    crates_with(files, BUDGETS)
}

fn crates_with(files: &[SourceFile], budgets: &[(&str, usize)]) -> Vec<Finding> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_source()) {
        if let Some((name, _)) = file.path.split_once("/src/") {
            *lines.entry(name).or_default() += file.lines().count();
        }
    }
    let mut findings = Vec::new();
    for (name, count) in &lines {
        let advice = match budgets.iter().find(|(other, _)| other == name) {
            None => format!("{count} lines without a budget; add the crate to tidy/sizes.rs"),
            Some((_, budget)) if count > budget => format!(
                "{count} lines, of at most {budget}; remove some, or raise the budget in \
                 tidy/sizes.rs and give the reason in the commit"
            ),
            Some((_, budget)) if count * 10 < budget * 9 => {
                format!("{count} lines of {budget}; lower the budget in tidy/sizes.rs")
            }
            Some(_) => continue,
        };
        findings.push(Finding::new(name, 0, advice));
    }
    for (name, _) in budgets.iter().filter(|(name, _)| !lines.contains_key(name)) {
        findings.push(Finding::new(name, 0, "no such crate; remove it from tidy/sizes.rs"));
    }
    findings
}

fn check_with(files: &[SourceFile], long: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_source()) {
        let (all, product) = (file.lines().count(), file.product_lines().count());
        if all > MAX_LINES {
            let advice = format!("{all} lines, of at most {MAX_LINES}; split it");
            findings.push(Finding::new(&file.path, MAX_LINES + 1, advice));
        } else if product > MAX_PRODUCT_LINES && !long.iter().any(|(path, _)| *path == file.path) {
            let advice = format!(
                "{product} lines without tests, of at most {MAX_PRODUCT_LINES}; \
                 split it by subject"
            );
            findings.push(Finding::new(&file.path, MAX_PRODUCT_LINES + 1, advice));
        }
    }
    for (path, _) in long {
        let found = files.iter().find(|file| file.path == *path);
        if found.is_none_or(|file| file.product_lines().count() <= MAX_PRODUCT_LINES) {
            let advice = "no longer a long file; remove it from the list in tidy/sizes.rs";
            findings.push(Finding::new(path, 0, advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::files::file;
    use super::*;

    fn with_tests(product: usize, tests: usize) -> SourceFile {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "y\n".repeat(tests - 3));
        file("crates/a/src/b.rs", &format!("{}{tests}", "x\n".repeat(product)))
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(check_with(&[with_tests(500, 300)], &[]), []);
        let found = check_with(&[with_tests(501, 100)], &[]);
        assert!(found.len() == 1 && found[0].advice.starts_with("501 lines without"), "{found:?}");
        let found = check_with(&[with_tests(400, 401)], &[]);
        assert!(found.len() == 1 && found[0].advice.starts_with("801 lines"), "{found:?}");
        let tests = file("crates/a/src/b/tests.rs", &"x\n".repeat(700));
        assert_eq!(check_with(&[tests], &[]), []);
        let tests = file("crates/a/src/b/tests.rs", &"x\n".repeat(801));
        assert_eq!(check_with(&[tests], &[]).len(), 1);
    }

    #[test]
    fn the_list_of_long_files_is_kept_up_to_date() {
        let list = &[("crates/a/src/b.rs", "a table")];
        assert_eq!(check_with(&[with_tests(700, 10)], list), []);
        assert_eq!(
            check_with(&[with_tests(900, 10)], list).len(),
            1,
            "the limit with tests holds for listed files, too"
        );
        let stale = check_with(&[with_tests(10, 10)], list);
        assert!(
            stale.len() == 1 && stale[0].advice.contains("remove it from the list"),
            "{stale:?}"
        );
        assert_eq!(check_with(&[], list).len(), 1, "the file is gone");
    }

    #[test]
    fn crates_keep_their_budgets() {
        let files = [
            file("crates/a/src/lib.rs", &"x\n".repeat(60)),
            file("crates/a/src/b.rs", &"x\n".repeat(40)),
            file("crates/a/tests/it/main.rs", &"x\n".repeat(900)),
        ];
        let found = |budgets: &[(&str, usize)]| -> Vec<String> {
            crates_with(&files, budgets).into_iter().map(|finding| finding.advice).collect()
        };
        assert_eq!(found(&[("crates/a", 100)]), [] as [&str; 0]);
        assert_eq!(found(&[("crates/a", 111)]), [] as [&str; 0]);
        for (budgets, expected) in [
            (&[("crates/a", 99)][..], "100 lines, of at most 99"),
            (&[("crates/a", 112)], "100 lines of 112; lower"),
            (&[], "100 lines without a budget"),
            (&[("crates/a", 100), ("crates/b", 1)], "no such crate"),
        ] {
            let found = found(budgets);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }
}
