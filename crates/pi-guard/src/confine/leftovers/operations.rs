//! Operations of `git` that are in progress in a repository: files with steps that run programs when
//! the user continues.

use std::ffi::OsStr;
use std::path::Path;

use super::Leftover;
use super::entry;
use super::repository::{Configuration, Judge, Place, Reading, disable};

/// A file of an operation: the directory in the repository, or an empty text, and its name.
pub(super) struct Operation {
    directory: &'static str,
    name: &'static str,
    reading: Reading,
}

/// The files that decide what the next step runs. Patches, messages and names of authors are data.
pub(super) const FILES: [Operation; 4] = [
    Operation::new("rebase-merge", "git-rebase-todo", steps),
    Operation::new("rebase-merge", "strategy", strategy),
    Operation::new("sequencer", "opts", options),
    // Old versions of `git bisect` evaluate it as shell.
    Operation::new("", "BISECT_NAMES", names),
];

impl Operation {
    const fn new(
        directory: &'static str,
        name: &'static str,
        offences: fn(&str) -> Vec<String>,
    ) -> Self {
        // The former steps may be done already.
        Self { directory, name, reading: Reading { offences, restores: false } }
    }
}

/// Judges one file of an operation in a repository.
pub(super) fn examine(
    operation: &Operation,
    known: &mut Configuration,
    repository: &Place<'_>,
    judge: &Judge<'_>,
    found: &mut Vec<Leftover>,
) {
    let Operation { directory, name, reading } = operation;
    if directory.is_empty() {
        return known.examine(reading, repository, name, judge, found);
    }
    let inner = OsStr::new(directory);
    let Some(seen) = entry::see(repository.directory, inner) else {
        *known = Configuration::default();
        return;
    };
    match entry::open(repository.directory, Path::new(inner)) {
        Ok(opened) => {
            let path = &repository.path.join(inner);
            let place = Place { directory: &opened, path, is_known: repository.is_known };
            known.examine(reading, &place, name, judge, found);
        }
        // A link, or a directory that cannot be examined.
        Err(_) if judge.is_suspect(&seen, repository.is_known) => {
            let reason = "continue an operation that cannot be examined".to_owned();
            disable(repository.directory, repository.path, inner, None, &reason, found);
        }
        Err(_) => {}
    }
}

/// Returns the steps of a rebase that run a command. Everything else works on commits.
fn steps(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_start);
    let runs = lines.filter(|line| {
        let word = line.split([' ', '\t']).next().unwrap_or_default();
        matches!(word, "x" | "exec")
    });
    runs.map(str::to_owned).collect()
}

/// The strategies of `git merge`. Another name is that of a program.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

fn strategy(text: &str) -> Vec<String> {
    let name = text.trim();
    let is_known = name.is_empty() || STRATEGIES.contains(&name);
    if is_known { Vec::new() } else { vec![format!("the strategy {name}")] }
}

/// Returns strategies of a sequence of picks that are programs.
fn options(text: &str) -> Vec<String> {
    let (settings, complete) = super::super::git::config::parse(text);
    let named = settings.iter().filter(|setting| setting.name == "strategy");
    let mut offences: Vec<String> = named.flat_map(|setting| strategy(&setting.value)).collect();
    if !complete {
        offences.push("options that cannot be examined".to_owned());
    }
    offences
}

/// Returns what is not a list of words in single quotes.
fn names(text: &str) -> Vec<String> {
    let outside: String = text.split('\'').step_by(2).collect();
    let is_plain =
        |c: char| c.is_whitespace() || c.is_ascii_alphanumeric() || "-_./=\\!".contains(c);
    if outside.chars().all(is_plain) { Vec::new() } else { vec![text.trim().to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_options_that_run_programs_are_found() {
        let harmless: &[(fn(&str) -> Vec<String>, &str)] = &[
            (steps, "pick 1234 exec\nreword 12 x\n# exec ls\nlabel onto\nbreak\nnoop\n"),
            (strategy, "ort\n"),
            (options, "[options]\n\tno-commit = true\n\tstrategy = recursive\n"),
            (names, " '--' 'a; b $(c)'\n"),
            (names, " 'it'\\''s'\n"),
        ];
        for (offences, text) in harmless {
            assert_eq!(offences(text), Vec::<String>::new(), "{text}");
        }
        let running: &[(fn(&str) -> Vec<String>, &str)] = &[
            (steps, "pick 1234 one\nexec touch /x\n"),
            (steps, "\t x touch /x"),
            (strategy, "../../x"),
            (options, "[options]\nstrategy = ../x"),
            (options, "[options"),
            (names, "'a' $(touch /x)"),
            (names, "'a' ; touch '/x'"),
        ];
        for (offences, text) in running {
            assert_eq!(offences(text).len(), 1, "{text}");
        }
    }
}
