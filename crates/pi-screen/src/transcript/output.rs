//! The text of tool results: how much of it is shown, and what is said about the rest.

use std::borrow::Cow;

use pi_protocol::UserBlock;
use pi_tui::{Line, Style, text};

use super::images;
use super::layout::{expand_hint, text_lines, wrapped};
use super::options::Look;

/// Returns the text of a result, with a line for each image that cannot be shown.
pub(super) fn text_of<'a>(content: &'a [UserBlock], look: Look<'_>) -> Cow<'a, str> {
    if let [UserBlock::Text(text)] = content {
        return Cow::Borrowed(&text.text);
    }
    let parts: Vec<Cow<'_, str>> = content
        .iter()
        .filter_map(|block| match block {
            UserBlock::Text(text) => Some(Cow::Borrowed(text.text.as_str())),
            UserBlock::Image(image) if images::is_shown(image, look) => None,
            UserBlock::Image(image) => Some(Cow::Owned(images::fallback(image))),
            UserBlock::Unknown(_) => None,
        })
        .collect();
    Cow::Owned(parts.join("\n"))
}

/// Returns the first lines of a text and a remark about the others; all lines if `expanded`.
pub(super) fn head(
    source: &str,
    most: usize,
    expanded: bool,
    style: Style,
    look: Look<'_>,
) -> Vec<Line> {
    let source = source.trim_end();
    if source.is_empty() {
        return Vec::new();
    }
    let (shown, left) = if expanded { (source, 0) } else { first_lines(source, most) };
    let mut lines = text_lines(shown, style);
    if left > 0 {
        lines.push(expand_hint(format!("... ({}, ", counted(left, "more")), look));
    }
    lines
}

/// Returns a number of lines as text: `3 more lines`.
pub(super) fn counted(lines: usize, which: &str) -> String {
    format!("{lines} {which} line{}", if lines == 1 { "" } else { "s" })
}

/// Returns the first `most` lines, and the number of the others.
pub(super) fn first_lines(source: &str, most: usize) -> (&str, usize) {
    match source.match_indices('\n').nth(most.saturating_sub(1)) {
        Some((end, _)) => {
            let (shown, rest) = source.split_at(end);
            (shown, count_lines(rest))
        }
        None => (source, 0),
    }
}

/// Returns the last `most` lines, and the number of the others before them.
pub(super) fn last_lines(source: &str, most: usize) -> (usize, &str) {
    match source.rmatch_indices('\n').nth(most.saturating_sub(1)) {
        Some((at, _)) => {
            let (before, last) = source.split_at(at);
            (count_lines(before) + 1, last.strip_prefix('\n').unwrap_or(last))
        }
        None => (0, source),
    }
}

/// Returns the number of line breaks.
pub(super) fn count_lines(source: &str) -> usize {
    source.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the last rows of a text, and the number of rows above them. The whole text if `expanded`.
pub(super) fn tail(
    source: &str,
    most: usize,
    expanded: bool,
    style: Style,
    width: usize,
) -> (Vec<Line>, usize) {
    let plain = text::plain(source);
    let mut rows: Vec<Line> = Vec::new();
    let mut lines = plain.split('\n').rev();
    if expanded {
        return (wrapped(plain.split('\n').map(|l| Line::styled(l, style)).collect(), width), 0);
    }
    // From the end, so that a long output costs what is shown and one pass over the rest.
    while rows.len() < most {
        let Some(line) = lines.next() else { break };
        rows.extend(wrapped(vec![Line::styled(line, style)], width).into_iter().rev());
    }
    let hidden: usize = lines.map(|line| rows_of(line, width)).sum();
    let cut = rows.len().saturating_sub(most);
    rows.truncate(most);
    rows.reverse();
    (rows, hidden + cut)
}

/// Returns the rows that a line of text takes.
fn rows_of(line: &str, width: usize) -> usize {
    // No character has more columns than bytes.
    if line.len() <= width || text::width(line) <= width {
        return 1;
    }
    text::wrap(&Line::plain(line), width).len().max(1)
}

/// Returns the text before and after a remark of a tool that begins with `start`, such as
/// `\n\n[Showing `, and the remark in brackets.
pub(super) fn split_remark<'a>(
    source: &'a str,
    start: &str,
) -> Option<(&'a str, &'a str, &'a str)> {
    let at = source.rfind(start)?;
    let (before, rest) = source.split_at(at);
    let remark = rest.trim_start_matches('\n');
    let end = remark
        .find("]\n")
        .map_or_else(|| remark.ends_with(']').then_some(remark.len()), |end| Some(end + 1))?;
    let (remark, after) = remark.split_at(end);
    Some((before, remark, after))
}

/// Formats a duration: `0.1s`, `59.9s`, `1m 30s`, `1h 2m`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if seconds < 60.0 {
        // Cut, not rounded: 59.97 is not a minute.
        return format!("{:.1}s", (seconds * 10.0).floor() / 10.0);
    }
    let whole = seconds as u64;
    match whole {
        0..3600 => format!("{}m {}s", whole / 60, whole % 60),
        _ => format!("{}h {}m", whole / 3600, whole % 3600 / 60),
    }
}
