//! What stands before the caret: a command, an argument, a file after `@`, a path.

use super::CompletionRequest;

/// The thing that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Context<'a> {
    /// The name of a command: the first line begins with `/`.
    Command {
        /// The name as far as it is typed, without the slash.
        name: &'a str,
    },
    /// The arguments of a command.
    Argument {
        /// The name of the command, without the slash.
        command: &'a str,
        /// The arguments before the caret.
        text: &'a str,
        /// The offset of the arguments in the line, in bytes.
        start: usize,
    },
    /// A word that begins with `@`.
    File(Token<'a>),
    /// Any other word. Completed on Tab only.
    Word(Token<'a>),
}

/// A word before the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The offset of the word in the line, with `@` and quote, in bytes.
    pub start: usize,
    /// The word without `@` and quote.
    pub text: &'a str,
    /// The word begins with `@`.
    pub is_file: bool,
    /// The word begins with a double quote.
    pub is_quoted: bool,
}

/// Returns the thing before the caret of a request.
pub fn of<'a>(request: &CompletionRequest<'a>) -> Context<'a> {
    let before = request.before();
    let token = token(before);
    if token.is_file {
        return Context::File(token);
    }
    match before.strip_prefix('/') {
        Some(rest) if request.line == 0 => match rest.split_once(char::is_whitespace) {
            None => Context::Command { name: rest },
            Some((command, text)) => {
                Context::Argument { command, text, start: before.len() - text.len() }
            }
        },
        _ => Context::Word(token),
    }
}

/// Returns the word at the end of a text.
pub fn token(before: &str) -> Token<'_> {
    if let Some(token) = quoted_token(before) {
        return token;
    }
    let start = word_start(before);
    let word = before.get(start..).unwrap_or_default();
    match word.strip_prefix('@') {
        Some(text) => Token { start, text, is_file: true, is_quoted: false },
        None => Token { start, text: word, is_file: false, is_quoted: false },
    }
}

/// Returns the word that an open double quote begins.
fn quoted_token(before: &str) -> Option<Token<'_>> {
    if before.bytes().filter(|byte| *byte == b'"').count() % 2 == 0 {
        return None;
    }
    let quote = before.rfind('"')?;
    let head = before.get(..quote)?;
    let text = before.get(quote + 1..)?;
    let (head, is_file) = match head.strip_suffix('@') {
        Some(head) => (head, true),
        None => (head, false),
    };
    let is_start = head.is_empty() || head.ends_with(|last| is_delimiter(last) || is_wrapper(last));
    is_start.then_some(Token { start: head.len(), text, is_file, is_quoted: true })
}

/// Returns the start of the unquoted word at the end of a text.
fn word_start(before: &str) -> usize {
    let after_delimiter = before
        .char_indices()
        .rev()
        .find(|(_, character)| is_delimiter(*character))
        .map_or(0, |(at, character)| at + character.len_utf8());
    let word = before.get(after_delimiter..).unwrap_or_default();
    before.len() - word.trim_start_matches(is_wrapper).len()
}

/// Returns true for characters that end a word: spaces, quotes, `=`, CJK punctuation.
pub(crate) fn is_delimiter(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '"' | '\'' | '=')
        || is_cjk_punctuation(character)
}

/// Returns true for the punctuation of Chinese, Japanese and Korean.
pub(crate) fn is_cjk_punctuation(character: char) -> bool {
    matches!(u32::from(character),
        0x3001..=0x3003 | 0x3008..=0x3011 | 0x3014..=0x301F | 0x30FB | 0xFF01..=0xFF0F
        | 0xFF1A..=0xFF20 | 0xFF3B..=0xFF40 | 0xFF5B..=0xFF65 | 0x2018..=0x201D | 0x2026)
}

/// Returns true for characters before a word that do not belong to it.
fn is_wrapper(character: char) -> bool {
    matches!(character, '(' | '[' | '{' | '<' | '`')
}
