//! Rules on commands, and how they match.
//!
//! A rule that allows matches only commands that begin exactly so, and whose further options do not
//! make the program run something else or write somewhere else. A rule that asks or forbids matches
//! more: options in between, in another order or in a bundle, the program by its path. A command
//! that is known only in part may match, which is a result of its own.

use std::path::PathBuf;

use crate::Decision;
use crate::programs::{self, Program as Entry, matches};
use crate::shell::Command;
use crate::word::{Word, base_name};

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
        is_outside: &dyn Fn(&str) -> bool,
    ) -> Match {
        let Some((first, rest)) = self.prefix.split_first() else { return Match::No };
        let words = command.words.get(1..).unwrap_or_default();
        if self.decision == Decision::Allow {
            let named = first.iter().any(|name| same(program.written, name));
            let is_match = named && matches_exactly(rest, words, is_outside);
            return if is_match { Match::Yes } else { Match::No };
        }
        if first.iter().any(|name| program.is(name)) {
            match_widely(rest, words, programs::find(base_name(program.written)))
        } else {
            Match::No
        }
    }

    /// Returns true if the rule may match a program with this name or path.
    pub(super) fn may_name(&self, name: &str) -> bool {
        let program = Program { written: name, real: None };
        self.prefix.first().is_some_and(|first| first.iter().any(|name| program.is(name)))
    }

    /// Returns true if the words of the rule occur in this order in text that cannot be analyzed,
    /// with little between them.
    pub(super) fn is_mentioned(&self, tokens: &[&str]) -> bool {
        let is_one_of = |alternatives: &[String], token: &str| {
            alternatives.iter().any(|a| a.eq_ignore_ascii_case(token))
        };
        let Some((program, rest)) = self.prefix.split_first() else { return false };
        (0..tokens.len()).any(|at| {
            let mut tokens = tokens[at..].iter();
            tokens.next().is_some_and(|token| is_one_of(program, base_name(token)))
                && rest.iter().all(|alternatives| {
                    let mut others = 0;
                    let near = tokens.by_ref().take_while(|token| {
                        others += usize::from(!token.starts_with('-'));
                        others <= MAX_BETWEEN + 1
                    });
                    near.into_iter().any(|token| is_one_of(alternatives, token))
                })
        })
    }
}

impl Program<'_> {
    /// Returns true if this is the written or the real name of the program, or that of a version of
    /// it. Case is ignored, as some file systems do.
    fn is(&self, name: &str) -> bool {
        let real = self.real.as_ref().and_then(|path| path.to_str());
        [Some(self.written), real].into_iter().flatten().any(|path| {
            path.eq_ignore_ascii_case(name)
                || !name.contains('/') && is_version(base_name(path), name)
        })
    }
}

/// Returns true if a file with this name is a program or one of its versions, as packages install
/// them side by side: `perl5.36-x86_64-linux-gnu`, `python3.11`, `gcc-12`.
fn is_version(file: &str, name: &str) -> bool {
    let Some((start, rest)) = file.split_at_checked(name.len()) else { return false };
    if !start.eq_ignore_ascii_case(name) {
        return false;
    }
    let number = rest.strip_prefix('-').unwrap_or(rest);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (number, target) = number.split_at(end);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    rest.is_empty() || is_number && (target.is_empty() || target.starts_with('-'))
}

/// The maximum number of words that are no options between two words of a rule that is mentioned.
const MAX_BETWEEN: usize = 2;
/// Parts of the names of options that make a program run something.
const RUNNING: &[&str] = &[
    "cmd",
    "command",
    "config",
    "editor",
    "eval",
    "exec",
    "hook",
    "linker",
    "loader",
    "options",
    "pager",
    "plugin",
    "preload",
    "program",
    "require",
    "runner",
    "shell",
    "toolchain",
    "wrapper",
];

fn matches_exactly(
    prefix: &[Vec<String>],
    words: &[Word],
    is_outside: &dyn Fn(&str) -> bool,
) -> bool {
    let Some((named, further)) = words.split_at_checked(prefix.len()) else { return false };
    prefix.iter().zip(named).all(|(alternatives, word)| {
        word.literal().is_some_and(|text| alternatives.iter().any(|a| a == text))
    }) && are_covered(further, is_outside)
}

/// Returns true if no further word of a command can be an option that makes the program run
/// something else, or write somewhere else.
fn are_covered(words: &[Word], is_outside: &dyn Fn(&str) -> bool) -> bool {
    let mut after_option = false;
    words.iter().all(|word| {
        let Some(text) = word.literal() else { return !word.may_be_option() };
        if !programs::is_option(text) {
            return !std::mem::take(&mut after_option) || !is_outside(text);
        }
        after_option = true;
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let attached = if text.starts_with("--") { "" } else { text.get(2..).unwrap_or_default() };
        !RUNNING.iter().any(|part| name.contains(part))
            && !is_outside(value)
            && !is_outside(attached)
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
