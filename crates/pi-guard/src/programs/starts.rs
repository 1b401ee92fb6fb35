//! Questions to the table about programs that start: which files to recognize, and the subcommand of a
//! call whose words are all known.

use super::{Harm, INDEX, Program, Reach, Trait, find, is_option, takes_value};
use crate::word::{Word, base_name};

/// Returns the names of files that are many programs, depending on the name by which each is called.
pub(crate) fn multi_call_names() -> impl Iterator<Item = &'static str> {
    let names = INDEX.names.iter().filter(|(_, entry)| entry.has(Trait::MultiCall));
    names.map(|(name, _)| *name)
}

/// Returns the programs that do damage which can be intended.
pub(crate) fn destructive() -> impl Iterator<Item = &'static str> {
    let is_intended = |harm: &Harm| harm.reach < Reach::Machine;
    let destroys = move |entry: &Program| {
        let inner = entry.subcommands.iter().flat_map(|inner| inner.harms);
        entry.harms.iter().chain(inner).any(is_intended)
    };
    INDEX.names.iter().filter(move |(_, entry)| destroys(entry)).map(|(name, _)| *name)
}

/// Returns a call without the options before its subcommand. A word after an option that is not
/// known may be its value or the subcommand; the name of a subcommand is taken for one.
pub(crate) fn without_options(words: &[Word]) -> Vec<Word> {
    let Some((first, arguments)) = words.split_first() else { return Vec::new() };
    let entry = find(base_name(first.literal().unwrap_or_default()));
    let (mut is_value, mut may_be_value) = (false, false);
    for (at, word) in arguments.iter().enumerate() {
        let text = word.literal().unwrap_or_default();
        if std::mem::take(&mut is_value) {
            may_be_value = false;
        } else if is_option(text) {
            is_value = takes_value(entry.options, text) == Some(true)
                || entry
                    .options
                    .split_ascii_whitespace()
                    .any(|o| o.strip_suffix(':') == Some(text));
            may_be_value = !text.contains('=');
        } else if entry.subcommand(text).is_some() {
            return std::iter::once(first).chain(&arguments[at..]).cloned().collect();
        } else if !std::mem::take(&mut may_be_value) {
            break;
        }
    }
    words.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subcommand_is_found_behind_options() {
        for (call, expected) in [
            ("git stash clear", "git stash clear"),
            ("git -C x -c a.b=stash stash clear", "git stash clear"),
            ("git -C stash status", "git status"),
            ("git --exec-path=/x --unknown stash clear", "git stash clear"),
            ("git --unknown value stash clear", "git stash clear"),
            ("git x stash", "git x stash"),
            ("rm -rf x", "rm -rf x"),
            ("", ""),
        ] {
            let words: Vec<Word> = call.split_ascii_whitespace().map(Word::plain).collect();
            let short = without_options(&words);
            let short: Vec<&str> = short.iter().filter_map(Word::literal).collect();
            assert_eq!(short.join(" "), expected, "{call}");
        }
    }
}
