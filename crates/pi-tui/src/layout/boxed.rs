//! Boxes: padding around lines, on a background.

use crate::style::{Color, Style};
use crate::text;
use crate::text::Line;

/// The empty columns at the left and right of lines, and the empty rows above and below.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Padding {
    pub x: usize,
    pub y: usize,
}

impl Padding {
    /// Returns the columns that are left for the content of a box. In narrow boxes the padding
    /// shrinks, so that there is a column for the content.
    pub fn inner(self, width: usize) -> usize {
        width - 2 * self.columns(width)
    }

    /// Returns the columns at each side.
    fn columns(self, width: usize) -> usize {
        self.x.min(width.saturating_sub(1) / 2)
    }
}

/// Returns lines in a box of `width` columns: each line with padding, on the background. The lines
/// must fit into [`Padding::inner`]; longer ones are cut. Without lines there is no box.
pub fn boxed(lines: &[Line], width: usize, padding: Padding, bg: Color) -> Vec<Line> {
    if lines.is_empty() {
        return Vec::new();
    }
    let style = Style::bg(bg);
    let mut empty = Line::new();
    if bg != Color::Default {
        empty.pad_to(width, style);
    }
    let left = Line::styled(" ".repeat(padding.columns(width)), style);
    let mut boxed = vec![empty.clone(); padding.y];
    for line in lines {
        let row = text::slice(line, 0, padding.inner(width)).prefixed(&left);
        let mut row = row.on(bg);
        if bg != Color::Default {
            row.pad_to(width, style);
        }
        boxed.push(row);
    }
    boxed.extend(vec![empty; padding.y]);
    boxed
}
