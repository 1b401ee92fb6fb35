//! Redaction of a text that arrives in pieces, where a secret may be split over two of them.

use std::sync::Arc;

use super::Guard;

/// Longest text that is held back.
const MOST_HELD: usize = 16 * 1024;
/// The part that is held back of a longer text without white space: more than the length of a key.
const LONGEST_KEY: usize = 512;

/// A text that arrives in pieces. Its unfinished end is held back.
pub(crate) struct RedactedStream {
    guard: Option<Arc<Guard>>,
    held: String,
}

impl RedactedStream {
    /// Returns an empty stream. Without a guard, it redacts nothing.
    pub(crate) fn new(guard: Option<Arc<Guard>>) -> Self {
        let guard = guard.filter(|guard| guard.plan().redact_secrets);
        Self { guard, held: String::new() }
    }

    /// Adds a piece. Returns the redacted text up to its last complete line, without an unfinished
    /// private key.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let Some(guard) = &self.guard else { return piece.to_owned() };
        self.held.push_str(piece);
        let rest = self.held.split_off(complete(&self.held));
        let text = std::mem::replace(&mut self.held, rest);
        guard.redact(&text).into_owned()
    }

    /// Returns the redacted rest of the text.
    pub(crate) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        self.guard.as_ref().map_or_else(String::new, |guard| guard.redact(&rest).into_owned())
    }
}

/// Returns the length of the part of a text to which a later piece adds no secret.
fn complete(text: &str) -> usize {
    let line = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let begun = text.rfind("-----BEGIN").filter(|at| !text[*at..].contains("-----END"));
    let end = begun.map_or(line, |begun| begun.min(line));
    if text.len() - end <= MOST_HELD {
        return end;
    }
    let space = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    space.max(text.floor_char_boundary(text.len() - LONGEST_KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_keys_are_held_back_until_they_are_complete() {
        let long = "x".repeat(MOST_HELD + 1);
        for (text, expected) in [
            ("", 0),
            ("abc", 0),
            ("abc\n", 4),
            ("abc\nsk-", 4),
            ("10 %\r20 %", 5),
            ("a\n-----BEGIN PRIVATE KEY-----\nabc\n", 2),
            ("a\n-----BEGIN X-----\nabc\n-----END X-----\nb", 40),
            (&long, MOST_HELD + 1 - LONGEST_KEY),
            (&format!("{long} abc"), MOST_HELD + 2),
            (&format!("-----BEGIN {long}\nabc"), MOST_HELD + 13),
        ] {
            assert_eq!(complete(text), expected, "{text:.40}");
        }
    }
}
