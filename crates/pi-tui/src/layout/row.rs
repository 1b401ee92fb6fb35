//! Single rows: rules, and rows with text at both ends.

use crate::style::Style;
use crate::text;
use crate::text::{Line, Span};

/// Columns that stay free between the two ends of a row.
const GAP: usize = 2;

/// Returns a horizontal rule.
pub fn rule(width: usize, style: Style) -> Line {
    Line::from_spans([Span::layout("─".repeat(width), style)])
}

/// Returns a row of at most `width` columns with a text at the left and one at the right edge, and
/// at least two spaces between them. If there is no room for both, the right one is cut, then left
/// out; then the left one is cut.
pub fn justified(left: &Line, right: &Line, width: usize) -> Line {
    let mut row = text::truncate(left, width, "…");
    let room = width.saturating_sub(row.width() + GAP);
    if room == 0 || right.width() == 0 {
        return row;
    }
    let right = text::truncate(right, room, "…");
    row.pad_to(width - right.width(), Style::PLAIN);
    row.append(&right);
    row
}
