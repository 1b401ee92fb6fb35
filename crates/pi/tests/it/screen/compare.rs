//! The comparison of our screens with the recorded ones.
//!
//! Rows must be equal, or `differences.json` lists the pair of rows. The reason `wording` is for
//! sentences, which are ours: keys, numbers, symbols and the column of the text must still agree.
//! Any other reason is a difference of layout, which `docs/compat.md` lists too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use super::frame::{Frame, StyleRun};

/// The reason of a difference that is only the wording of a sentence.
pub(crate) const WORDING: &str = "wording";

/// Rows that differ, wherever they occur.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    pub(crate) theirs: Vec<String>,
    pub(crate) ours: Vec<String>,
    /// `wording`, or the reason of a difference of layout. Empty: not reviewed.
    pub(crate) why: String,
}

/// A style that differs on rows with the same text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StyleDifference {
    pub(crate) theirs: String,
    pub(crate) ours: String,
    /// A text with this style.
    pub(crate) example: String,
    pub(crate) why: String,
}

/// The listed differences.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Differences {
    pub(crate) rows: Vec<Difference>,
    pub(crate) styles: Vec<StyleDifference>,
}

pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/screens")
}

/// Reads a frame: of pi 1.5.0 from `theirs`, or of this program from `ours`.
pub(crate) fn frame(whose: &str, name: &str) -> Option<Frame> {
    let path = directory().join(whose).join(format!("{name}.txt"));
    let text = fs::read_to_string(path).ok()?;
    Some(Frame::parse(&text).unwrap_or_else(|| panic!("{whose}/{name}.txt is not a frame")))
}

pub(crate) fn listed() -> Differences {
    let text = fs::read_to_string(directory().join("differences.json")).unwrap_or_default();
    if text.is_empty() { Differences::default() } else { serde_json::from_str(&text).unwrap() }
}

pub(crate) fn save(differences: &Differences) {
    let text = serde_json::to_string_pretty(differences).unwrap() + "\n";
    fs::write(directory().join("differences.json"), text).unwrap();
}

/// A row of both frames, or rows of one or both that have no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Same { theirs: usize, ours: usize },
    Differs { theirs: Vec<usize>, ours: Vec<usize> },
}

/// Aligns rows by their longest common subsequence. Differing blocks of the same length are
/// compared row by row.
pub(crate) fn align(theirs: &[String], ours: &[String]) -> Vec<Part> {
    let mut common = vec![vec![0_u32; ours.len() + 1]; theirs.len() + 1];
    for at in (0..theirs.len()).rev() {
        for to in (0..ours.len()).rev() {
            common[at][to] = if theirs[at] == ours[to] {
                // Empty rows are everywhere, so a pair of them says little.
                common[at + 1][to + 1] + if theirs[at].is_empty() { 1 } else { 4 }
            } else {
                common[at + 1][to].max(common[at][to + 1])
            };
        }
    }
    let (mut at, mut to) = (0, 0);
    let mut parts = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    loop {
        let ended = at == theirs.len() && to == ours.len();
        let same = at < theirs.len() && to < ours.len() && theirs[at] == ours[to];
        if same || ended {
            if removed.len() == added.len() {
                let pairs = removed.drain(..).zip(added.drain(..));
                parts.extend(pairs.map(|(a, b)| Part::Differs { theirs: vec![a], ours: vec![b] }));
            } else {
                let (theirs, ours) = (std::mem::take(&mut removed), std::mem::take(&mut added));
                parts.push(Part::Differs { theirs, ours });
            }
            if ended {
                return parts;
            }
            parts.push(Part::Same { theirs: at, ours: to });
            (at, to) = (at + 1, to + 1);
        } else if to == ours.len()
            || (at < theirs.len() && common[at + 1][to] >= common[at][to + 1])
        {
            removed.push(at);
            at += 1;
        } else {
            added.push(to);
            to += 1;
        }
    }
}

/// Returns the differences between two frames, without reasons.
pub(crate) fn differences(theirs: &Frame, ours: &Frame) -> Differences {
    let mut found = Differences::default();
    for part in align(&theirs.rows, &ours.rows) {
        match part {
            Part::Same { theirs: at, ours: to } => {
                let text = &theirs.rows[at];
                for layer in 0..2 {
                    let (theirs, ours) = (&theirs.styles[at][layer], &ours.styles[to][layer]);
                    found.styles.extend(style_differences(text, theirs, ours));
                }
            }
            Part::Differs { theirs: removed, ours: added } => {
                let rows = |frame: &Frame, at: Vec<usize>| {
                    at.into_iter().map(|at| frame.rows[at].clone()).collect()
                };
                let (theirs, ours) = (rows(theirs, removed), rows(ours, added));
                found.rows.push(Difference { theirs, ours, why: String::new() });
            }
        }
    }
    found
}

fn style_differences(text: &str, theirs: &[StyleRun], ours: &[StyleRun]) -> Vec<StyleDifference> {
    let style_at = |runs: &[StyleRun], column: usize| {
        let run = runs.iter().find(|run| run.start <= column && column < run.end);
        run.map_or_else(|| "plain".to_owned(), |run| run.style.clone())
    };
    let mut edges: BTreeSet<usize> = BTreeSet::new();
    for run in theirs.iter().chain(ours) {
        edges.extend([run.start, run.end]);
    }
    let mut found: Vec<StyleDifference> = Vec::new();
    for column in edges {
        let (theirs, ours) = (style_at(theirs, column), style_at(ours, column));
        let listed = found.iter().any(|one| one.theirs == theirs && one.ours == ours);
        // A blank at the end of a run is not seen.
        let visible = text.chars().nth(column).is_some_and(|letter| letter != ' ');
        if theirs != ours && visible && !listed {
            let example = text.trim().chars().take(60).collect();
            found.push(StyleDifference { theirs, ours, example, why: String::new() });
        }
    }
    found
}

/// Returns what a difference of wording must keep and does not, if anything.
pub(crate) fn beyond_wording(difference: &Difference) -> Option<String> {
    let Difference { theirs, ours, .. } = difference;
    let facts = |rows: &[String]| {
        let first = rows.first().map_or("", String::as_str);
        let indent = first.chars().take_while(|letter| *letter == ' ').count();
        let text = rows.join(" ");
        let found = |text: &str, pattern: &str| {
            let pattern = Regex::new(pattern).unwrap();
            let mut found: Vec<String> =
                pattern.find_iter(text).map(|found| found.as_str().to_lowercase()).collect();
            found.sort();
            found
        };
        // The length of a rule depends on the text beside it.
        let text = Regex::new("──+").unwrap().replace_all(&text, "──").into_owned();
        let found = |pattern: &str| found(&text, pattern);
        let keys = found(r"(?i)\b(ctrl|alt|shift)\+[^ ,.;)]+");
        let numbers = found(r"\d[\d.,]*\b");
        let symbols = found(r"─+|[→›✓✗•·│├└⊟⊞◉○‸▀█]");
        (indent, keys, numbers, symbols)
    };
    let (theirs, ours) = (facts(theirs), facts(ours));
    let parts = [
        ("indent", theirs.0 == ours.0),
        ("keys", theirs.1 == ours.1),
        ("numbers", theirs.2 == ours.2),
        ("symbols", theirs.3 == ours.3),
    ];
    let broken: Vec<&str> = parts.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    (!broken.is_empty()).then(|| broken.join(", "))
}

/// Returns two frames side by side, with a mark on rows that differ.
pub(crate) fn side_by_side(theirs: &Frame, ours: &Frame) -> String {
    let width = theirs.rows.iter().map(|row| row.chars().count()).max().unwrap_or(0).min(100);
    let cell = |frame: &Frame, at: Option<&usize>| {
        let row: String = at.map_or("", |at| &frame.rows[*at]).chars().take(width).collect();
        let padding = width - row.chars().count();
        format!("{row}{}", " ".repeat(padding))
    };
    let mut text = String::new();
    for part in align(&theirs.rows, &ours.rows) {
        match part {
            Part::Same { theirs: at, ours: to } => {
                let (left, right) = (cell(theirs, Some(&at)), cell(ours, Some(&to)));
                text.push_str(&format!("{left} │ {}\n", right.trim_end()));
            }
            Part::Differs { theirs: removed, ours: added } => {
                for at in 0..removed.len().max(added.len()) {
                    let (left, right) = (cell(theirs, removed.get(at)), cell(ours, added.get(at)));
                    text.push_str(&format!("{left} ≠ {}\n", right.trim_end()));
                }
            }
        }
    }
    text
}

#[test]
fn differing_rows_are_found_and_wording_keeps_facts() {
    let frame = |rows: &[&str]| Frame {
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        styles: vec![Default::default(); rows.len()],
    };
    let theirs = frame(&["a", "", " Press ctrl+o for 5 more", "", "b"]);
    let ours = frame(&["a", "", " 5 more: ctrl+o", "", "", "b"]);
    let found = differences(&theirs, &ours).rows;
    assert_eq!(found.len(), 2);
    assert_eq!(beyond_wording(&found[0]), None);
    assert_eq!((found[1].theirs.len(), found[1].ours.len()), (0, 1));
    let row = |text: &str| vec![text.to_owned()];
    for (ours, broken) in [
        ("  Press ctrl+o for 5 more", "indent"),
        (" Press ctrl+p for 5 more", "keys"),
        (" Press ctrl+o for 6 more", "numbers"),
        (" → Press ctrl+o for 5 more", "symbols"),
    ] {
        let theirs = row(" Press ctrl+o for 5 more");
        let difference = Difference { theirs, ours: row(ours), why: String::new() };
        assert_eq!(beyond_wording(&difference).as_deref(), Some(broken));
    }
    let run = |style: &str| vec![StyleRun { start: 0, end: 2, style: style.to_owned() }];
    let found = style_differences("ab", &run("dim"), &run("fg 8"));
    assert_eq!((found[0].theirs.as_str(), found[0].ours.as_str()), ("dim", "fg 8"));
    assert_eq!(style_differences("ab", &run("dim"), &run("dim")), []);
}
