//! Cutting long results: whole lines, from the beginning or the end, and a record of what was cut.

use serde::Serialize;

/// Lines of a result that a model is shown.
pub(crate) const MAX_LINES: usize = 2000;
/// Bytes of a result that a model is shown.
pub(crate) const MAX_BYTES: usize = 50 * 1024;

/// What is left of a text, and what was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// What is left.
    pub content: String,
    /// Something was cut.
    pub truncated: bool,
    /// Which limit came first.
    pub truncated_by: Option<TruncatedBy>,
    /// Lines before.
    pub total_lines: usize,
    /// Bytes before.
    pub total_bytes: usize,
    /// Lines left.
    pub output_lines: usize,
    /// Bytes left.
    pub output_bytes: usize,
    /// The last line is there in part: its end.
    pub last_line_partial: bool,
    /// The first line alone is too long; nothing is left.
    pub first_line_exceeds_limit: bool,
    /// The limit.
    pub max_lines: usize,
    /// The limit.
    pub max_bytes: usize,
}

/// Which limit came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    /// That of lines.
    Lines,
    /// That of bytes.
    Bytes,
}

/// The beginning of a text.
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

/// The end of a text.
pub(crate) fn tail(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let whole = whole(text, max_lines, max_bytes);
    if !whole.truncated {
        return whole;
    }
    let (kept, bytes, truncated_by) = fitting(lines(text).rev(), max_lines, max_bytes);
    match lines(text).next_back().filter(|_| kept == 0) {
        Some(last) => {
            let end = &last[last.ceil_char_boundary(last.len() - max_bytes.min(last.len()))..];
            let part = whole.with(end.to_owned(), 1, TruncatedBy::Bytes);
            Truncation { last_line_partial: true, ..part }
        }
        None => {
            let body = text.strip_suffix('\n').unwrap_or(text);
            whole.with(body[body.len() - bytes..].to_owned(), kept, truncated_by)
        }
    }
}

/// How many lines fit, how many bytes they are, and which limit came first.
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
    // All lines fit; it was the line break at the end that did not.
    (kept, bytes, TruncatedBy::Lines)
}

/// The lines of a text. A line break at the end does not begin another one.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').filter(|_| !text.is_empty())
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

/// A size for people: `512B`, `50.0KB`, `1.2MB`.
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
    fn a_line_break_that_does_not_fit_takes_no_line_with_it() {
        let cut = head("abcd\n", 9, 4);
        assert_eq!((cut.content.as_str(), cut.truncated_by), ("abcd", Some(TruncatedBy::Lines)));
        let cut = tail("ab\nd\n", 9, 4);
        assert_eq!((cut.content.as_str(), cut.truncated_by), ("ab\nd", Some(TruncatedBy::Lines)));
    }
}
