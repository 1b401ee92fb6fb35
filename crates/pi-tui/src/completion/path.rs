//! Paths as completions insert them: with `@`, quotes and slashes where they belong.

use super::context::is_cjk_punctuation;
use super::{Completion, Token};

/// Returns the completion of a word by a path. `path` has no slash at its end.
pub fn completion(token: &Token<'_>, label: &str, path: &str, is_directory: bool) -> Completion {
    let slash = if is_directory { "/" } else { "" };
    let at = if token.is_file { "@" } else { "" };
    let is_quoted = token.is_quoted || needs_quotes(path);
    let quote = if is_quoted { "\"" } else { "" };
    // After a file the next word begins; a directory is a prefix that goes on.
    let space = if token.is_file && !is_directory { " " } else { "" };
    Completion {
        label: format!("{label}{slash}"),
        description: None,
        insert: format!("{at}{quote}{path}{slash}{quote}{space}"),
        caret_back: if is_directory { quote.len() } else { 0 },
    }
}

/// Returns true if a path would end within itself: at a space or CJK punctuation.
pub fn needs_quotes(path: &str) -> bool {
    path.contains(|character: char| character.is_whitespace() || is_cjk_punctuation(character))
}
