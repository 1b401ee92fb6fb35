//! Conditions on the arguments of a command, written as data.
//!
//! A list of arguments is a string with one pattern per word:
//!
//! | pattern | matches |
//! |---|---|
//! | `word` | the argument `word` |
//! | `-x` | the short option, also in a bundle such as `-ax` |
//! | `--long` | the long option, also abbreviated and with `=value` |
//! | `-long`, `-1` | exactly this argument, also with `=value` |
//! | `x*`, `*x*` | arguments that begin with `x`, or contain it |
//! | `[abc]` | arguments that consist of these characters |
//!
//! A list of options names those that a program accepts: `-ab` for `-a` and `-b`, `-cd=` for `-c`
//! and `-d` with a value, `-name.` and `-name.=` for one word, and `--long`, `--long=` or, if only
//! an attached value is accepted, `-x?` and `--long?`. Abbreviations are not accepted. An option with an
//! optional value is listed without one, so that the next word is looked at.

use crate::word::Word;

/// A condition on the arguments of a command. Every part that is set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    words: &'static [&'static str],
    with: &'static str,
    and: &'static str,
    without: &'static str,
    only: Option<&'static str>,
    least: usize,
    most: usize,
}

/// The condition that every call satisfies.
pub(super) const ANY: Call =
    Call { words: &[], with: "", and: "", without: "", only: None, least: 0, most: usize::MAX };
/// The call without arguments.
pub(super) const BARE: Call = Call { only: Some(""), most: 0, ..ANY };

impl Call {
    /// Requires that the call begins with these arguments, each one of a list.
    pub(super) const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    /// Requires one of these arguments.
    pub(super) const fn with(self, with: &'static str) -> Self {
        Self { with, ..self }
    }

    /// Requires one of these arguments too.
    pub(super) const fn and(self, and: &'static str) -> Self {
        Self { and, ..self }
    }

    /// Requires that none of these arguments is given.
    pub(super) const fn without(self, without: &'static str) -> Self {
        Self { without, ..self }
    }

    /// Requires that every option is one of this list of options.
    pub(super) const fn only(self, only: &'static str) -> Self {
        Self { only: Some(only), ..self }
    }

    /// Requires a number of operands between these bounds.
    pub(super) const fn operands(self, least: usize, most: usize) -> Self {
        Self { least, most, ..self }
    }

    /// Returns true if the arguments satisfy the condition however unknown words turn out.
    pub(super) fn certainly_matches(&self, arguments: &[Word]) -> bool {
        self.matches(arguments, true)
    }

    /// Returns true if the arguments that are known satisfy the condition.
    pub(super) fn apparently_matches(&self, arguments: &[Word]) -> bool {
        self.matches(arguments, false)
    }

    fn matches(&self, arguments: &[Word], certainly: bool) -> bool {
        let Some((first, rest)) = arguments.split_at_checked(self.words.len()) else {
            return false;
        };
        let is_one_of = |(list, word): (&&str, &Word)| {
            word.literal().is_some_and(|text| matching(list, text).is_some())
        };
        if !self.words.iter().zip(first).all(is_one_of) {
            return false;
        }
        let lacks = |list: &str| !list.is_empty() && find(list, rest).is_none();
        if lacks(self.with) || lacks(self.and) {
            return false;
        }
        // After `--` there are only operands.
        let end = rest.iter().position(|word| word.literal() == Some("--"));
        let (options, operands) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &[][..]),
        };
        let knows_end = |only: &str| only.split_ascii_whitespace().any(|option| option == "--");
        if end.is_some() && self.only.is_some_and(|only| !knows_end(only)) {
            return false;
        }
        if !options.iter().all(|word| is_absent(self.without, word, certainly)) {
            return false;
        }
        let mut count = operands.len();
        let mut is_value = false;
        for word in options {
            if std::mem::take(&mut is_value) {
                continue;
            }
            match (word.literal(), self.only) {
                (Some(text), Some(only)) if is_option(text) => match takes_value(only, text) {
                    Some(next) => is_value = next,
                    None => return false,
                },
                (Some(text), None) if is_option(text) => {}
                (None, Some(only)) if certainly && word.may_be_option() => match word {
                    // `--author="$x"`: the option is known although its value is not.
                    Word::Unknown { prefix, many: false, .. }
                        if prefix.contains('=') && takes_value(only, prefix).is_some() => {}
                    _ => return false,
                },
                _ => count += 1,
            }
        }
        (self.least..=self.most).contains(&count)
    }
}

/// Returns the first argument that a list matches.
pub(crate) fn find<'w>(list: &str, arguments: &'w [Word]) -> Option<&'w str> {
    arguments.iter().filter_map(Word::literal).find(|text| matching(list, text).is_some())
}

/// Returns the values of options of a list: attached ones, or the words that follow.
pub(crate) fn values(list: &str, arguments: &[Word]) -> Vec<Word> {
    let mut values = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        let Some(option) = matching(list, text) else { continue };
        let attached = text.split_once('=').map(|(_, value)| value);
        match attached.or_else(|| text.strip_prefix(option.trim_end_matches('*'))) {
            Some(value) if !value.is_empty() => values.push(Word::plain(value)),
            _ => values.extend(arguments.get(at + 1).cloned()),
        }
    }
    values
}

/// Returns the pattern of a list that an argument matches.
fn matching<'l>(list: &'l str, text: &str) -> Option<&'l str> {
    list.split_ascii_whitespace().find(|pattern| matches(pattern, text))
}

pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if pattern == text {
        return true;
    }
    if let Some(start) = pattern.strip_suffix('*') {
        return match start.strip_prefix('*') {
            Some(part) => text.contains(part),
            None => text.starts_with(start),
        };
    }
    if let Some(characters) = pattern.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let has_letter = text.contains(|c| c != '-');
        return has_letter && text.chars().all(|c| characters.contains(c));
    }
    if pattern.starts_with("--") {
        return is_long(text, pattern);
    }
    match pattern.as_bytes() {
        [b'-', letter] if letter.is_ascii_alphabetic() => {
            is_short(text) && text.contains(char::from(*letter))
        }
        [b'-', ..] => text.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('=')),
        _ => false,
    }
}

fn is_absent(list: &str, word: &Word, certainly: bool) -> bool {
    match word {
        _ if list.is_empty() => true,
        Word::Literal { text, .. } => matching(list, text).is_none(),
        Word::Unknown { .. } if !certainly => true,
        // `--author="$x"`: the option is known although its value is not.
        Word::Unknown { prefix, many: false, .. }
            if prefix.starts_with("--") && prefix.contains('=') =>
        {
            matching(list, prefix).is_none()
        }
        Word::Unknown { raw, .. } => {
            let parts = list.split_ascii_whitespace().filter(|pattern| pattern.starts_with('*'));
            !word.may_be_option() && !parts.into_iter().any(|part| matches(part, raw))
        }
    }
}

/// Returns whether an option takes the next word as its value, or `None` if it is not in the list
/// of options.
pub(crate) fn takes_value(options: &str, text: &str) -> Option<bool> {
    let mut listed = options.split_ascii_whitespace();
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
        let option = listed.find(|option| option.trim_end_matches(['=', '?']) == name)?;
        return Some(option.ends_with('=') && value.is_none());
    }
    if let Some(exact) =
        listed.clone().find(|o| o.trim_end_matches('=').strip_suffix('.') == Some(text))
    {
        return Some(exact.ends_with('='));
    }
    let letters = text.strip_prefix('-')?;
    for (at, letter) in letters.char_indices() {
        let mut bundles =
            listed.clone().filter(|option| !option.starts_with("--") && !option.contains('.'));
        let bundle =
            bundles.find(|bundle| bundle[1..].contains(letter) && !"=?".contains(letter))?;
        if bundle.ends_with('=') {
            return Some(at + letter.len_utf8() == letters.len());
        }
        if bundle.ends_with('?') {
            return Some(false);
        }
    }
    Some(false)
}

pub(crate) fn is_option(text: &str) -> bool {
    text.starts_with('-') && text.len() > 1
}

/// Returns true if `text` is the long option, perhaps abbreviated, perhaps with a value.
pub(crate) fn is_long(text: &str, option: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    name.len() > 2 && name.starts_with("--") && option.starts_with(name)
}

/// Returns true if `text` is one or several short options.
pub(crate) fn is_short(text: &str) -> bool {
    is_option(text) && !text.starts_with("--")
}
