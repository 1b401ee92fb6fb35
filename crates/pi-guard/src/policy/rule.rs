//! Rules, and whether one fits.
//!
//! A rule that allows fits only what is written exactly so. A rule that asks or forbids fits more:
//! options in between, in another order or bunched, the program by its path. What is known only
//! in part may fit, and that is an answer of its own.

use std::path::PathBuf;

use crate::Decision;
use crate::programs::{self, Program as Entry, matches};
use crate::shell::{Command, Word, base_name};

/// A rule on commands: what they begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// The words a command begins with; each may be one of several.
    pub prefix: Vec<Vec<String>>,
    /// What is decided.
    pub decision: Decision,
    /// Why, if the author said so.
    pub justification: Option<String>,
    /// File and line.
    pub origin: String,
}

/// How far a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// It depends on what only running decides.
    Maybe,
    Yes,
}

/// The program of a command, by all its names.
#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) written: &'a str,
    pub(super) real: Option<PathBuf>,
}

impl CommandRule {
    pub(super) fn fit(
        &self,
        command: &Command,
        program: &Program<'_>,
        same: &dyn Fn(&str, &str) -> bool,
    ) -> Fit {
        let Some((first, rest)) = self.prefix.split_first() else { return Fit::No };
        let words = command.words.get(1..).unwrap_or_default();
        if self.decision == Decision::Allow {
            let named = first.iter().any(|name| same(program.written, name));
            return if named && exact(rest, words) { Fit::Yes } else { Fit::No };
        }
        if first.iter().any(|name| program.is(name)) {
            wide(rest, words, programs::find(base_name(program.written)))
        } else {
            Fit::No
        }
    }

    /// Whether the rule's words occur in this order in text that cannot be analysed.
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
    /// Whether the program goes by this name, written or real. Letter case does not count: there
    /// are file systems for which it does not.
    fn is(&self, name: &str) -> bool {
        let real = self.real.as_ref().and_then(|path| path.to_str());
        [Some(self.written), real].into_iter().flatten().any(|path| {
            path.eq_ignore_ascii_case(name)
                || !name.contains('/') && base_name(path).eq_ignore_ascii_case(name)
        })
    }
}

fn exact(prefix: &[Vec<String>], words: &[Word]) -> bool {
    prefix.len() <= words.len()
        && prefix.iter().zip(words).all(|(alternatives, word)| {
            word.literal().is_some_and(|text| alternatives.iter().any(|a| a == text))
        })
}

fn wide(prefix: &[Vec<String>], words: &[Word], program: &Entry) -> Fit {
    let mut fit = Fit::Yes;
    // `cargo +nightly build`
    let toolchain = |word: &&Word| word.literal().is_some_and(|text| text.starts_with('+'));
    let mut at = usize::from(words.first().as_ref().is_some_and(toolchain));
    for alternatives in prefix {
        let option = alternatives.iter().any(|a| a.starts_with('-') && a.len() > 1);
        let found = if option { option_fit(alternatives, words, program) } else { Fit::No };
        let found = found.max(operand_fit(alternatives, words, program, &mut at));
        fit = fit.min(found);
        if fit == Fit::No {
            break;
        }
    }
    fit
}

/// Looks for an operand from `at` on; options before it, with a value each, are passed over.
fn operand_fit(alternatives: &[String], words: &[Word], program: &Entry, at: &mut usize) -> Fit {
    let mut value = false;
    for (index, word) in words.iter().enumerate().skip(*at) {
        match word {
            Word::Literal { text, .. }
                if alternatives.iter().any(|a| a == text || program.is_other_name(text, a)) =>
            {
                *at = index + 1;
                return Fit::Yes;
            }
            Word::Literal { text, .. } if text.starts_with('-') => value = !text.contains('='),
            Word::Literal { .. } if value => value = false,
            Word::Literal { .. } => return Fit::No,
            Word::Unknown { prefix, many, .. } => {
                if *many || alternatives.iter().any(|a| a.starts_with(prefix.as_str())) {
                    return Fit::Maybe;
                }
                if !value {
                    return Fit::No;
                }
                value = false;
            }
        }
    }
    Fit::No
}

/// Looks for an option anywhere: `-rf` is also `-f -r`, `--force` also `--forc` and `--force=x`,
/// and either may have another name.
fn option_fit(alternatives: &[String], words: &[Word], program: &Entry) -> Fit {
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
        Fit::Yes
    } else if words.iter().any(|word| word.literal().is_none() && word.may_be_option()) {
        Fit::Maybe
    } else {
        Fit::No
    }
}
