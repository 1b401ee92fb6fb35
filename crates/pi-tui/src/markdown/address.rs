//! Addresses in ordinary text.

use std::ops::Range;

/// The beginnings of addresses.
const STARTS: &[&str] = &["https://", "http://", "ftp://", "www."];

/// Returns the first address in a text.
pub(super) fn find(text: &str) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let (at, start) = STARTS
            .iter()
            .filter_map(|start| Some((find_ignoring_case(rest, start)?, start.len())))
            .min()?;
        let begin = from + at;
        let is_word_start =
            text.get(..begin)?.chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let tail = text.get(begin..)?;
        let end = tail
            .find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`|".contains(c))
            .unwrap_or(tail.len());
        let length = trimmed(tail.get(..end)?);
        if is_word_start && length > start {
            return Some(begin..begin + length);
        }
        from = begin + start;
    }
}

fn find_ignoring_case(text: &str, lower: &str) -> Option<usize> {
    let mut windows = text.as_bytes().windows(lower.len());
    windows.position(|window| window.eq_ignore_ascii_case(lower.as_bytes()))
}

/// Returns the length of an address without the punctuation of the sentence around it.
fn trimmed(address: &str) -> usize {
    let mut end = address.len();
    // A closing parenthesis belongs to the address if its opening one does.
    let count = |mark: char| address.matches(mark).count();
    let mut surplus = count(')').saturating_sub(count('('));
    while let Some(last) = address.get(..end).and_then(|text| text.chars().next_back()) {
        match last {
            ')' if surplus > 0 => surplus -= 1,
            '.' | ',' | ':' | ';' | '!' | '?' | '*' | '_' | '~' | '\'' | ']' | '。' | '、' => {}
            _ => break,
        }
        end -= last.len_utf8();
    }
    end
}

/// Returns the address that a click opens.
pub(super) fn complete(shown: &str) -> String {
    match shown.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("www.") => format!("https://{shown}"),
        _ => shown.to_owned(),
    }
}
