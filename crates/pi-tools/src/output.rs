//! The output of a command as text, in bounded memory: the start and the end of long output.

mod decode;

use std::time::Duration;

pub(crate) use decode::Decoder;
use pi_base::text::without_mark;

use crate::truncate::{MAX_BYTES, MAX_LINES, Truncation, tail};

/// How long an open output may be silent after the command has ended.
pub(crate) const QUIET_PERIOD: Duration = Duration::from_millis(100);
/// Maximum number of bytes read at once. Larger chunks leave the nearer CPU caches before they are
/// written to a file.
pub(crate) const CHUNK: usize = 64 * 1024;
/// Bytes kept of the start, and at least of the end.
const KEPT: usize = 512 * 1024;
/// Bytes that are decoded, counted and copied at once, so that they stay in the nearest CPU cache.
const BLOCK: usize = 16 * 1024;

/// Output as it arrives.
#[derive(Debug, Default)]
pub(crate) struct Output {
    decoder: Decoder,
    /// Text has arrived.
    begun: bool,
    head: String,
    /// The output after the head; of long output, its end. When `newer` is long enough, it replaces
    /// `older`, so that no text is ever moved.
    older: String,
    newer: String,
    total_bytes: usize,
    line_breaks: usize,
    /// Bytes after the last line break, and of the line before it.
    open_line: usize,
    closed_line: usize,
}

impl Output {
    /// Appends bytes, which may split characters.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut decoder = std::mem::take(&mut self.decoder);
        for block in bytes.chunks(BLOCK) {
            decoder.push(block, |text| self.push_text(text));
        }
        self.decoder = decoder;
    }

    /// Ends the output.
    pub(crate) fn finish(mut self) -> Self {
        let rest = self.decoder.finish();
        self.push_text(rest);
        self
    }

    fn push_text(&mut self, text: &str) {
        // A byte order mark has no meaning for a model.
        let first = !std::mem::replace(&mut self.begun, true);
        let text = if first { without_mark(text) } else { text };
        self.count(text);
        let is_all_head = self.older.is_empty() && self.newer.is_empty();
        let fits = if is_all_head { KEPT - self.head.len() } else { 0 };
        let (head, rest) = text.split_at(text.floor_char_boundary(fits));
        self.head.push_str(head);
        self.newer.push_str(rest);
        if self.newer.len() > KEPT {
            std::mem::swap(&mut self.older, &mut self.newer);
            self.newer.clear();
        }
    }

    fn count(&mut self, text: &str) {
        self.total_bytes += text.len();
        self.line_breaks += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let Some(last) = text.rfind('\n') else {
            self.open_line += text.len();
            return;
        };
        self.closed_line = match text[..last].rfind('\n') {
            Some(before) => last - before - 1,
            None => self.open_line + last,
        };
        self.open_line = text.len() - last - 1;
    }

    fn lines(&self) -> usize {
        self.line_breaks + usize::from(self.open_line > 0)
    }

    /// Returns the size of the last line.
    pub(crate) fn last_line(&self) -> usize {
        if self.open_line > 0 { self.open_line } else { self.closed_line }
    }

    /// Returns true if the output exceeds the limits of a result.
    pub(crate) fn exceeds(&self) -> bool {
        self.total_bytes > MAX_BYTES || self.lines() > MAX_LINES
    }

    /// Returns the end of the output, within the limits of a result.
    pub(crate) fn tail(&self) -> Truncation {
        // More than fits, so that truncation sees the same text as in the whole output; two more
        // bytes would be enough.
        let cut = tail(&self.end(2 * MAX_BYTES), MAX_LINES, MAX_BYTES);
        Truncation { total_lines: self.lines(), total_bytes: self.total_bytes, ..cut }
    }

    /// Returns both ends of the output for programs, and true if something is omitted between them.
    pub(crate) fn both_ends(&self) -> (String, bool) {
        if self.total_bytes <= 2 * KEPT {
            return (format!("{}{}{}", self.head, self.older, self.newer), false);
        }
        let end = self.end(KEPT);
        let omitted = self.total_bytes - self.head.len() - end.len();
        (format!("{}\n\n[... {omitted} bytes omitted ...]\n\n{end}", self.head), true)
    }

    /// Returns the last bytes, at most [`KEPT`] and a few more to begin with a whole character.
    fn end(&self, bytes: usize) -> String {
        let mut left = bytes;
        let mut parts = [&self.newer, &self.older, &self.head].map(|part| {
            let part = &part[part.floor_char_boundary(part.len().saturating_sub(left))..];
            left = left.saturating_sub(part.len());
            part
        });
        parts.reverse();
        parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Output {
        let mut output = Output::default();
        pieces.into_iter().for_each(|piece| output.push(piece));
        output.finish()
    }

    #[test]
    fn chunk_boundaries_do_not_matter() {
        let inputs: [&[u8]; 6] = [
            "a\u{e4}\u{20ac}\u{1f600}\n".as_bytes(),
            b"\xf0\x9fX\xc3\xc3Y\n\xff",
            b"\xf0\x9f\x98",
            b"\xef\xbb\xbfabc\n\xef\xbb\xbfdef",
            b"\xef\xbb\xbf\xef\xbb\xbftwo marks",
            b"\n\n\xe2\x82",
        ];
        for input in inputs {
            let whole = pushed([input]);
            let lossy = String::from_utf8_lossy(input);
            assert_eq!(whole.both_ends().0, without_mark(&lossy));
            for size in 1..=input.len() {
                let cut = pushed(input.chunks(size));
                assert_eq!(cut.both_ends(), whole.both_ends(), "{input:?} by {size}");
                assert_eq!(cut.tail(), whole.tail(), "{input:?} by {size}");
                assert_eq!(cut.last_line(), whole.last_line(), "{input:?} by {size}");
            }
        }
    }

    #[test]
    fn long_output_keeps_its_end_in_bounded_memory() {
        let words = ["x", "\u{20ac}uro\n", "", "longer words \u{1f600} and\n\n", "tab\t"];
        let mut whole = String::new();
        let mut output = Output::default();
        for index in 0..400_000 {
            let word = words[(index * index + index / 7) % words.len()];
            whole.push_str(word);
            output.push(word.as_bytes());
            let kept = output.head.len() + output.older.len() + output.newer.len();
            assert!(kept <= 3 * KEPT + 64);
            if index % 20_011 == 0 {
                assert_eq!(output.tail(), tail(&whole, MAX_LINES, MAX_BYTES), "{index}");
            }
        }
        assert!(whole.len() > 3 * KEPT, "there is something to leave out");
        let (ends, truncated) = output.both_ends();
        assert!(truncated);
        let (start, end) = ends.split_once("\n\n[... ").unwrap();
        assert!(whole.starts_with(start));
        let (omitted, end) = end.split_once(" bytes omitted ...]\n\n").unwrap();
        assert!(whole.ends_with(end));
        assert_eq!(start.len() + omitted.parse::<usize>().unwrap() + end.len(), whole.len());
    }
}
