//! The columns "after" of the section on the size of the code. Pure: the document in, the document
//! out.

use std::collections::{BTreeMap, BTreeSet};

use super::{LONG_FUNCTION, Metrics, grouped};

/// Heading of the section.
pub(super) const SECTION: &str = "## Size of the code";

/// Returns the document with the current figures in the columns "after". `None` if the document has
/// no such section.
pub(super) fn fill(document: &str, metrics: &Metrics) -> Option<String> {
    let start = document.find(SECTION)?;
    let (head, section) = document.split_at(start);
    let end = section[SECTION.len()..].find("\n## ").map_or(section.len(), |at| at + SECTION.len());
    let (section, rest) = section.split_at(end);
    let mut blocks: Vec<String> = section.split("\n\n").map(str::to_owned).collect();
    let mut tables = blocks.iter_mut().filter(|block| block.starts_with('|'));
    let (sums, crates) = (tables.next()?, tables.next()?);
    *sums = table(sums, "product code", &summary(metrics));
    let sizes = metrics.crates.iter().map(|(name, size)| (format!("`{name}`"), size.lines));
    *crates = table(crates, "lines per crate", &sizes.collect::<Vec<_>>());
    Some(format!("{head}{}{rest}", blocks.join("\n\n")))
}

fn summary(metrics: &Metrics) -> Vec<(String, usize)> {
    let sum = metrics.sum();
    let rows = [
        ("lines", sum.lines),
        ("code lines", sum.code),
        ("files", sum.files),
        ("public items", sum.public),
        ("functions", sum.functions),
        (&format!("functions over {LONG_FUNCTION} lines"), sum.long),
        ("crates", metrics.crates.len()),
        ("packages in the tree of `pi`", metrics.packages),
        ("lines of JavaScript", metrics.javascript.lines),
    ];
    rows.map(|(name, count)| (name.to_owned(), count)).to_vec()
}

/// Returns a table with the old column "before". Rows that have only one of the columns follow the
/// order of their names where the new rows do not have them.
fn table(old: &str, title: &str, after: &[(String, usize)]) -> String {
    let cells = |line: &str| -> Option<(String, String)> {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        Some((cells.next()?, cells.next()?))
    };
    let before: BTreeMap<String, String> = old.lines().skip(2).filter_map(cells).collect();
    let after_names: BTreeSet<&String> = after.iter().map(|(name, _)| name).collect();
    let none = || "–".to_owned();
    let mut rows: Vec<(String, String, String)> = after
        .iter()
        .map(|(name, count)| {
            (name.clone(), before.get(name).cloned().unwrap_or_else(none), grouped(*count))
        })
        .collect();
    let gone = before.iter().filter(|(name, _)| !after_names.contains(name));
    rows.extend(gone.map(|(name, before)| (name.clone(), before.clone(), none())));
    let mut lines = vec![format!("| {title} | before | after |"), "|---|---|---|".to_owned()];
    lines.extend(
        rows.iter().map(|(name, before, after)| format!("| {name} | {before} | {after} |")),
    );
    let ends = if old.ends_with('\n') { "\n" } else { "" };
    lines.join("\n") + ends
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::*;

    #[test]
    fn only_the_columns_after_change() {
        let section = |sums: &str, crates: &str| {
            format!(
                "# A\n\n{SECTION}\n\nText.\n\n| product code | before | after |\n|---|---|---|\n{sums}\n\n\
                 | lines per crate | before | after |\n|---|---|---|\n{crates}\n\nMore.\n\n## B\n\n| c |\n"
            )
        };
        let mut metrics = Metrics { packages: 7, ..Metrics::default() };
        for name in ["a", "new"] {
            metrics.crates.insert(name.to_owned(), Size { lines: 1_500, ..Size::default() });
        }
        let old = section("| lines | 2,000 | – |", "| `a` | 1,000 | 5 |\n| `gone` | 1,000 | – |");
        let filled = fill(&old, &metrics).unwrap();
        assert!(filled.contains("\n| lines | 2,000 | 3,000 |\n"), "{filled}");
        assert!(filled.contains("| packages in the tree of `pi` | – | 7 |\n"), "{filled}");
        let crates = "| `a` | 1,000 | 1,500 |\n| `new` | – | 1,500 |\n| `gone` | 1,000 | – |\n\nMore.\n\n## B\n\n| c |\n";
        assert!(filled.ends_with(crates), "{filled}");
        assert_eq!(fill(&filled, &metrics).unwrap(), filled);
        assert_eq!(fill("# A\n", &metrics), None);
    }
}
