//! Lines side by side.

use crate::style::Style;
use crate::text;
use crate::text::Line;

/// Puts columns of lines side by side. Each column has a width, to which its lines are cut or
/// filled, and `gap` spaces before the next one.
pub fn columns(parts: &[(&[Line], usize)], gap: usize) -> Vec<Line> {
    let height = parts.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0);
    (0..height).map(|row| side_by_side(parts, gap, row)).collect()
}

fn side_by_side(parts: &[(&[Line], usize)], gap: usize, row: usize) -> Line {
    let mut joined = Line::new();
    let mut start = 0;
    for (lines, width) in parts {
        if let Some(line) = lines.get(row) {
            // Padding comes before a column, so that no row ends with spaces.
            joined.pad_to(start, Style::PLAIN);
            joined.append(&text::truncate(line, *width, "…"));
            joined.is_prompt |= line.is_prompt;
        }
        start += width + gap;
    }
    joined
}
