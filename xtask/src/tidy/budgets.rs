//! The size of crates: a budget of lines for each, with the capability that needs them.
//!
//! The table is `xtask/budgets.txt`. A budget is at most 3 % above the size of its crate, so that it
//! shrinks with the code, and it rises only together with its text: the change that raises it names
//! the capability that needs the lines. This file does not know why a crate is large.

use std::collections::BTreeMap;

use super::{Finding, TidyError, javascript};
use crate::files::SourceFile;
use crate::repository;

/// The table, relative to the root of the repository.
const TABLE: &str = "xtask/budgets.txt";

/// The most lines of a crate, tests in `src` included.
const MAX_LINES: usize = 26_000;

/// Crates that are larger until they are split. A crate leaves the list when it fits.
const TO_SPLIT: &[&str] = &[];

/// Lines by which every budget may exceed its crate: 3 % of a small crate are less than one change.
const SLACK: usize = 30;

/// The lines of a crate in `src`, or of its modules in `js`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    /// Lines without tests. Budgets count these.
    product: usize,
    all: usize,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row<'a> {
    /// Line in the table, from 1.
    line: usize,
    name: &'a str,
    budget: usize,
    capability: &'a str,
}

/// Checks the table against the files, and its changes against the repository's history.
pub(super) fn check(files: &[SourceFile]) -> Result<Vec<Finding>, TidyError> {
    let table = read()?;
    let mut findings = compare(&sizes(files), &table, TO_SPLIT);
    for (before, after) in versions(&table) {
        findings.extend(raised(&before, &after));
    }
    Ok(findings)
}

/// Lowers budgets that are more than 3 % above the size of their crates. Raises none.
pub(super) fn lower(files: &[SourceFile]) -> Result<(), TidyError> {
    let text = lowered(&read()?, &sizes(files));
    let failed = |source| TidyError::Read { path: TABLE.to_owned(), source };
    std::fs::write(repository::path(TABLE), text).map_err(failed)
}

fn read() -> Result<String, TidyError> {
    let failed = |source| TidyError::Read { path: TABLE.to_owned(), source };
    std::fs::read_to_string(repository::path(TABLE)).map_err(failed)
}

fn sizes(files: &[SourceFile]) -> BTreeMap<&str, Size> {
    let mut sizes: BTreeMap<&str, Size> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_source() || javascript::is_product(file)) {
        let name = match file.path.split_once("/src/") {
            Some((name, _)) => Some(name),
            None => file.path.find("/js/").and_then(|at| file.path.get(..at + "/js".len())),
        };
        if let Some(name) = name {
            let size = sizes.entry(name).or_default();
            size.product += file.product_lines().count();
            size.all += file.lines().count();
        }
    }
    sizes
}

/// The highest budget of a crate of this size.
fn most(product: usize) -> usize {
    product + (product * 3 / 100).max(SLACK)
}

/// Splits the first word off.
fn field(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').map(|(word, rest)| (word, rest.trim_start()))
}

fn parse(table: &str) -> (Vec<Row<'_>>, Vec<Finding>) {
    let (mut rows, mut findings): (Vec<Row<'_>>, _) = (Vec::new(), Vec::new());
    for (at, text) in table.lines().enumerate() {
        if text.starts_with('#') || text.is_empty() {
            continue;
        }
        let mut bad = |advice: &str| findings.push(Finding::new(TABLE, at + 1, advice));
        let fields = field(text).and_then(|(name, rest)| {
            let (lines, capability) = field(rest)?;
            Some((name, lines.parse().ok()?, capability))
        });
        let Some((name, budget, capability)) = fields else {
            bad("not a row: write the crate, its lines and the capability that needs them");
            continue;
        };
        if rows.last().is_some_and(|last| last.name >= name) {
            bad("sort the rows by crate, one row for each");
        }
        rows.push(Row { line: at + 1, name, budget, capability });
    }
    (rows, findings)
}

fn compare(sizes: &BTreeMap<&str, Size>, table: &str, to_split: &[&str]) -> Vec<Finding> {
    let (rows, mut findings) = parse(table);
    for (name, Size { product, all }) in sizes {
        if *all > MAX_LINES && !to_split.contains(name) {
            let advice = format!("{all} lines, of at most {MAX_LINES}; split the crate");
            findings.push(Finding::new(name, 0, advice));
        }
        let (line, advice) = match rows.iter().find(|row| row.name == *name) {
            None => (0, format!("{product} lines without a budget; add a row for {name}")),
            Some(Row { line, budget, .. }) if product > budget => (
                *line,
                format!(
                    "{name} has {product} lines without tests, of at most {budget}; remove some, or \
                     raise the budget and name the capability that needs it in the same row"
                ),
            ),
            Some(Row { line, budget, .. }) if *budget > most(*product) => (
                *line,
                format!(
                    "{name} has {product} lines without tests, {budget} is too much for it; run \
                     `cargo xtask tidy --lower`"
                ),
            ),
            Some(_) => continue,
        };
        findings.push(Finding::new(TABLE, line, advice));
    }
    for row in rows.iter().filter(|row| !sizes.contains_key(row.name)) {
        findings.push(Finding::new(TABLE, row.line, format!("no such crate: {}", row.name)));
    }
    for name in to_split.iter().filter(|name| sizes.get(*name).is_none_or(|s| s.all <= MAX_LINES)) {
        let advice = "is small enough; remove it from TO_SPLIT in tidy/budgets.rs";
        findings.push(Finding::new(name, 0, advice));
    }
    findings
}

/// Finds rows that were raised with the text that they had before.
fn raised(before: &str, after: &str) -> Vec<Finding> {
    let (before, _) = parse(before);
    let (after, _) = parse(after);
    let old = |row: &Row<'_>| before.iter().find(|other| other.name == row.name).cloned();
    let raised = after.iter().filter_map(|row| {
        let old = old(row)?;
        (row.budget > old.budget && row.capability == old.capability).then(|| {
            let advice = format!(
                "{} was raised from {} to {}; name the capability that needs the lines in its row",
                row.name, old.budget, row.budget
            );
            Finding::new(TABLE, row.line, advice)
        })
    });
    raised.collect()
}

/// The table before and after the last commit that changed it, and before and after the changes that
/// are not committed. Empty where git has no answer: in an archive, or behind a shallow clone.
fn versions(now: &str) -> Vec<(String, String)> {
    let git = |arguments: &[&str]| -> Option<String> {
        let output = repository::tool("GIT", "git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let show = |commit: &str| git(&["show", &format!("{commit}:{TABLE}")]);
    let Some(head) = show("HEAD") else { return Vec::new() };
    let last = git(&["log", "-1", "--format=%H", "--", TABLE]).unwrap_or_default();
    let before = show(&format!("{}^", last.trim()));
    let committed = before.map(|before| (before, head.clone()));
    committed.into_iter().chain([(head, now.to_owned())]).collect()
}

/// Returns the table with lower budgets and without crates that no longer exist.
fn lowered(table: &str, sizes: &BTreeMap<&str, Size>) -> String {
    let (rows, _) = parse(table);
    let mut lines: Vec<String> = Vec::new();
    for (at, line) in table.lines().enumerate() {
        let Some(row) = rows.iter().find(|row| row.line == at + 1) else {
            lines.push(line.to_owned());
            continue;
        };
        let Some(Size { product, .. }) = sizes.get(row.name) else { continue };
        let budget = if row.budget > most(*product) {
            // Half of what is allowed: the next small change needs no new budget.
            (product + most(*product)) / 2
        } else {
            row.budget
        };
        lines.push(format!("{:<24} {budget:>6}  {}", row.name, row.capability));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn sized(product: usize) -> BTreeMap<&'static str, Size> {
        BTreeMap::from([("crates/a", Size { product, all: product })])
    }

    #[test]
    fn tests_count_only_for_the_limit_of_a_crate() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n}}\n", "x\n".repeat(60));
        let files = [
            file("crates/a/src/lib.rs", &text),
            file("crates/a/src/b.rs", &"x\n".repeat(40)),
            file("crates/a/tests/it/main.rs", &"x\n".repeat(900)),
        ];
        let expected = BTreeMap::from([("crates/a", Size { product: 100, all: 103 })]);
        assert_eq!(sizes(&files), expected);
    }

    #[test]
    fn budgets_follow_the_code_down() {
        let found = |lines: usize, table: &str| -> Vec<String> {
            compare(&sized(lines), table, &[]).into_iter().map(|finding| finding.advice).collect()
        };
        assert_eq!(found(1000, "# A comment.\n\ncrates/a 1000 it does a thing\n"), [] as [&str; 0]);
        assert_eq!(found(1000, "crates/a 1030 it does a thing\n"), [] as [&str; 0]);
        assert_eq!(found(10_000, "crates/a 10300 it does a thing\n"), [] as [&str; 0]);
        for (lines, table, expected) in [
            (1000, "crates/a 999 a thing\n", "crates/a has 1000 lines without tests, of at most"),
            (1000, "crates/a 1031 a thing\n", "crates/a has 1000 lines without tests, 1031 is too"),
            (1000, "", "1000 lines without a budget"),
            (1000, "crates/a 1000 a thing\ncrates/b 1 a thing\n", "no such crate: crates/b"),
            (1000, "crates/a 1000 a thing\ncrates/a 1000 a thing\n", "sort the rows"),
            (1000, "crates/a 1000 a thing\ncrates/b\n", "not a row"),
            (1000, "crates/a 1000 a thing\ncrates/b 1000\n", "not a row"),
        ] {
            let found = found(lines, table);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn large_crates_are_found() {
        let table = "crates/a 30000 a thing\n";
        let found = |to_split: &[&str], lines| compare(&sized(lines), table, to_split).len();
        assert_eq!(found(&["crates/a"], 29_500), 0);
        assert_eq!(found(&[], 29_500), 1);
        assert_eq!(found(&["crates/a", "crates/b"], 29_500), 1, "crates/b was split");
    }

    #[test]
    fn a_raise_names_its_capability() {
        let before = "a 100 one thing\nb 100 one thing\nc 100 one thing\n";
        let after = "a 101 one thing\nb 101 two things\nc 99 one thing\nd 5 new\n";
        let found = raised(before, after);
        assert!(
            found.len() == 1 && found[0].advice.starts_with("a was raised from 100"),
            "{found:?}"
        );
        assert_eq!(found[0].line, 1);
    }

    #[test]
    fn lowering_keeps_comments_and_removes_old_crates() {
        let table = "# Words.\ncrates/a 5000 it does a thing\ncrates/b 7 gone\n";
        let expected = format!("# Words.\n{:<24} {:>6}  it does a thing\n", "crates/a", 1015);
        assert_eq!(lowered(table, &sized(1000)), expected);
        assert_eq!(lowered(&expected, &sized(1010)), expected);
        assert_eq!(lowered(&expected, &sized(2000)), expected, "no budget is raised");
    }
}
