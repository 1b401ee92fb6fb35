//! Truncation of long results to whole lines, from the start or the end.

use serde::Serialize;

/// Maximum number of lines of a result.
pub(crate) const MAX_LINES: usize = 2000;
/// Maximum number of bytes of a result.
pub(crate) const MAX_BYTES: usize = 50 * 1024;

/// A truncated text and a record of the truncation, as sessions store it in `details`.
///
/// `total_*` count the text before truncation, `output_*` count it after; `max_*` are the limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The comment above covers the fields.
#[non_exhaustive]
pub struct Truncation {
    pub content: String,
    pub truncated: bool,
    /// Limit that was exceeded first.
    pub truncated_by: Option<TruncatedBy>,
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// The output is the end of a single line that exceeds the limit.
    pub last_line_partial: bool,
    /// The first line alone exceeds the limit; the output is empty.
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

/// The limit that was exceeded first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    /// Number of lines.
    Lines,
    /// Number of bytes.
    Bytes,
}

/// Truncates a text to its first lines.
pub(crate) fn head(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let whole = whole(text, max_lines, max_bytes);
    if !whole.truncated {
        return whole;
    }
    if lines(text).next().is_some_and(|first| first.len() > max_bytes) {
        let truncated_by = Some(TruncatedBy::Bytes);
        return Truncation { truncated_by, first_line_exceeds_limit: true, ..whole };
    }
    let (kept, bytes, truncated_by) = fitting(lines(text), max_lines, max_bytes);
    whole.with(text[..bytes].to_owned(), kept, truncated_by)
}

/// Truncates a text to its last lines.
pub(crate) fn tail(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let whole = whole(text, max_lines, max_bytes);
    if !whole.truncated {
        return whole;
    }
    let (kept, bytes, truncated_by) = fitting(lines(text).rev(), max_lines, max_bytes);
    if kept == 0
        && let Some(last) = lines(text).next_back()
    {
        let end = &last[last.ceil_char_boundary(last.len() - max_bytes.min(last.len()))..];
        let part = whole.with(end.to_owned(), 1, TruncatedBy::Bytes);
        return Truncation { last_line_partial: true, ..part };
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    whole.with(body[body.len() - bytes..].to_owned(), kept, truncated_by)
}

/// Returns the number of lines that fit, their size, and the limit that was exceeded first.
fn fitting<'a>(
    lines: impl Iterator<Item = &'a str>,
    max_lines: usize,
    max_bytes: usize,
) -> (usize, usize, TruncatedBy) {
    let (mut kept, mut bytes) = (0, 0);
    for line in lines {
        if kept == max_lines {
            return (kept, bytes, TruncatedBy::Lines);
        }
        let more = bytes + line.len() + usize::from(kept > 0);
        if more > max_bytes {
            return (kept, bytes, TruncatedBy::Bytes);
        }
        (kept, bytes) = (kept + 1, more);
    }
    // All lines fit; only the final line break does not.
    (kept, bytes, TruncatedBy::Lines)
}

/// Splits a text into lines. A final line break does not start another line.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let lines = if text.is_empty() { None } else { Some(body.split('\n')) };
    lines.into_iter().flatten()
}

fn whole(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let lines = lines(text).count();
    let truncated = lines > max_lines || text.len() > max_bytes;
    Truncation {
        content: if truncated { String::new() } else { text.to_owned() },
        truncated,
        truncated_by: None,
        total_lines: lines,
        total_bytes: text.len(),
        output_lines: if truncated { 0 } else { lines },
        output_bytes: if truncated { 0 } else { text.len() },
        last_line_partial: false,
        first_line_exceeds_limit: false,
        max_lines,
        max_bytes,
    }
}

impl Truncation {
    fn with(self, content: String, lines: usize, by: TruncatedBy) -> Self {
        Self {
            output_lines: lines,
            output_bytes: content.len(),
            truncated_by: Some(by),
            content,
            ..self
        }
    }
}

/// Formats a size: `512B`, `50.0KB`, `1.2MB`.
pub(crate) fn format_size(bytes: usize) -> String {
    let bytes = bytes as f64;
    match bytes {
        _ if bytes < 1024.0 => format!("{bytes}B"),
        _ if bytes < 1024.0 * 1024.0 => format!("{:.1}KB", bytes / 1024.0),
        _ => format!("{:.1}MB", bytes / (1024.0 * 1024.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_line_break_is_cut_off() {
        let cut = head("abcd\n", 9, 4);
        assert_eq!((cut.content.as_str(), cut.truncated_by), ("abcd", Some(TruncatedBy::Lines)));
        let cut = tail("ab\nd\n", 9, 4);
        assert_eq!((cut.content.as_str(), cut.truncated_by), ("ab\nd", Some(TruncatedBy::Lines)));
    }
}
