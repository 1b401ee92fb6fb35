//! Cutting long results: whole lines, from the beginning or the end, and a record of what was cut.

use serde::Serialize;

/// Lines of a result that a model is shown.
pub const MAX_LINES: usize = 2000;
/// Bytes of a result that a model is shown.
pub const MAX_BYTES: usize = 50 * 1024;

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
pub fn head(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let lines = lines(text);
    let whole = whole(text, lines.len(), max_lines, max_bytes);
    if !whole.truncated {
        return whole;
    }
    if lines.first().is_some_and(|first| first.len() > max_bytes) {
        let truncated_by = Some(TruncatedBy::Bytes);
        return Truncation { truncated_by, first_line_exceeds_limit: true, ..whole };
    }
    let (kept, truncated_by) = fitting(lines.iter(), max_lines, max_bytes);
    whole.with(lines[..kept].join("\n"), kept, truncated_by)
}

/// The end of a text.
pub fn tail(text: &str, max_lines: usize, max_bytes: usize) -> Truncation {
    let lines = lines(text);
    let whole = whole(text, lines.len(), max_lines, max_bytes);
    if !whole.truncated {
        return whole;
    }
    let (kept, truncated_by) = fitting(lines.iter().rev(), max_lines, max_bytes);
    match lines.last().filter(|_| kept == 0) {
        Some(last) => {
            let end = &last[last.ceil_char_boundary(last.len() - max_bytes.min(last.len()))..];
            let part = whole.with(end.to_owned(), 1, TruncatedBy::Bytes);
            Truncation { last_line_partial: true, ..part }
        }
        None => whole.with(lines[lines.len() - kept..].join("\n"), kept, truncated_by),
    }
}

/// How many lines fit, and which limit came first.
fn fitting<'a>(
    lines: impl Iterator<Item = &'a &'a str>,
    max_lines: usize,
    max_bytes: usize,
) -> (usize, TruncatedBy) {
    let (mut kept, mut bytes) = (0, 0);
    for line in lines.take(max_lines) {
        bytes += line.len() + usize::from(kept > 0);
        if bytes > max_bytes {
            return (kept, TruncatedBy::Bytes);
        }
        kept += 1;
    }
    // All of them, if only the line break at the end was too much.
    (kept, TruncatedBy::Lines)
}

/// The lines of a text. A line break at the end does not begin another one.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

fn whole(text: &str, lines: usize, max_lines: usize, max_bytes: usize) -> Truncation {
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
pub fn format_size(bytes: usize) -> String {
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
    fn a_last_line_break_beyond_the_limit_is_all_that_is_cut() {
        for cut in [head("ab\nc\n", 10, 4), tail("ab\nc\n", 10, 4)] {
            assert_eq!((cut.content.as_str(), cut.output_lines), ("ab\nc", 2));
            assert_eq!((cut.truncated, cut.truncated_by), (true, Some(TruncatedBy::Lines)));
        }
    }
}
