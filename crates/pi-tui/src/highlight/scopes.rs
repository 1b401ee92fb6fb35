//! The tokens of the theme for the scopes of the grammars.

use std::sync::OnceLock;

use syntect::parsing::Scope;

use crate::theme::Token;

/// The tokens of scopes; the first matching prefix decides. Scopes without a token are transparent:
/// the scope around them decides.
const TOKENS: &[(&str, Decision)] = &[
    ("comment", Decision::Token(Token::SyntaxComment)),
    ("punctuation.definition.comment", Decision::Token(Token::SyntaxComment)),
    ("punctuation.definition.string", Decision::Token(Token::SyntaxString)),
    ("punctuation.section.interpolation", Decision::Plain),
    ("meta.interpolation", Decision::Plain),
    ("keyword.operator", Decision::Word(Token::SyntaxKeyword)),
    ("keyword", Decision::Token(Token::SyntaxKeyword)),
    ("storage.type.numeric", Decision::Token(Token::SyntaxNumber)),
    ("storage", Decision::Word(Token::SyntaxKeyword)),
    ("variable.language", Decision::Token(Token::SyntaxKeyword)),
    ("variable.parameter", Decision::Token(Token::SyntaxVariable)),
    ("variable.other.readwrite", Decision::Token(Token::SyntaxVariable)),
    ("constant.character.escape", Decision::Token(Token::SyntaxString)),
    ("constant", Decision::Token(Token::SyntaxNumber)),
    ("string", Decision::Token(Token::SyntaxString)),
    ("entity.other.inherited-class", Decision::Token(Token::SyntaxVariable)),
    ("entity.other.attribute-name", Decision::Token(Token::SyntaxVariable)),
    ("entity.name.tag", Decision::Token(Token::SyntaxKeyword)),
    ("entity.name.type", Decision::Token(Token::SyntaxType)),
    ("entity.name", Decision::Token(Token::SyntaxFunction)),
    ("support.type.property-name", Decision::Token(Token::SyntaxVariable)),
    ("support.macro", Decision::Token(Token::SyntaxType)),
    ("support", Decision::Token(Token::SyntaxType)),
    ("meta.preprocessor", Decision::Token(Token::Muted)),
    ("meta.annotation", Decision::Token(Token::Muted)),
    ("meta.diff", Decision::Token(Token::Muted)),
    ("markup.heading", Decision::Token(Token::SyntaxFunction)),
    ("markup.raw", Decision::Token(Token::SyntaxString)),
    ("markup.inserted", Decision::Token(Token::ToolDiffAdded)),
    ("markup.deleted", Decision::Token(Token::ToolDiffRemoved)),
];

/// What a scope means.
#[derive(Clone, Copy)]
enum Decision {
    Token(Token),
    /// The token counts for words; signs are plain.
    Word(Token),
    /// The text is plain, also in a scope that has a token.
    Plain,
}

/// Returns the token of a text in these scopes, the innermost last.
pub(super) fn token(scopes: &[Scope], text: &str) -> Option<Token> {
    static PREFIXES: OnceLock<Vec<(Scope, Decision)>> = OnceLock::new();
    let prefixes = PREFIXES.get_or_init(|| {
        let prefix =
            |(name, decision): &(&str, Decision)| Some((Scope::new(name).ok()?, *decision));
        TOKENS.iter().filter_map(prefix).collect()
    });
    let decide = |scope: &Scope| prefixes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    let (_, decision) = scopes.iter().rev().find_map(decide)?;
    match decision {
        Decision::Token(token) => Some(*token),
        Decision::Word(token) => text.contains(char::is_alphabetic).then_some(*token),
        Decision::Plain => None,
    }
}
