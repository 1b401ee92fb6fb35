//! Formulas in LaTeX as Unicode text.

use std::ops::Range;

/// A formula in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The formula without its delimiters.
    pub(super) content: &'a str,
    /// Bytes of the text, delimiters included.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The formula is displayed in lines of its own.
    pub(super) is_display: bool,
}

impl<'a> Found<'a> {
    /// Returns the formula with its delimiters.
    pub(super) fn source(&self, text: &'a str) -> &'a str {
        text.get(Range { start: self.start, end: self.end }).unwrap_or_default()
    }
}

/// Returns the first formula that begins in `from..to`. With `after_escape` a backslash before
/// `from` belongs to the text.
pub(super) fn find(
    _text: &str,
    _from: usize,
    _to: usize,
    _after_escape: bool,
) -> Option<Found<'_>> {
    None
}

/// Returns a formula as one line.
pub(super) fn inline(_formula: &str) -> Option<String> {
    None
}

/// Returns a formula as lines.
pub(super) fn display(_formula: &str) -> Option<Vec<String>> {
    None
}
