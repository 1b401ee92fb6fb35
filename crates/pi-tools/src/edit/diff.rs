//! Diffs of edits: numbered lines for users, unified diffs for programs.

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Hunk, InternedInput};

/// Unchanged lines around a change.
const CONTEXT: u32 = 4;

/// The differences between two texts.
#[derive(Debug)]
pub(super) struct Diff {
    /// Lines with a sign and a number; `...` stands for omitted lines.
    pub(super) display: String,
    /// Unified diff of the file.
    pub(super) patch: String,
    /// Number of the first changed line of the new text, from 1.
    pub(super) first_changed_line: Option<u32>,
}

/// Compares the old and the new content of `path`.
pub(super) fn diff(path: &str, old: &str, new: &str) -> Diff {
    let input = InternedInput::new(old, new);
    let mut difference = imara_diff::Diff::compute(Algorithm::Myers, &input);
    difference.postprocess_no_heuristic(&input);
    let changes: Vec<Hunk> = difference.hunks().collect();
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let blocks: Vec<Block<'_>> = changes
        .chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT)
        .map(|changes| Block::new(changes, old.len() as u32))
        .collect();
    Diff {
        display: display(&blocks, &old, &new),
        patch: patch(path, &blocks, &old, &new),
        first_changed_line: changes.first().map(|change| change.after.start + 1),
    }
}

/// Changes that are shown together, with the lines around them.
struct Block<'a> {
    changes: &'a [Hunk],
    old: Range<u32>,
    new: Range<u32>,
}

impl<'a> Block<'a> {
    fn new(changes: &'a [Hunk], lines: u32) -> Self {
        let (first, last) = (&changes[0], &changes[changes.len() - 1]);
        let before = first.before.start.min(CONTEXT);
        let after = (lines - last.before.end).min(CONTEXT);
        Self {
            changes,
            old: first.before.start - before..last.before.end + after,
            new: first.after.start - before..last.after.end + after,
        }
    }

    /// Calls `row` for every line: its sign, its number from 0, and true if it is an old line.
    fn each(&self, mut row: impl FnMut(char, u32, bool)) {
        let mut at = self.old.start;
        for change in self.changes {
            (at..change.before.start).for_each(|line| row(' ', line, true));
            change.before.clone().for_each(|line| row('-', line, true));
            change.after.clone().for_each(|line| row('+', line, false));
            at = change.before.end;
        }
        (at..self.old.end).for_each(|line| row(' ', line, true));
    }
}

fn display(blocks: &[Block<'_>], old: &[&str], new: &[&str]) -> String {
    // A final line break counts as the start of another line here.
    let count = |lines: &[&str]| {
        lines.len() + usize::from(lines.last().is_none_or(|last| last.ends_with('\n')))
    };
    let width = count(old).max(count(new)).to_string().len();
    let gap = format!(" {:width$} ...", "");
    let mut rows = Vec::new();
    let mut shown_to = 0;
    for block in blocks {
        if block.old.start > shown_to {
            rows.push(gap.clone());
        }
        block.each(|sign, line, is_old| {
            let text = if is_old { old[line as usize] } else { new[line as usize] };
            let text = text.strip_suffix('\n').unwrap_or(text);
            rows.push(format!("{sign}{:>width$} {text}", line + 1));
        });
        shown_to = block.old.end;
    }
    if (shown_to as usize) < old.len() {
        rows.push(gap);
    }
    rows.join("\n")
}

fn patch(path: &str, blocks: &[Block<'_>], old: &[&str], new: &[&str]) -> String {
    let mut patch = format!("--- {path}\n+++ {path}\n");
    for block in blocks {
        let (before, after) = (span(&block.old), span(&block.new));
        // Writing to a string cannot fail.
        let _ = writeln!(patch, "@@ -{before} +{after} @@");
        block.each(|sign, line, is_old| {
            let text = if is_old { old[line as usize] } else { new[line as usize] };
            patch.push(sign);
            patch.push_str(text);
            if !text.ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        });
    }
    patch
}

/// Formats the first line and the number of lines. An empty range starts at the line before it.
fn span(lines: &Range<u32>) -> String {
    let start = lines.start + u32::from(!lines.is_empty());
    format!("{start},{}", lines.len())
}
