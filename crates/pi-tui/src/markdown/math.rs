//! Formulas in LaTeX as Unicode text.
//!
//! A subset that models use: letters and signs, scripts, fractions, roots, sums and integrals with
//! limits, matrices. A formula with anything else is not drawn, and its source is shown.

mod display;
mod inline;
mod parse;
mod symbols;
#[cfg(test)]
mod tests;

pub(super) use display::display;
pub(super) use inline::inline;

/// Bytes of a formula that are read. Longer ones are not drawn.
const LENGTH_LIMIT: usize = 4096;

/// A formula in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The formula without its delimiters.
    pub(super) content: &'a str,
    /// The formula with its delimiters.
    pub(super) source: &'a str,
    /// The place where the formula begins, at the earliest that of the search.
    pub(super) start: usize,
    /// The place after the formula.
    pub(super) end: usize,
    /// The formula is displayed in lines of its own.
    pub(super) is_display: bool,
}

/// Returns the first formula that begins in `from..to`. `is_start` says that `from` is the start
/// of a text: a backslash before it is not a part of the text, but escapes its first character.
pub(super) fn find(text: &str, from: usize, to: usize, is_start: bool) -> Option<Found<'_>> {
    let is_escaped = is_start && text.get(..from).is_some_and(|before| before.ends_with('\\'));
    if is_escaped && let Some(found) = bracketed(text, from) {
        return Some(found);
    }
    let mut at = if is_escaped { from + 1 } else { from };
    loop {
        let start = at + text.get(at..to)?.find('$')?;
        let rest = text.get(start..)?;
        if rest.starts_with("$$") {
            if let Some(found) = delimited(text, start, start, 2, "$$") {
                return Some(found);
            }
            at = start + 2;
        } else {
            if let Some(found) = dollar(text, start) {
                return Some(found);
            }
            at = start + 1;
        }
        if at >= to {
            return None;
        }
    }
}

/// Returns the formula `\(…\)` or `\[…\]` whose opening bracket is at `at`.
fn bracketed(text: &str, at: usize) -> Option<Found<'_>> {
    match text.as_bytes().get(at)? {
        b'(' => {
            let found = delimited(text, at - 1, at, 2, "\\)")?;
            let is_one_line = !found.content.contains('\n');
            is_one_line.then_some(Found { is_display: false, ..found })
        }
        b'[' => delimited(text, at - 1, at, 2, "\\]"),
        _ => None,
    }
}

/// Returns the formula whose delimiter of `length` bytes begins at `opening`.
fn delimited<'a>(
    text: &'a str,
    opening: usize,
    start: usize,
    length: usize,
    closing: &str,
) -> Option<Found<'a>> {
    let rest = text.get(opening + length..)?;
    let window = rest.get(..rest.floor_char_boundary(LENGTH_LIMIT))?;
    let content = window.get(..window.find(closing)?)?;
    let end = opening + length + content.len() + closing.len();
    let source = text.get(opening..end)?;
    let is_empty = content.trim().is_empty();
    (!is_empty).then_some(Found { content, source, start, end, is_display: true })
}

/// Returns the formula `$…$` at `start`. A dollar sign before a number is money unless what follows
/// can only be a formula.
fn dollar(text: &str, start: usize) -> Option<Found<'_>> {
    let before = text.get(..start)?.chars().next_back();
    let rest = text.get(start + 1..)?;
    let window = rest.get(..rest.floor_char_boundary(LENGTH_LIMIT))?;
    let content = window.get(..window.find(['$', '\n'])?)?;
    let end = start + 1 + content.len() + 1;
    let after = text.get(end..)?.chars().next();
    let is_closed = rest.as_bytes().get(content.len()) == Some(&b'$');
    let is_tight = !content.is_empty() && content.trim() == content && !content.ends_with('\\');
    let is_alone = !before.is_some_and(char::is_alphanumeric)
        && !after.is_some_and(|after| after.is_alphanumeric() || after == '$');
    let starts_with_digit = content.starts_with(|c: char| c.is_ascii_digit());
    let has_words = content
        .split_whitespace()
        .any(|word| word.len() > 1 && word.chars().all(char::is_alphabetic));
    let is_money = starts_with_digit && !content.contains(['\\', '^', '_', '=']) && has_words;
    if !is_closed || !is_tight || !is_alone || is_money {
        return None;
    }
    Some(Found { content, source: text.get(start..end)?, start, end, is_display: false })
}
