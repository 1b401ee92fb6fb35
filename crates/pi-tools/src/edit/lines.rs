//! A file as lines: one form of it to search in, and the bytes to keep.
//!
//! Texts of models have line feeds; files have what they have. Lines that no replacement touches
//! keep their bytes, whatever these are: other line ends, typographic quotes, bytes that are not
//! text. A line that is touched is written as it was searched in, with the line end it had.

use std::borrow::Cow;
use std::ops::Range;

use super::Edit;
use super::matching::Placed;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// The content of a file.
#[derive(Debug)]
pub(super) struct Original<'a> {
    bytes: &'a [u8],
    /// Where each line is in `bytes`, its end included.
    lines: Vec<Range<usize>>,
    /// The same lines as text that ends them with a line feed, without a byte order mark.
    pub(super) text: String,
}

impl<'a> Original<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let decoded = String::from_utf8_lossy(&bytes[start..]);
        let text = with_line_feeds(&decoded).into_owned();
        Self { bytes, lines: split(bytes, start), text }
    }

    /// The bytes after the replacements.
    pub(super) fn replace(&self, placed: &Placed<'_>, edits: &[Edit]) -> Vec<u8> {
        let searched = starts(&placed.text);
        let line_of = |at: usize| searched.partition_point(|start| *start <= at) - 1;
        let mut result = Vec::with_capacity(self.bytes.len());
        let mut kept_to = 0;
        let mut places = placed.places.iter().peekable();
        while let Some(place) = places.next() {
            let first = line_of(place.range.start);
            let mut last = line_of(place.range.end - 1);
            let mut region = String::new();
            region.push_str(&placed.text[searched[first]..place.range.start]);
            region.push_str(&edits[place.edit].new_text);
            let mut at = place.range.end;
            // Replacements that share a line are written together.
            while let Some(next) = places.next_if(|next| line_of(next.range.start) <= last) {
                region.push_str(&placed.text[at..next.range.start]);
                region.push_str(&edits[next.edit].new_text);
                at = next.range.end;
                last = line_of(at - 1);
            }
            let end = searched.get(last + 1).map_or(placed.text.len(), |start| *start);
            region.push_str(&placed.text[at..end]);

            result.extend_from_slice(&self.bytes[kept_to..self.lines[first].start]);
            result.extend_from_slice(region.replace('\n', self.line_end(first)).as_bytes());
            kept_to = self.lines[last].end;
        }
        result.extend_from_slice(&self.bytes[kept_to..]);
        result
    }

    /// How a line ends; the last one, which need not, as the one before it.
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

/// The text with every line end as a line feed.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Where lines are in bytes, from `start`.
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

/// Where lines begin in a text.
fn starts(text: &str) -> Vec<usize> {
    let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(breaks).filter(|start| *start < text.len()).collect()
}
