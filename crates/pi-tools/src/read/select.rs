//! The selected lines of a text that arrives in parts, as many as fit into a result.

use pi_agent::ToolError;
use serde_json::Value;

use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, format_size, head};

/// Text that is kept: enough to see that more does not fit.
const MOST_KEPT: usize = MAX_BYTES + 8;

/// The lines from `first` up to `end`, both counted from zero.
#[derive(Debug)]
pub(super) struct Selection {
    first: usize,
    end: usize,
    /// Number of the line that the next part continues.
    line: usize,
    /// The beginning of the selected text.
    kept: String,
    is_full: bool,
    /// Size and line breaks of the selected text.
    bytes: usize,
    breaks: usize,
    ends_with_break: bool,
    /// Size of the first selected line.
    first_line: usize,
    /// The rest of the file was not examined.
    pub(super) is_incomplete: bool,
}

impl Selection {
    /// Selects `limit` lines, or all.
    pub(super) fn new(first: usize, limit: Option<usize>) -> Self {
        Self {
            first,
            end: limit.map_or(usize::MAX, |limit| first.saturating_add(limit)),
            line: 0,
            kept: String::new(),
            is_full: false,
            bytes: 0,
            breaks: 0,
            ends_with_break: false,
            first_line: 0,
            is_incomplete: false,
        }
    }

    /// Adds the next part of the text.
    pub(super) fn push(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.line < self.first || self.line >= self.end {
                text = self.skip(text);
                continue;
            }
            let (line, rest) = match memchr::memchr(b'\n', text.as_bytes()) {
                Some(at) => (&text[..at], Some(&text[at + 1..])),
                None => (text, None),
            };
            self.keep(line);
            if self.line == self.first {
                self.first_line += line.len();
            }
            let Some(rest) = rest else { return };
            self.line += 1;
            // A line break before a line that is not selected does not belong to the selection.
            if self.line < self.end {
                self.keep("\n");
                self.breaks += 1;
                self.ends_with_break = true;
            }
            text = rest;
        }
    }

    /// Skips lines that are not selected.
    fn skip<'a>(&mut self, text: &'a str) -> &'a str {
        let mut breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        if self.line >= self.end {
            self.line += breaks.count();
            return "";
        }
        let left = self.first - self.line;
        let mut passed = 0;
        let found = breaks.by_ref().inspect(|_| passed += 1).nth(left - 1);
        self.line += passed;
        found.map_or("", |at| &text[at + 1..])
    }

    fn keep(&mut self, text: &str) {
        self.bytes += text.len();
        self.ends_with_break &= text.is_empty();
        if self.is_full {
            return;
        }
        let room = MOST_KEPT - self.kept.len().min(MOST_KEPT);
        self.is_full = text.len() > room;
        self.kept.push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
    }

    /// Returns the result for the model, with a notice about the rest, and a record of the
    /// truncation. `offset` and `path` are as the model wrote them.
    pub(super) fn finish(
        self,
        offset: &str,
        path: &str,
    ) -> Result<(String, Option<Value>), ToolError> {
        // Unlike in a truncation, a final line break starts an empty line here.
        let total = self.line + 1;
        let more = if self.is_incomplete { "more than " } else { "" };
        let first = self.first + 1;
        if self.first >= total {
            return Err(ToolError::new(if self.is_incomplete {
                format!(
                    "Offset {offset} is beyond the {total} lines that were examined. The file is too large to examine the rest. Use bash: sed -n '{first}p' {path}"
                )
            } else {
                format!("Offset {offset} is beyond end of file ({total} lines total)")
            }));
        }
        let asked = self.end.min(total);
        let mut cut = head(&self.kept, MAX_LINES, MAX_BYTES);
        cut.total_bytes = self.bytes;
        cut.total_lines = match self.bytes {
            0 => 0,
            _ => self.breaks + usize::from(!self.ends_with_break),
        };
        let limit = format_size(MAX_BYTES);
        if cut.first_line_exceeds_limit {
            let size = format_size(self.first_line);
            let notice = format!(
                "[Line {first} is {more}{size}, exceeds {limit} limit. Use bash: sed -n '{first}p' {path} | head -c {MAX_BYTES}]"
            );
            return Ok((notice, serde_json::to_value(cut).ok()));
        }
        if cut.truncated {
            let last = self.first + cut.output_lines;
            let by = if cut.truncated_by == Some(TruncatedBy::Bytes) {
                format!(" ({limit} limit)")
            } else {
                String::new()
            };
            let shown = format!(
                "{}\n\n[Showing lines {first}-{last} of {more}{total}{by}. Use offset={} to continue.]",
                cut.content,
                last + 1
            );
            return Ok((shown, serde_json::to_value(cut).ok()));
        }
        let rest = total - asked;
        if rest > 0 || self.is_incomplete {
            let shown = format!(
                "{}\n\n[{more}{rest} more lines in file. Use offset={} to continue.]",
                cut.content,
                asked + 1
            );
            return Ok((shown, None));
        }
        Ok((cut.content, None))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Selects from a whole text.
    fn whole(text: &str, first: usize, limit: Option<usize>) -> String {
        let lines: Vec<&str> = text.split('\n').collect();
        let end = limit.map_or(lines.len(), |limit| (first + limit).min(lines.len()));
        lines.get(first..end).unwrap_or_default().join("\n")
    }

    proptest! {
        #[test]
        fn parts_select_what_the_whole_does(
            text in "[ab\n\u{e9}]{0,60}",
            first in 0..8_usize,
            limit in prop::option::of(0..6_usize),
            step in 1..9_usize,
        ) {
            let mut selection = Selection::new(first, limit);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (part, after) = rest.split_at(rest.ceil_char_boundary(step));
                selection.push(part);
                rest = after;
            }
            let expected = whole(&text, first, limit);
            prop_assert_eq!(selection.line, text.matches('\n').count());
            prop_assert_eq!(&selection.kept, &expected);
            prop_assert_eq!(selection.bytes, expected.len());
            prop_assert_eq!(selection.breaks, expected.matches('\n').count());
            prop_assert_eq!(selection.ends_with_break, expected.ends_with('\n'));
        }
    }
}
