//! Rules on commands, and how they match.
//!
//! A rule that allows matches only commands that are written exactly so. A rule that asks or
//! forbids matches more: options in between, in another order or in a bundle, the program by its
//! path. A command that is known only in part may match, which is a result of its own.

use std::path::PathBuf;

use crate::Decision;
use crate::programs::{self, Program as Entry, matches};
use crate::shell::{Command, Word, base_name};

/// A rule on commands that begin with certain words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRule {
    /// The words that the command begins with, each one of several.
    pub prefix: Vec<Vec<String>>,
    /// The decision about a command that matches.
    pub decision: Decision,
    /// The reason that the author of the rule gave.
    pub justification: Option<String>,
    /// File and line of the rule.
    pub origin: String,
}

/// The result of matching a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// Depends on words that are unknown.
    Maybe,
    Yes,
}

/// The program of a command, by its written name and its real path.
#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) written: &'a str,
    pub(super) real: Option<PathBuf>,
}

impl CommandRule {
    pub(super) fn matches(
        &self,
        command: &Command,
        program: &Program<'_>,
        same: &dyn Fn(&str, &str) -> bool,
    ) -> Match {
        let Some((first, rest)) = self.prefix.split_first() else { return Match::No };
        let words = command.words.get(1..).unwrap_or_default();
        if self.decision == Decision::Allow {
            let named = first.iter().any(|name| same(program.written, name));
            return if named && matches_exactly(rest, words) { Match::Yes } else { Match::No };
        }
        if first.iter().any(|name| program.is(name)) {
            match_widely(rest, words, programs::find(base_name(program.written)))
        } else {
            Match::No
        }
    }

    /// Returns true if the words of the rule occur in this order in text that cannot be analyzed.
    pub(super) fn is_mentioned(&self, tokens: &[&str]) -> bool {
        let mut tokens = tokens.iter();
        self.prefix.iter().enumerate().all(|(index, alternatives)| {
            tokens.any(|token| {
                let token = if index == 0 { base_name(token) } else { token };
                alternatives.iter().any(|a| a.eq_ignore_ascii_case(token))
            })
        })
    }
}

impl Program<'_> {
    /// Returns true if this is the written or the real name of the program. Case is ignored, as some
    /// file systems do.
    pub(super) fn is(&self, name: &str) -> bool {
        let real = self.real.as_ref().and_then(|path| path.to_str());
        [Some(self.written), real].into_iter().flatten().any(|path| {
            path.eq_ignore_ascii_case(name)
                || !name.contains('/') && base_name(path).eq_ignore_ascii_case(name)
        })
    }
}

fn matches_exactly(prefix: &[Vec<String>], words: &[Word]) -> bool {
    prefix.len() <= words.len()
        && prefix.iter().zip(words).all(|(alternatives, word)| {
            word.literal().is_some_and(|text| alternatives.iter().any(|a| a == text))
        })
}

fn match_widely(prefix: &[Vec<String>], words: &[Word], program: &Entry) -> Match {
    let mut result = Match::Yes;
    // `cargo +nightly build`
    let toolchain = |word: &&Word| word.literal().is_some_and(|text| text.starts_with('+'));
    let mut at = usize::from(words.first().as_ref().is_some_and(toolchain));
    for alternatives in prefix {
        let option = alternatives.iter().any(|a| a.starts_with('-') && a.len() > 1);
        let found = if option { match_option(alternatives, words, program) } else { Match::No };
        let found = found.max(match_operand(alternatives, words, program, &mut at));
        result = result.min(found);
        if result == Match::No {
            break;
        }
    }
    result
}

/// Looks for an operand from `at` on, and skips options before it, each with a possible value.
fn match_operand(
    alternatives: &[String],
    words: &[Word],
    program: &Entry,
    at: &mut usize,
) -> Match {
    let mut value = false;
    for (index, word) in words.iter().enumerate().skip(*at) {
        match word {
            Word::Literal { text, .. }
                if alternatives.iter().any(|a| a == text || program.is_other_name(text, a)) =>
            {
                *at = index + 1;
                return Match::Yes;
            }
            Word::Literal { text, .. } if text.starts_with('-') => value = !text.contains('='),
            Word::Literal { .. } if value => value = false,
            Word::Literal { .. } => return Match::No,
            Word::Unknown { prefix, many, .. } => {
                if *many || alternatives.iter().any(|a| a.starts_with(prefix.as_str())) {
                    return Match::Maybe;
                }
                if !value {
                    return Match::No;
                }
                value = false;
            }
        }
    }
    Match::No
}

/// Looks for an option anywhere: `-rf` is the same as `-f -r`, `--force` the same as `--forc` and
/// `--force=x`, and each may have other names.
fn match_option(alternatives: &[String], words: &[Word], program: &Entry) -> Match {
    let literals = || words.iter().filter_map(Word::literal);
    let given = |option: &str| literals().any(|text| matches(option, text));
    let any_name = |option: &str| given(option) || program.other_names(option).any(given);
    let has = |option: &String| {
        literals().any(|text| text == option)
            || match option.strip_prefix("--") {
                Some(_) => any_name(option),
                None => option.chars().skip(1).all(|letter| any_name(&format!("-{letter}"))),
            }
    };
    if alternatives.iter().any(has) {
        Match::Yes
    } else if words.iter().any(|word| word.literal().is_none() && word.may_be_option()) {
        Match::Maybe
    } else {
        Match::No
    }
}
