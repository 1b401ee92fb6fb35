//! A file as lines: normalized text for matching, and the original bytes.
//!
//! Models write line feeds; files have various line ends. Lines that no replacement touches keep
//! their bytes, including line ends, typographic quotes and invalid UTF-8. A touched line is
//! written as normalized text with its original line end.

use std::borrow::Cow;
use std::ops::Range;

use super::Edit;
use super::matching::Located;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// The original content of a file.
#[derive(Debug)]
pub(super) struct Original<'a> {
    bytes: &'a [u8],
    /// Ranges of the lines in `bytes`, including their line ends.
    lines: Vec<Range<usize>>,
    /// The lines as text with line feeds, without a byte order mark.
    pub(super) text: String,
}

impl<'a> Original<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let decoded = String::from_utf8_lossy(&bytes[start..]);
        let text = with_line_feeds(&decoded).into_owned();
        Self { bytes, lines: split(bytes, start), text }
    }

    /// Returns the content after the replacements.
    pub(super) fn replace(&self, located: &Located<'_>, edits: &[Edit]) -> Vec<u8> {
        let searched = starts(&located.text);
        let line_of = |at: usize| searched.partition_point(|start| *start <= at) - 1;
        let mut result = Vec::with_capacity(self.bytes.len());
        let mut kept_to = 0;
        let mut locations = located.locations.iter().peekable();
        while let Some(location) = locations.next() {
            let first = line_of(location.range.start);
            let mut last = line_of(location.range.end - 1);
            let mut region = String::new();
            region.push_str(&located.text[searched[first]..location.range.start]);
            region.push_str(&edits[location.edit].new_text);
            let mut at = location.range.end;
            // Replacements that share a line are written together.
            while let Some(next) = locations.next_if(|next| line_of(next.range.start) <= last) {
                region.push_str(&located.text[at..next.range.start]);
                region.push_str(&edits[next.edit].new_text);
                at = next.range.end;
                last = line_of(at - 1);
            }
            let end = searched.get(last + 1).map_or(located.text.len(), |start| *start);
            region.push_str(&located.text[at..end]);

            result.extend_from_slice(&self.bytes[kept_to..self.lines[first].start]);
            result.extend_from_slice(region.replace('\n', self.line_end(first)).as_bytes());
            kept_to = self.lines[last].end;
        }
        result.extend_from_slice(&self.bytes[kept_to..]);
        result
    }

    /// Returns the line end of a line. A last line without one gets that of the line before.
    fn line_end(&self, line: usize) -> &'static str {
        let end = |line: &Range<usize>| match &self.bytes[line.clone()] {
            [.., b'\r', b'\n'] => Some("\r\n"),
            [.., b'\n'] => Some("\n"),
            [.., b'\r'] => Some("\r"),
            _ => None,
        };
        end(&self.lines[line])
            .or_else(|| end(self.lines.get(line.checked_sub(1)?)?))
            .unwrap_or("\n")
    }
}

/// Converts all line ends to line feeds.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the ranges of lines, beginning at `from`.
fn split(bytes: &[u8], from: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = from;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            lines.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < bytes.len() {
        lines.push(start..bytes.len());
    }
    lines
}

/// Returns the offsets at which lines start.
fn starts(text: &str) -> Vec<usize> {
    let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(breaks).filter(|start| *start < text.len()).collect()
}
