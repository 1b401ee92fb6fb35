//! Cutting lines by columns.

use super::columns::{grapheme_width, graphemes, width};
use crate::text::{Line, LineEnd, Span};

/// Cuts a line to `width` columns; what is cut is replaced by `ellipsis`, in the style before it.
pub fn truncate(line: &Line, width: usize, ellipsis: &str) -> Line {
    if line.width() <= width {
        return line.clone();
    }
    let mut mark = Line::plain(ellipsis);
    if mark.width() > width {
        mark = slice(&mark, 0, width);
    }
    let mut cut = slice(line, 0, width - mark.width());
    cut.end = line.end;
    let last = cut.spans().last().or(line.spans().first());
    let style = last.map(|span| span.style).unwrap_or_default();
    cut.push(mark.text(), style);
    if cut.caret.is_none() {
        cut.caret = line.caret.map(|caret| caret.min(cut.width()));
    }
    cut
}

/// Returns the columns `start..end` of a line. A wide character at an edge becomes spaces; a
/// character without width stays with the one before it.
///
/// The part with column 0 keeps the prompt mark and the image, the part with the last column the
/// end of the line.
pub fn slice(line: &Line, start: usize, end: usize) -> Line {
    if start == 0 && end >= line.width() {
        return line.clone();
    }
    let mut part = Line::new();
    if start == 0 {
        part.is_prompt = line.is_prompt;
        part.image.clone_from(&line.image);
    }
    if end >= line.width() {
        part.end = line.end;
    } else {
        part.end = LineEnd::Hard;
    }
    part.caret = line.caret.filter(|caret| {
        *caret >= start && (*caret < end || end >= line.width() && *caret <= line.width())
    });
    part.caret = part.caret.map(|caret| caret - start);

    let mut column = 0;
    for span in line.spans() {
        let after = column + width(&span.text);
        if after >= start && column <= end {
            let text = columns_of(&span.text, column, start, end);
            part.push_span(Span { text, ..span.clone() });
        }
        column = after;
        if column > end {
            break;
        }
    }
    part
}

/// Returns the columns `start..end` of a text whose first column is `column`.
fn columns_of(text: &str, mut column: usize, start: usize, end: usize) -> String {
    let mut part = String::new();
    // A mark at the start of the text belongs to the character before it.
    let mut keeps_marks = column > start && column <= end || column == 0 && start == 0;
    for grapheme in graphemes(text) {
        let after = column + grapheme_width(grapheme);
        if after == column {
            if keeps_marks {
                part.push_str(grapheme);
            }
            continue;
        }
        keeps_marks = column >= start && after <= end;
        if keeps_marks {
            part.push_str(grapheme);
        } else {
            let seen = after.min(end).saturating_sub(column.max(start));
            part.extend(std::iter::repeat_n(' ', seen));
        }
        column = after;
        if column > end {
            break;
        }
    }
    part
}
