//! What may be done, by rules.
//!
//! Rules come in files, in layers; every rule that fits counts, and the strictest wins, so that a
//! layer can forbid what another allows but not the other way round. What no rule speaks of is
//! decided by what is built in and then by the [`Defaults`] of the profile. What cannot be
//! analysed is a case of its own that no default permits unconfined.

mod check;
mod codex;
mod destructive;
mod file;
mod files;
mod hosts;
mod known;
mod mention;
mod paths;
mod programs;
mod rule;
mod scope;
mod sense;
mod spelling;
mod starts;
mod synonyms;
mod tools;
mod verdict;
mod writers;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Decision;

pub use file::{Layer, PolicyError, RuleFile};
pub use paths::{PROTECTED, PathRule, Reach};
pub use rule::CommandRule;
pub use scope::Scope;
pub use verdict::{Part, Verdict};

/// What happens to a script that cannot be analysed with certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unanalysable {
    /// It may run, but only where the operating system confines it.
    AllowConfined,
    /// Somebody is asked.
    Ask,
    /// It may not run.
    Forbid,
}

/// What is decided where no rule speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defaults {
    /// About commands and writes that nothing is known about.
    pub unmatched: Decision,
    /// About commands that destroy, and writes to protected files.
    pub destructive: Decision,
    /// About what cannot be analysed.
    pub unanalysable: Unanalysable,
}

impl Defaults {
    /// No questions: everything may run that no rule forbids.
    #[must_use]
    pub fn explore() -> Self {
        Self {
            unmatched: Decision::Allow,
            destructive: Decision::Allow,
            unanalysable: Unanalysable::AllowConfined,
        }
    }

    /// Asks for what is not known to be safe.
    #[must_use]
    pub fn careful() -> Self {
        Self {
            unmatched: Decision::Ask,
            destructive: Decision::Ask,
            unanalysable: Unanalysable::Ask,
        }
    }

    /// Nobody is there: what would need a question does not happen, the rest is confined.
    #[must_use]
    pub fn unattended() -> Self {
        Self {
            unmatched: Decision::Allow,
            destructive: Decision::Forbid,
            unanalysable: Unanalysable::AllowConfined,
        }
    }
}

/// A rule on hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// Names, perhaps with `*`.
    pub hosts: Vec<String>,
    /// What is decided.
    pub decision: Decision,
    /// Why.
    pub justification: Option<String>,
    /// File and line.
    pub origin: String,
}

/// A rule on calls of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule {
    /// The tool's name, perhaps with `*`.
    pub name: String,
    /// Patterns for arguments; all must fit.
    pub arguments: Vec<(String, String)>,
    /// What is decided.
    pub decision: Decision,
    /// Why.
    pub justification: Option<String>,
    /// File and line.
    pub origin: String,
}

/// Where a script would run, as the caller sees it.
#[allow(missing_debug_implementations)] // a closure has none
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The home folder, for `~`.
    pub home: Option<&'a Path>,
    /// The real path of a program, given its name or path as written.
    pub resolve: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The real path of a file, without symbolic links. `None` if there is none, or if nobody
    /// wants to look; then a file is judged by its name alone.
    pub real: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// Rules of all layers, and what is decided without one.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: RuleFile,
    defaults: Defaults,
}

impl Policy {
    /// A policy without rules.
    #[must_use]
    pub fn new(defaults: Defaults) -> Self {
        Self { rules: RuleFile::default(), defaults }
    }

    /// Decides otherwise where no rule speaks.
    #[must_use]
    pub fn with_defaults(self, defaults: Defaults) -> Self {
        Self { defaults, ..self }
    }

    /// Adds the rules of a file. Their order does not matter.
    pub fn add(&mut self, file: RuleFile) {
        let rules = &mut self.rules;
        rules.commands.extend(file.commands);
        rules.paths.extend(file.paths);
        rules.hosts.extend(file.hosts);
        rules.tools.extend(file.tools);
        rules.executables.extend(file.executables);
        rules.unanalysable = rules.unanalysable.max(file.unanalysable);
        rules.examples += file.examples;
    }

    /// What happens to what cannot be analysed: what the files say, else the profile.
    #[must_use]
    pub fn unanalysable(&self) -> Unanalysable {
        self.rules.unanalysable.unwrap_or(self.defaults.unanalysable)
    }

    /// Whether any rule asks or forbids: something that a command could try to get past.
    #[must_use]
    pub fn restricts(&self) -> bool {
        let rules = &self.rules;
        let decisions = (rules.commands.iter().map(|rule| rule.decision))
            .chain(rules.paths.iter().map(|rule| rule.decision))
            .chain(rules.hosts.iter().map(|rule| rule.decision))
            .chain(rules.tools.iter().map(|rule| rule.decision));
        decisions.max() > Some(Decision::Allow)
    }

    /// Whether any rule asks about files or forbids them.
    #[must_use]
    pub fn restricts_files(&self) -> bool {
        self.rules.paths.iter().any(|rule| rule.decision > Decision::Allow)
    }

    /// Decides about a shell script.
    #[must_use]
    pub fn check(&self, script: &str, scene: &Scene<'_>) -> Verdict {
        check::script(self, script, scene)
    }

    /// Decides about reading or changing a file, for tools that do so themselves: by the path as
    /// it is given, and by the real one if the scene knows it.
    #[must_use]
    pub fn check_path(&self, path: &Path, reach: Reach, scene: &Scene<'_>) -> Verdict {
        check::path(self, path, reach, scene)
    }

    /// Decides about a connection. `None` if no rule speaks of the host.
    #[must_use]
    pub fn check_host(&self, host: &str) -> Option<Verdict> {
        check::host(self, host).map(|part| Verdict::of(vec![part]))
    }

    /// The hosts that rules allow, as they are written.
    #[must_use]
    pub fn allowed_hosts(&self) -> Vec<String> {
        let allowing = self.rules.hosts.iter().filter(|rule| rule.decision == Decision::Allow);
        allowing.flat_map(|rule| rule.hosts.iter().cloned()).collect()
    }

    /// Decides about a call of a tool. `None` if no rule speaks of it.
    #[must_use]
    pub fn check_tool(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
    ) -> Option<Verdict> {
        tools::check(self, name, arguments).map(|part| Verdict::of(vec![part]))
    }
}
