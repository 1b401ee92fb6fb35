//! Making a record fit the model that is to summarise it.
//!
//! A conversation that has outgrown a model is, nearly by definition, too long to be shown to it
//! at once.

use pi_protocol::Model;

use super::text_tokens;

/// Tokens left for the answer.
const ANSWER: u64 = 16_384;
/// Tokens left for instructions.
const INSTRUCTIONS: u64 = 2_000;
/// UTF-8 bytes per token, at the least: what is estimated in characters is cut in bytes.
const BYTES_PER_TOKEN: u64 = 3;

/// The tokens of a record that a model can be shown beside `other` text.
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

/// Beginning and end of a record that has to be shown in one piece.
pub(super) fn fit(record: &str, tokens: u64) -> String {
    if text_tokens(record) <= tokens {
        return record.to_owned();
    }
    let half = bytes(tokens) / 2;
    let (head, tail) = (floor(record, half), floor(record, record.len() - half));
    format!("{}\n\n[... left out ...]\n\n{}", &record[..head], &record[tail..])
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX).max(16)
}

/// The nearest place before `at` that is not inside a character.
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
