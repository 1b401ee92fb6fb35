//! The text of an editor: logical lines, and replacing a range of them.

use std::ops::Range;

/// A place in a text: between two characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Number of the logical line, from 0.
    pub line: usize,
    /// Offset in the line, in bytes.
    pub column: usize,
}

impl Position {
    /// Creates a position.
    pub fn new(line: usize, column: usize) -> Self {
        Self { line, column }
    }
}

/// Lines of text. There is always at least one.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    lines: Vec<String>,
}

/// The effect of a replacement.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The text that was there.
    pub(crate) removed: String,
    /// The end of the text that is there now.
    pub(crate) end: Position,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self { lines: vec![String::new()] }
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns a line; past the end, an empty one.
    pub(crate) fn line(&self, line: usize) -> &str {
        self.lines.get(line).map_or("", String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.len() == 1 && self.line(0).is_empty()
    }

    pub(crate) fn end(&self) -> Position {
        let line = self.lines.len().saturating_sub(1);
        Position::new(line, self.line(line).len())
    }

    /// Returns the nearest position that exists at or before `position`.
    pub(crate) fn clamp(&self, position: Position) -> Position {
        let line = position.line.min(self.lines.len().saturating_sub(1));
        Position::new(line, floor(self.line(line), position.column))
    }

    /// Returns the text of a range.
    pub(crate) fn slice(&self, range: &Range<Position>) -> String {
        let (start, end) = (self.clamp(range.start), self.clamp(range.end));
        if start >= end {
            return String::new();
        }
        if start.line == end.line {
            return self.line(start.line)[start.column..end.column].to_owned();
        }
        let mut text = self.line(start.line)[start.column..].to_owned();
        for line in &self.lines[start.line + 1..end.line] {
            text.push('\n');
            text.push_str(line);
        }
        text.push('\n');
        text.push_str(&self.line(end.line)[..end.column]);
        text
    }

    /// Replaces a range. Costs what the two lines at its ends and the new text contain.
    pub(crate) fn replace(&mut self, range: &Range<Position>, new: &str) -> Replaced {
        let start = self.clamp(range.start);
        let end = self.clamp(range.end).max(start);
        let removed = self.slice(&(start..end));
        if start.line == end.line && !new.contains('\n') {
            self.lines[start.line].replace_range(start.column..end.column, new);
            return Replaced { removed, end: Position::new(start.line, start.column + new.len()) };
        }
        let tail = self.lines[end.line].split_off(end.column);
        let mut parts = new.split('\n');
        let first = &mut self.lines[start.line];
        first.truncate(start.column);
        first.push_str(parts.next().unwrap_or_default());
        let rest = parts.map(str::to_owned);
        self.lines.splice(start.line + 1..end.line + 1, rest);
        let line = start.line + new.bytes().filter(|byte| *byte == b'\n').count();
        let last = &mut self.lines[line];
        let column = last.len();
        last.push_str(&tail);
        Replaced { removed, end: Position::new(line, column) }
    }
}

/// Returns the nearest character boundary at or before `offset`.
pub(crate) fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset.min(text.len()))
}
