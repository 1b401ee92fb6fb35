//! The shapes that messages and tools share: padding, boxes, rules, hints.

use pi_tui::{Color, Line, Span, Style, Token, text};

use super::options::Look;

/// Returns the lines of a text in one style. Escape sequences and control characters are removed.
pub(super) fn text_lines(source: &str, style: Style) -> Vec<Line> {
    let plain = text::plain(source);
    plain.split('\n').map(|line| Line::styled(line, style)).collect()
}

/// Returns a text on one line, without escape sequences and control characters.
pub(super) fn one_line(source: &str) -> String {
    text::plain(source).replace('\n', " ")
}

/// Breaks the lines that are wider than `width`.
pub(super) fn wrapped(lines: Vec<Line>, width: usize) -> Vec<Line> {
    if lines.iter().all(|line| line.width() <= width) {
        return lines;
    }
    let mut parts = Vec::with_capacity(lines.len());
    for line in lines {
        if line.width() <= width {
            parts.push(line);
            continue;
        }
        parts.extend(text::wrap(&line, width));
    }
    parts
}

/// Returns the padding that fits: one column stays for the text.
fn fitting_pad(pad: usize, width: usize) -> usize {
    pad.min(width.saturating_sub(1) / 2)
}

/// Returns the columns between two paddings.
pub(super) fn inner_width(pad: usize, width: usize) -> usize {
    width.saturating_sub(2 * fitting_pad(pad, width))
}

/// Breaks lines to the width and moves them to the right by the padding of messages.
pub(super) fn padded(lines: Vec<Line>, look: Look<'_>) -> Vec<Line> {
    let (pad, width) = (look.options.output_pad, look.view.width);
    let columns = fitting_pad(pad, width);
    let lines = wrapped(lines, inner_width(pad, width));
    lines.into_iter().map(|line| indented(line, columns, Style::PLAIN)).collect()
}

fn indented(line: Line, columns: usize, style: Style) -> Line {
    // Empty lines stay empty, so that nothing is written for them.
    if columns == 0 || line.width() == 0 && style == Style::PLAIN {
        return line;
    }
    line.indented(columns, style)
}

/// Puts lines on a background of the whole width, with an empty row above and below.
pub(super) fn boxed(lines: Vec<Line>, pad: usize, background: Color, width: usize) -> Vec<Line> {
    let style = Style::bg(background);
    let columns = fitting_pad(pad, width);
    let mut rows = vec![empty_row(style, width)];
    for line in wrapped(lines, inner_width(pad, width)) {
        let mut row = indented(line.on(background), columns, style);
        row.pad_to(width, style);
        rows.push(row);
    }
    rows.push(empty_row(style, width));
    rows
}

fn empty_row(style: Style, width: usize) -> Line {
    let mut row = Line::new();
    row.pad_to(width, style);
    row
}

/// Returns a rule over the whole width. It is layout.
pub(super) fn rule(style: Style, width: usize) -> Line {
    Line::from_spans([Span::layout("─".repeat(width), style)])
}

/// Returns `BEFOREctrl+o to expand)`: a remark that ends with the key that shows the rest.
pub(super) fn expand_hint(before: String, look: Look<'_>) -> Line {
    let (muted, dim) = (look.view.theme.fg(Token::Muted), look.view.theme.fg(Token::Dim));
    let key = &look.options.expand_key;
    if key.is_empty() {
        // The key is unbound, so there is nothing to hint at.
        let before = before.trim_end_matches([',', ' ']);
        return Line::styled(
            match before.strip_suffix('(') {
                Some(remark) => remark.trim_end().to_owned(),
                None => format!("{before})"),
            },
            muted,
        );
    }
    let mut line = Line::styled(before, muted);
    line.push(key.clone(), dim);
    line.push(" to expand)", muted);
    line
}

/// Marks the first of some lines as the beginning of a prompt or an answer.
pub(super) fn mark_prompt(lines: &mut [Line]) {
    if let Some(first) = lines.first_mut() {
        first.is_prompt = true;
    }
}
