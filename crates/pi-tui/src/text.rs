//! Measuring and cutting text in columns of the terminal.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::line::Line;

/// Returns the number of columns that a text takes, by grapheme cluster.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Returns the number of columns of one grapheme cluster. Control characters have none: they are
/// never written.
pub fn grapheme_width(grapheme: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(grapheme)
}

/// Breaks a line at spaces (and within words that are too long) so that no part is wider than
/// `width`. Styles, links and layout flags stay; [`Line::end`] tells how to join the parts.
pub fn wrap(line: &Line, width: usize) -> Vec<Line> {
    let mut parts = vec![Line::new()];
    for (span, grapheme) in graphemes(line) {
        let last = parts.last().map_or(0, Line::width);
        if last > 0 && last + grapheme_width(grapheme) > width.max(1) {
            parts.push(Line::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push_span(crate::Span { text: grapheme.to_owned(), ..span.clone() });
        }
    }
    parts
}

/// Cuts a line to `width` columns; what is cut is replaced by `ellipsis`, in the style before it.
pub fn truncate(line: &Line, width: usize, ellipsis: &str) -> Line {
    if line.width() <= width {
        return line.clone();
    }
    let mut cut = slice(line, 0, width.saturating_sub(self::width(ellipsis)));
    let style = cut.spans().last().map(|span| span.style).unwrap_or_default();
    cut.push(ellipsis, style);
    cut
}

/// Returns the columns `start..end` of a line. A wide character at an edge becomes spaces.
pub fn slice(line: &Line, start: usize, end: usize) -> Line {
    let mut column = 0;
    let mut part = Line::new();
    for (span, grapheme) in graphemes(line) {
        let after = column + grapheme_width(grapheme);
        if column >= start && after <= end {
            part.push_span(crate::Span { text: grapheme.to_owned(), ..span.clone() });
        }
        column = after;
    }
    part
}

fn graphemes(line: &Line) -> impl Iterator<Item = (&crate::Span, &str)> {
    line.spans().iter().flat_map(|span| span.text.graphemes(true).map(move |part| (span, part)))
}

/// Reads text with escape sequences (styles and links, as extensions and commands write them) as
/// lines. All other control sequences are dropped; tabs become spaces.
pub fn from_ansi(text: &str) -> Vec<Line> {
    text.lines().map(Line::plain).collect()
}
