//! Styles over parts of a line.

use std::ops::Range;

use super::super::cells::cells;
use crate::style::Style;
use crate::text::{Line, Span};

/// Returns the line with another style in some columns.
pub(super) fn restyle(line: &Line, columns: Range<usize>, change: impl Fn(Style) -> Style) -> Line {
    let mut result = Line::new();
    for cell in cells(line, usize::MAX) {
        let mut span = Span::new(cell.text, cell.style);
        span.link = cell.link.cloned();
        span.is_layout = cell.is_layout;
        if columns.contains(&cell.column) {
            span.style = change(cell.style);
        }
        result.push_span(span);
    }
    result.caret = line.caret;
    result.end = line.end;
    result.is_prompt = line.is_prompt;
    result.image.clone_from(&line.image);
    result
}
