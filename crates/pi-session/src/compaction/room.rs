//! Fits a record into the context window of the model that summarizes it.
//!
//! A conversation that has outgrown a model is usually too long for one request to it.

use pi_protocol::Model;

use super::text_tokens;

/// Tokens reserved for the answer.
const ANSWER: u64 = 16_384;
/// Tokens reserved for the instructions.
const INSTRUCTIONS: u64 = 2_000;
/// Lower bound of UTF-8 bytes per token: sizes are estimated in characters and cut in bytes.
const BYTES_PER_TOKEN: u64 = 3;

/// Returns the tokens of a record that fit into a request beside `other` text.
pub(super) fn room(model: &Model, other: &str) -> u64 {
    match model.context_window {
        0 => u64::MAX,
        window => {
            let taken = ANSWER.min(window / 3) + INSTRUCTIONS.min(window / 8) + text_tokens(other);
            window.saturating_sub(taken).max(window / 4)
        }
    }
}

/// Splits a record into parts of at most `tokens`, between messages if possible.
pub(super) fn parts(record: &str, tokens: u64) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = record;
    while text_tokens(rest) > tokens {
        let most = floor(rest, bytes(tokens));
        let at = rest[..most].rfind("\n\n[").filter(|at| *at > 0).unwrap_or(most);
        parts.push(&rest[..at]);
        rest = &rest[at..];
    }
    parts.push(rest);
    parts
}

/// Returns the beginning and the end of a record that does not fit into one request.
pub(super) fn fit(record: &str, tokens: u64) -> String {
    if text_tokens(record) <= tokens {
        return record.to_owned();
    }
    let half = bytes(tokens) / 2;
    let (head, tail) = (floor(record, half), floor(record, record.len() - half));
    format!("{}\n\n[... omitted ...]\n\n{}", &record[..head], &record[tail..])
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX).max(16)
}

/// Returns the nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_parts() {
        let record = "[User]: ünï\n\n[Assistant]: ".to_owned() + &"日本語 ".repeat(500);
        for tokens in [1, 10, 100, 1000, 100_000] {
            let parts = parts(&record, tokens);
            assert_eq!(parts.concat(), record);
            assert!(parts.iter().all(|part| text_tokens(part) <= tokens.max(8)), "{tokens}");
            assert!(text_tokens(&fit(&record, tokens)) <= tokens.max(8) + 20, "{tokens}");
        }
        let parts = parts("[User]: one\n\n[User]: two", 5);
        assert_eq!(parts, ["[User]: one", "\n\n[User]: two"]);
    }
}
