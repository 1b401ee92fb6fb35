//! Diffs of edits as lines.
//!
//! The input is the form in which edits are described: one row for each line, with a sign, its
//! number and its text (`-5 old`, `+5 new`, ` 6 same`), and `...` for lines that were left out.

#[cfg(test)]
mod tests;
mod words;

use crate::component::View;
use crate::style::Style;
use crate::text;
use crate::text::{Line, Span};
use crate::theme::Token;

/// Returns the lines of a diff, wrapped to the width of the view. Where a single line was replaced
/// by a single line, the words that differ are inverse.
pub fn diff_lines(diff: &str, view: View<'_>) -> Vec<Line> {
    let rows: Vec<Row<'_>> = diff.lines().map(Row::new).collect();
    let mut lines = Vec::new();
    for group in rows.chunk_by(|one, next| {
        one.sign == next.sign || (one.sign == Sign::Removed && next.sign == Sign::Added)
    }) {
        let changed = match group {
            [old, new] if old.sign == Sign::Removed && new.sign == Sign::Added => {
                words::changed(old.text, new.text)
            }
            _ => None,
        };
        let changed = changed.map(|(old, new)| [old, new]);
        for (at, row) in group.iter().enumerate() {
            let ranges = changed.as_ref().and_then(|sides| sides.get(at));
            row.push(&mut lines, ranges.map(Vec::as_slice).unwrap_or_default(), view);
        }
    }
    lines
}

/// The role of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Same,
    Removed,
    Added,
}

/// A row of a diff.
#[derive(Debug)]
struct Row<'a> {
    sign: Sign,
    /// The sign and the number, with the space after it.
    prefix: &'a str,
    text: &'a str,
}

impl<'a> Row<'a> {
    fn new(row: &'a str) -> Self {
        let sign = match row.as_bytes().first() {
            Some(b'-') => Sign::Removed,
            Some(b'+') => Sign::Added,
            _ => Sign::Same,
        };
        let tail = row.strip_prefix(['-', '+', ' ']).unwrap_or_default();
        let number = tail.trim_start_matches(' ');
        let text = number.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = text.len() < number.len() && (text.is_empty() || text.starts_with(' '));
        let end = if has_number {
            row.len() - text.len() + usize::from(!text.is_empty())
        } else if number == "..." {
            // The row of lines that were left out has no number.
            row.len() - number.len()
        } else {
            0
        };
        let (prefix, text) = row.split_at_checked(end).unwrap_or(("", row));
        Self { sign, prefix, text }
    }

    fn push(&self, lines: &mut Vec<Line>, changed: &[std::ops::Range<usize>], view: View<'_>) {
        let style = view.theme.fg(match self.sign {
            Sign::Same => Token::ToolDiffContext,
            Sign::Removed => Token::ToolDiffRemoved,
            Sign::Added => Token::ToolDiffAdded,
        });
        let mut content = Line::new();
        let mut from = 0;
        for range in changed {
            content.push(shown(self.text.get(from..range.start)), style);
            content.push(shown(self.text.get(range.clone())), style.inverse());
            from = range.end;
        }
        content.push(shown(self.text.get(from..)), style);
        let first = Line::from_spans([Span::layout(self.prefix, style)]);
        let spaces = " ".repeat(text::width(self.prefix));
        let rest = Line::from_spans([Span::layout(spaces, Style::PLAIN)]);
        lines.extend(text::wrap_indented(&content, view.width, &first, &rest));
    }
}

fn shown(text: Option<&str>) -> String {
    text.unwrap_or_default().replace('\t', "   ")
}
