//! What an approval can be remembered for, and the rule it could become.
//!
//! Narrow on purpose: a program that runs whatever its arguments say (an interpreter, a wrapper, a
//! downloader) is remembered word for word, and no lasting rule is proposed for it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PathAccess;
use crate::programs::{self, Approval, Trait};
use crate::shell::{self, Command, base_name};

/// What an approval is for: the next question with the same scope need not be asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Scope {
    /// Commands that begin with these words.
    Command {
        /// The words.
        prefix: Vec<String>,
    },
    /// This command and no other.
    Exactly {
        /// Its words.
        words: Vec<String>,
    },
    /// This script and no other, because nobody knows all of what it does.
    Script {
        /// The script.
        text: String,
    },
    /// A file, or a folder with everything in it.
    Path {
        /// The file or folder.
        path: PathBuf,
        /// What may be done with it.
        access: PathAccess,
    },
    /// This file and no other, because it is protected or a rule is about it.
    File {
        /// The file.
        path: PathBuf,
        /// What may be done with it.
        access: PathAccess,
    },
    /// A host.
    Host {
        /// Its name.
        host: String,
    },
    /// Calls of a tool.
    Tool {
        /// Its name.
        name: String,
    },
}

/// Subcommands that do whatever the rest says.
const OPEN_SUBCOMMANDS: &str = "run exec x dlx config alias -c script eval shell develop api";

impl Scope {
    /// What approving this command is remembered for.
    pub(super) fn of_command(command: &Command, script: &str) -> Self {
        let literals: Option<Vec<String>> =
            command.words.iter().map(|word| word.literal().map(str::to_owned)).collect();
        let assigned = !command.assignments.is_empty();
        let Some(words) = literals.filter(|words| !words.is_empty() && !assigned) else {
            return Self::Script { text: script.to_owned() };
        };
        match prefix(&words) {
            Some(prefix) => Self::Command { prefix },
            None => Self::Exactly { words },
        }
    }

    /// What approving this file is remembered for: the working directory if it is in there.
    pub(super) fn of_path(path: &Path, access: PathAccess, cwd: &Path) -> Self {
        let path = if path.starts_with(cwd) && path != cwd { cwd } else { path };
        Self::Path { path: path.to_owned(), access }
    }

    /// Whether an approval of this scope answers a question of the other.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path { path, access }, Self::Path { path: inner, access: asked }) => {
                inner.starts_with(path) && (access == asked || *access == PathAccess::Any)
            }
            (Self::Command { prefix }, Self::Exactly { words }) => words.starts_with(prefix),
            (one, other) => one == other,
        }
    }

    /// What is remembered, in words for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Command { prefix } => format!("commands that begin with `{}`", quoted(prefix)),
            Self::Exactly { words } => format!("exactly `{}`", quoted(words)),
            Self::Script { text } => format!("exactly this script: {text}"),
            Self::Path { path, access } => {
                format!("{} {} and what is in it", doing(*access), path.display())
            }
            Self::File { path, access } => {
                format!("{} exactly {}", doing(*access), path.display())
            }
            Self::Host { host } => format!("connections to {host}"),
            Self::Tool { name } => format!("calls of the tool {name}"),
        }
    }

    /// The rule that would make it last, as a part of a rule file. None where a rule would permit
    /// more than anybody can oversee.
    #[must_use]
    pub fn rule(&self) -> Option<String> {
        // What JSON makes of a text is also what TOML reads as one.
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let strings =
            |words: &[String]| words.iter().map(|word| text(word)).collect::<Vec<_>>().join(", ");
        match self {
            Self::Command { prefix } => {
                Some(format!("[[command]]\nprefix = [{}]\ndecision = \"allow\"\n", strings(prefix)))
            }
            Self::Path { path, access } if path.parent().is_some() => {
                let access = match access {
                    PathAccess::Read => "read",
                    PathAccess::Write => "write",
                    PathAccess::Any => "any",
                };
                Some(format!(
                    "[[path]]\npaths = [{}]\naccess = \"{access}\"\ndecision = \"allow\"\n",
                    text(&path.to_string_lossy())
                ))
            }
            Self::Host { host } => {
                Some(format!("[[host]]\nhosts = [{}]\ndecision = \"allow\"\n", text(host)))
            }
            Self::Tool { name } => {
                Some(format!("[[tool]]\nname = {}\ndecision = \"allow\"\n", text(name)))
            }
            Self::Exactly { .. } | Self::Script { .. } | Self::File { .. } | Self::Path { .. } => {
                None
            }
        }
    }
}

fn doing(access: PathAccess) -> &'static str {
    match access {
        PathAccess::Read => "reading",
        PathAccess::Write => "writing",
        PathAccess::Any => "reading and writing",
    }
}

/// The words that say what a command does; nothing if that depends on all of them.
fn prefix(words: &[String]) -> Option<Vec<String>> {
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let (program, rest) = words.split_first()?;
    let base = base_name(program);
    // A program by its path is not known by its name.
    if base != program {
        return None;
    }
    let entry = programs::find(base);
    let subcommand = rest.first().filter(|word| is_name(word));
    match entry.approval() {
        Approval::Exact => return None,
        Approval::Program => return Some(vec![program.clone()]),
        Approval::Guess => return Some([program].into_iter().chain(subcommand).cloned().collect()),
        Approval::Subcommand => {}
    }
    let subcommand = subcommand?;
    if !has(OPEN_SUBCOMMANDS, subcommand) {
        return Some(vec![program.clone(), subcommand.clone()]);
    }
    // `npm run build` is one task; `cargo run -- x` is not.
    let named = rest.get(1).filter(|word| is_name(word))?;
    let scripts = entry.has(Trait::RunsScripts) && subcommand == "run";
    scripts.then(|| vec![program.clone(), subcommand.clone(), named.clone()])
}

/// A word that looks like the name of something to do, not like an option, a file or a value.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
}

fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell::quoted(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_command() {
        for (script, remembered, rule) in [
            ("cargo test --all", "commands that begin with `cargo test`", true),
            ("git commit -m x", "commands that begin with `git commit`", true),
            ("npm run build", "commands that begin with `npm run build`", true),
            ("pytest -q", "commands that begin with `pytest`", true),
            ("touch a.txt", "commands that begin with `touch`", true),
            ("mkdir a", "commands that begin with `mkdir`", true),
            ("tool deploy x", "commands that begin with `tool deploy`", true),
            ("git -C x push", "exactly `git -C x push`", false),
            ("git config x y", "exactly `git config x y`", false),
            ("cargo run -- x", "exactly `cargo run -- x`", false),
            ("npm exec x", "exactly `npm exec x`", false),
            ("python3.12 -c 'a b'", "exactly `python3.12 -c 'a b'`", false),
            ("sudo ls", "exactly `sudo ls`", false),
            ("rm x", "exactly `rm x`", false),
            ("curl x", "exactly `curl x`", false),
            ("/opt/tool go", "exactly `/opt/tool go`", false),
            ("A=b tool", "exactly this script: A=b tool", false),
            ("tool $X", "exactly this script: tool $X", false),
        ] {
            let analysis = shell::analyze(script);
            let scope = Scope::of_command(&analysis.commands[0], script);
            assert_eq!(scope.describe(), remembered, "{script}");
            assert_eq!(scope.rule().is_some(), rule, "{script}");
        }
    }

    #[test]
    fn what_an_approval_answers() {
        let path = |path: &str, access| Scope::Path { path: path.into(), access };
        let command =
            |words: &str| Scope::Command { prefix: words.split(' ').map(str::to_owned).collect() };
        for (given, asked, expected) in [
            (path("/w", PathAccess::Write), path("/w/a", PathAccess::Write), true),
            (path("/w", PathAccess::Any), path("/w/a", PathAccess::Read), true),
            (path("/w", PathAccess::Read), path("/w/a", PathAccess::Write), false),
            (path("/w/a", PathAccess::Write), path("/w", PathAccess::Write), false),
            (path("/w", PathAccess::Write), path("/ww", PathAccess::Write), false),
            (command("git commit"), command("git commit"), true),
            (command("git commit"), command("git push"), false),
        ] {
            assert_eq!(given.covers(&asked), expected, "{given:?} {asked:?}");
        }
    }

    #[test]
    fn proposed_rules_are_rules() {
        let scopes = [
            Scope::Command { prefix: vec!["a\"b".into(), "c\\d".into()] },
            Scope::Path { path: "/w/it's".into(), access: PathAccess::Any },
            Scope::Host { host: "example.com".into() },
            Scope::Tool { name: "mcp__x".into() },
        ];
        for scope in scopes {
            let rule = scope.rule().unwrap();
            super::super::RuleFile::parse("x", &rule, super::super::Layer::User)
                .unwrap_or_else(|error| panic!("{rule}: {error}"));
        }
    }
}
