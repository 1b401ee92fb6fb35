//! Highlighting of a code block that arrives in pieces: every line is highlighted once.

use std::ops::Range;

use super::Highlighting;
use super::code;
use super::scan::CodePart;
use crate::highlight::{CodeSpan, Highlighter};

/// The state of highlighting within a text.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of the code block.
    block: usize,
    /// The start of the piece in the text.
    start: usize,
    /// The end of the lines that are highlighted.
    at: usize,
    highlighter: Option<Highlighter>,
    /// The highlighted lines of the piece.
    spans: Vec<Vec<CodeSpan>>,
}

impl Progress {
    /// Returns true if the next piece is that of this block at `start`.
    pub(super) fn is_at(&self, block: usize, start: usize) -> bool {
        self.highlighter.is_some() && self.block == block && self.start == start
    }

    /// Returns the lines of a complete piece, and continues with the next one.
    pub(super) fn piece(
        &mut self,
        text: &str,
        range: &Range<usize>,
        part: &CodePart,
        mode: Highlighting,
    ) -> Option<Vec<Vec<CodeSpan>>> {
        self.advance(text, range, part, mode)?;
        self.finish_line(text, range, part);
        self.start = range.end;
        self.at = range.end;
        Some(std::mem::take(&mut self.spans))
    }

    /// Returns the lines of a piece that may grow.
    pub(super) fn open_piece(
        &mut self,
        text: &str,
        range: &Range<usize>,
        part: &CodePart,
        mode: Highlighting,
    ) -> Option<Vec<Vec<CodeSpan>>> {
        self.advance(text, range, part, mode)?;
        let saved = self.highlighter.clone();
        let (at, count) = (self.at, self.spans.len());
        self.finish_line(text, range, part);
        let spans = self.spans.clone();
        self.spans.truncate(count);
        self.at = at;
        self.highlighter = saved;
        Some(spans)
    }

    /// Highlights the complete lines of a piece. Returns nothing if the code stays plain.
    fn advance(
        &mut self,
        text: &str,
        range: &Range<usize>,
        part: &CodePart,
        mode: Highlighting,
    ) -> Option<()> {
        if !self.is_at(part.block, range.start) {
            let sample = text.get(range.clone()).unwrap_or_default();
            let (highlighter, _) = code::highlighter(part.fence.language(), sample, mode);
            self.block = part.block;
            self.start = range.start;
            self.at = range.start;
            self.highlighter = Some(highlighter?);
            self.spans.clear();
        }
        let highlighter = self.highlighter.as_mut()?;
        let rest = text.get(self.at..range.end).unwrap_or_default();
        for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            self.spans.push(spans(highlighter, line, part));
            self.at += line.len();
        }
        Some(())
    }

    /// Highlights a last line that has no end.
    fn finish_line(&mut self, text: &str, range: &Range<usize>, part: &CodePart) {
        let rest = text.get(self.at..range.end).unwrap_or_default();
        if let Some(highlighter) = self.highlighter.as_mut().filter(|_| !rest.is_empty()) {
            self.spans.push(spans(highlighter, rest, part));
            self.at = range.end;
        }
    }
}

fn spans(highlighter: &mut Highlighter, line: &str, part: &CodePart) -> Vec<CodeSpan> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    highlighter.line(code::outdented(line, part.fence.indent))
}
