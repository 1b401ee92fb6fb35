//! The scope of an approval, and the rule that it could become.
//!
//! Scopes are narrow on purpose. The approval of a program whose effect depends on its arguments
//! (an interpreter, a wrapper, a downloader) covers that call only, and no rule is proposed. What
//! destroys something is approved each time, and what names a path or an address outside of the
//! working directory is never covered by the approval of another call.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PathAccess;
use crate::programs::{self, Approval, Trait};
use crate::shell::{self, Command};
use crate::word::base_name;

/// The actions that an approval covers: those that have the same scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// Commands that begin with these words.
    Command {
        /// The first words of the commands.
        prefix: Vec<String>,
    },
    /// A single command, word for word.
    Exactly {
        /// The words of the command.
        words: Vec<String>,
    },
    /// A single script, because its effects cannot be determined.
    Script {
        /// The text of the script.
        text: String,
    },
    /// No further action, not even the same one: the command destroys something.
    Once {
        /// The command.
        text: String,
    },
    /// A file, or a directory and everything in it.
    Path {
        /// The path of the file or directory.
        path: PathBuf,
        /// The kind of access.
        access: PathAccess,
    },
    /// A single file, because it is protected or a rule matches it.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The kind of access.
        access: PathAccess,
    },
    /// Connections to a host.
    Host {
        /// The name of the host.
        host: String,
    },
    /// Calls of a tool.
    Tool {
        /// The name of the tool.
        name: String,
    },
}

/// Subcommands whose effect depends on their arguments.
const OPEN_SUBCOMMANDS: &str = "run exec x dlx config alias -c script eval shell develop api";

/// What the scope of a command depends on besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The command works in the working directory and destroys nothing.
    Inside,
    /// The command names a path or an address outside of the working directory.
    Named,
    /// The command works in another directory, which its words do not show.
    Elsewhere,
    /// The command destroys something.
    Destroys,
}

impl Scope {
    /// The scope of an approval of a command.
    pub(super) fn of_command(command: &Command, script: &str, extent: Extent) -> Self {
        let literals: Option<Vec<String>> =
            command.words.iter().map(|word| word.literal().map(str::to_owned)).collect();
        match (extent, literals) {
            (Extent::Destroys, _) => Self::Once { text: command.text() },
            (Extent::Inside | Extent::Named, Some(words))
                if !words.is_empty() && command.assignments.is_empty() =>
            {
                // An option that names a program decides what the command does.
                let runs = programs::running_argument(&command.words);
                let is_plain =
                    extent == Extent::Inside && !runs.is_some_and(|word| word.starts_with('-'));
                match prefix(&words).filter(|_| is_plain) {
                    Some(prefix) => Self::Command { prefix },
                    None => Self::Exactly { words },
                }
            }
            _ => Self::Script { text: script.to_owned() },
        }
    }

    /// Returns true if an approval can be remembered: it covers at least the same action again.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Once { .. })
    }

    /// The scope of an approval of a file: the working directory if the file is in it.
    pub(super) fn of_path(path: &Path, access: PathAccess, cwd: &Path) -> Self {
        let path = if path.starts_with(cwd) && path != cwd { cwd } else { path };
        Self::Path { path: path.to_owned(), access }
    }

    /// Returns true if an approval with this scope covers an action with the other.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path { path, access }, Self::Path { path: inner, access: asked }) => {
                inner.starts_with(path) && (access == asked || *access == PathAccess::Any)
            }
            (Self::Once { .. }, _) => false,
            (one, other) => one == other,
        }
    }

    /// Describes the scope for display.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Command { prefix } => format!("commands that begin with `{}`", quoted(prefix)),
            Self::Exactly { words } => format!("exactly `{}`", quoted(words)),
            Self::Script { text } => format!("exactly this script: {text}"),
            Self::Once { .. } => "only this call".to_owned(),
            Self::Path { path, access } => {
                format!("{} {} and everything in it", doing(*access), path.display())
            }
            Self::File { path, access } => {
                format!("{} exactly {}", doing(*access), path.display())
            }
            Self::Host { host } => format!("connections to {host}"),
            Self::Tool { name } => format!("calls of the tool {name}"),
        }
    }

    /// Returns the rule that makes the approval permanent, as a part of a rule file, or `None` if a
    /// rule would permit too much.
    #[must_use]
    pub fn rule(&self) -> Option<String> {
        // A JSON string is a TOML string.
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
            Self::Exactly { .. }
            | Self::Script { .. }
            | Self::Once { .. }
            | Self::File { .. }
            | Self::Path { .. } => None,
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

/// Returns the words that determine the effect of a command, or `None` if all of them do.
fn prefix(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let base = base_name(program);
    // A path may be another program than its name suggests.
    if base != program {
        return None;
    }
    let entry = programs::find(base);
    match entry.approval() {
        Approval::Exact => return None,
        Approval::Program => return Some(vec![program.clone()]),
        Approval::Subcommand => {}
    }
    let subcommand = rest.first().filter(|word| is_name(word))?;
    // What one of these destroys with some options is approved once.
    if programs::is_listed(entry.actions, subcommand) {
        return Some(vec![program.clone(), subcommand.clone()]);
    }
    let own = entry.subcommand(subcommand);
    if own.is_some_and(|own| own.may_destroy()) {
        return None;
    }
    // `npm run build` is one task, `gh pr view` one action; `cargo run -- x` is neither.
    let named = rest.get(1).filter(|word| is_name(word))?;
    let is_script = entry.has(Trait::RunsScripts) && subcommand == "run";
    let is_open = programs::is_listed(OPEN_SUBCOMMANDS, subcommand);
    let is_group = !is_open && programs::is_listed(entry.groups, subcommand);
    (is_script || is_group).then(|| vec![program.clone(), subcommand.clone(), named.clone()])
}

/// Returns true if a word names another machine: an address, or a path on a host.
pub(super) fn is_address(word: &str) -> bool {
    let is_host = |text: &str| {
        let (user, host) = text.split_once('@').unwrap_or(("", text));
        !host.is_empty() && !host.contains('/') && (!user.is_empty() || host.contains('.'))
    };
    if word.contains(char::is_whitespace) {
        return false;
    }
    word.contains("://")
        || word.starts_with("git+")
        || word.split_once(':').is_some_and(|(host, path)| !path.is_empty() && is_host(host))
}

/// Returns true if a word looks like a subcommand rather than an option, a file or a value.
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
    fn commands_have_a_scope() {
        for (script, remembered, rule) in [
            ("cargo test --all", "commands that begin with `cargo test`", true),
            ("git commit -m x", "commands that begin with `git commit`", true),
            ("npm run build", "commands that begin with `npm run build`", true),
            ("gh pr view 3", "commands that begin with `gh pr view`", true),
            ("pytest -q", "commands that begin with `pytest`", true),
            ("touch a.txt", "commands that begin with `touch`", true),
            ("mkdir a", "commands that begin with `mkdir`", true),
            ("git push", "exactly `git push`", false),
            ("git branch x", "exactly `git branch x`", false),
            ("git stash", "exactly `git stash`", false),
            ("tool deploy x", "exactly `tool deploy x`", false),
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
            let scope = Scope::of_command(&analysis.commands[0], script, Extent::Inside);
            assert_eq!(scope.describe(), remembered, "{script}");
            assert_eq!(scope.rule().is_some(), rule, "{script}");
        }
    }

    #[test]
    fn scopes_cover_others() {
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
    fn proposed_rules_are_valid() {
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
