//! Matches in one file: found with the searcher of ripgrep, shown as `NAME:LINE: text`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use pi_protocol::CancelToken;

/// Maximum number of shown characters of a line, counted in UTF-16 as in all results.
pub(super) const MAX_LINE: usize = 500;
/// Bytes of a line that are decoded to show it.
const ENOUGH_BYTES: usize = 8 * 1024;

/// Searches a file. An error means that the file could not be read to its end.
pub(super) fn search_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    file: File,
    limits: SearchLimits,
    cancel: &CancelToken,
) -> io::Result<Matches> {
    let mut matches = Matches { limits, numbers: Vec::new(), lines: BTreeMap::new() };
    let file = Cancellable { file, cancel };
    searcher.search_reader(matcher, file, &mut matches)?;
    Ok(matches)
}

/// A file that ends early after an abort.
#[derive(Debug)]
struct Cancellable<'a> {
    file: File,
    cancel: &'a CancelToken,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

/// The number of matches and context lines to collect.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchLimits {
    pub(super) matches: usize,
    pub(super) context: u64,
}

/// Matching lines of a file and the lines around them.
#[derive(Debug)]
pub(super) struct Matches {
    limits: SearchLimits,
    numbers: Vec<u64>,
    lines: BTreeMap<u64, Line>,
}

#[derive(Debug)]
struct Line {
    text: String,
    is_cut: bool,
    /// Another line follows, possibly the empty one after a final line break.
    has_next: bool,
}

impl Matches {
    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Appends the first `count` matches to a list, each with its context. Returns true if a line
    /// was truncated.
    pub(super) fn show(&self, name: &str, count: usize, list: &mut Vec<String>) -> bool {
        let mut is_cut = false;
        for &at in self.numbers.iter().take(count) {
            let around =
                at.saturating_sub(self.limits.context)..=at.saturating_add(self.limits.context);
            let mut end = None;
            for (number, line) in self.lines.range(around.clone()) {
                let mark = if *number == at { ':' } else { '-' };
                list.push(format!("{name}{mark}{number}{mark} {}", line.text));
                is_cut |= line.is_cut;
                end = line.has_next.then_some(number + 1);
            }
            // The empty line after a final line break counts as context.
            if let Some(number) = end.filter(|number| around.contains(number)) {
                list.push(format!("{name}-{number}- "));
            }
        }
        is_cut
    }

    /// Stores a line. Returns true if more lines are needed.
    fn keep(&mut self, number: Option<u64>, bytes: &[u8]) -> bool {
        let number = number.unwrap_or_default();
        self.lines.insert(number, Line::new(bytes));
        let is_enough = self.numbers.len() >= self.limits.matches;
        let last = self.numbers.last().copied().unwrap_or_default();
        !is_enough || number < last.saturating_add(self.limits.context)
    }
}

impl Sink for Matches {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // After the last limits match, further matches are only context.
        if self.numbers.len() < self.limits.matches {
            self.numbers.extend(found.line_number());
        }
        Ok(self.keep(found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.keep(context.line_number(), context.bytes()))
    }
}

impl Line {
    fn new(bytes: &[u8]) -> Self {
        let (bytes, has_next) = match bytes {
            [line @ .., b'\n'] => (line, true),
            line => (line, false),
        };
        let start = &bytes[..bytes.len().min(ENOUGH_BYTES)];
        let mut text = String::from_utf8_lossy(start).replace('\r', "");
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > MAX_LINE
        });
        let is_cut = end.is_some() || start.len() < bytes.len();
        if is_cut {
            text.truncate(end.map_or(text.len(), |(at, _)| at));
            text.push_str("... [truncated]");
        }
        Self { text, is_cut, has_next }
    }
}
