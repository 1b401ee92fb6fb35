//! Decisions by rules.
//!
//! Rules come from files in layers. Every rule that matches counts and the strictest decision
//! wins, so a layer can forbid what another allows, but not the other way round. Without a rule,
//! the built-in knowledge of programs and then the [`Defaults`] of the profile decide. Commands
//! whose effects cannot be determined are never allowed outside of the sandbox by default.

mod check;
mod exec;
mod file;
mod files;
mod forbidden;
mod harm;
mod hosts;
mod mention;
mod paths;
mod rule;
mod scope;
mod spelling;
mod tools;
mod validate;
mod verdict;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Decision;

#[cfg(target_os = "linux")]
pub(crate) use exec::Loads;
pub use exec::{Exec, Predecessor};
pub use file::{Layer, PolicyError, RuleFile};
pub use paths::{PathAccess, PathRule};
pub use rule::CommandRule;
pub use scope::Scope;
pub use verdict::{Part, Verdict};

/// The decision about commands whose effects cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnknownEffects {
    /// The command may run in the sandbox and nowhere else.
    #[serde(rename = "allow-confined")]
    AllowSandboxed,
    /// The command needs approval.
    Ask,
    /// The command is refused.
    Forbid,
}

/// The decisions that apply where no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defaults {
    /// Commands and writes without a matching rule.
    pub unmatched: Decision,
    /// Commands that destroy files below the working directory, or temporary files.
    pub destructive_inside: Decision,
    /// Commands that destroy references and commits of a repository in the working directory.
    pub destructive_repository: Decision,
    /// Commands that destroy what no checkpoint covers, files elsewhere or things on other machines,
    /// and writes to protected files. Commands that destroy the whole machine are always refused.
    pub destructive: Decision,
    /// Commands whose effects cannot be determined.
    pub unknown_effects: UnknownEffects,
}

impl Defaults {
    /// Allows everything that no rule forbids.
    #[must_use]
    pub fn explore() -> Self {
        Self {
            unmatched: Decision::Allow,
            destructive_inside: Decision::Allow,
            destructive_repository: Decision::Allow,
            destructive: Decision::Allow,
            unknown_effects: UnknownEffects::AllowSandboxed,
        }
    }

    /// Asks about everything that is not known to be safe.
    #[must_use]
    pub fn careful() -> Self {
        Self {
            unmatched: Decision::Ask,
            destructive_inside: Decision::Ask,
            destructive_repository: Decision::Ask,
            destructive: Decision::Ask,
            unknown_effects: UnknownEffects::Ask,
        }
    }

    /// Never asks: commands run in a sandbox, and destructive ones are refused.
    #[must_use]
    pub fn unattended() -> Self {
        Self {
            unmatched: Decision::Allow,
            destructive_inside: Decision::Forbid,
            destructive_repository: Decision::Forbid,
            destructive: Decision::Forbid,
            unknown_effects: UnknownEffects::AllowSandboxed,
        }
    }

    /// [`Self::unattended`] on a machine without a sandbox: only commands that are known to be
    /// harmless, or that a rule allows, may run.
    #[must_use]
    pub fn unattended_without_sandbox() -> Self {
        let unknown_effects = UnknownEffects::Forbid;
        Self { unmatched: Decision::Ask, unknown_effects, ..Self::unattended() }
    }

    /// With a checkpoint that covers the working directory, commands that destroy files in it are
    /// decided like any other command.
    #[must_use]
    pub fn with_checkpoint(self, covers_workspace: bool) -> Self {
        if !covers_workspace {
            return self;
        }
        Self { destructive_inside: self.unmatched, ..self }
    }

    /// The same for commands that destroy references and commits, with a checkpoint that covers the
    /// repositories in the working directory.
    #[must_use]
    pub fn with_repository_checkpoint(self, covers_repositories: bool) -> Self {
        if !covers_repositories {
            return self;
        }
        Self { destructive_repository: self.unmatched, ..self }
    }
}

/// A rule on hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostRule {
    /// Host names, which may contain `*`, and addresses.
    pub hosts: Vec<String>,
    /// The decision about a host that matches.
    pub decision: Decision,
    /// The reason that the author of the rule gave.
    pub justification: Option<String>,
    /// File and line of the rule.
    pub origin: String,
}

/// A rule on tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolRule {
    /// The name of the tool, which may contain `*`.
    pub name: String,
    /// Patterns for arguments; all must match.
    pub arguments: Vec<ArgumentPattern>,
    /// The decision about a call that matches.
    pub decision: Decision,
    /// The reason that the author of the rule gave.
    pub justification: Option<String>,
    /// File and line of the rule.
    pub origin: String,
}

/// A pattern for one argument of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentPattern {
    /// The name of the argument.
    pub name: String,
    /// The pattern that its value must match; `*` matches any text.
    pub pattern: String,
}

/// The paths that rules accept for the bare name of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutableRule {
    /// The bare name.
    pub name: String,
    /// Absolute paths of the program.
    pub paths: Vec<String>,
}

/// The environment that a command would run in.
#[allow(missing_debug_implementations)] // The closures implement no `Debug`.
#[derive(Clone, Copy)]
pub struct PolicyContext<'a> {
    cwd: &'a Path,
    home: Option<&'a Path>,
    is_disposable: bool,
    resolve_program: &'a dyn Fn(&str) -> Option<PathBuf>,
    real_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
    uncovered: &'a dyn Fn(&Path) -> Vec<PathBuf>,
}

impl<'a> PolicyContext<'a> {
    /// A context that never looks at the disk: programs and files are judged by their names.
    #[must_use]
    pub fn new(cwd: &'a Path) -> Self {
        let (resolve_program, real_path) = (&|_: &str| None, &|_: &Path| None);
        Self {
            cwd,
            home: None,
            is_disposable: false,
            resolve_program,
            real_path,
            uncovered: &|_| Vec::new(),
        }
    }

    /// Sets the home directory, which `~` stands for.
    #[must_use]
    pub fn with_home(self, home: Option<&'a Path>) -> Self {
        Self { home, ..self }
    }

    /// Declares the working directory a copy that no one keeps, so that programs may destroy it.
    #[must_use]
    pub fn with_disposable(self, is_disposable: bool) -> Self {
        Self { is_disposable, ..self }
    }

    /// Sets the function that returns the real path of a program, given its name or path as
    /// written in the command.
    #[must_use]
    pub fn with_program_resolver(self, resolve: &'a dyn Fn(&str) -> Option<PathBuf>) -> Self {
        Self { resolve_program: resolve, ..self }
    }

    /// Sets the function that returns files at or below a path that no checkpoint covers although
    /// they cannot be made again, such as large files that git ignores.
    #[must_use]
    pub fn with_uncovered_files(self, uncovered: &'a dyn Fn(&Path) -> Vec<PathBuf>) -> Self {
        Self { uncovered, ..self }
    }

    /// Sets the function that returns the real path of a file, with symbolic links resolved, or
    /// `None` if there is no such file.
    #[must_use]
    pub fn with_real_paths(self, real_path: &'a dyn Fn(&Path) -> Option<PathBuf>) -> Self {
        Self { real_path, ..self }
    }
}

/// The rules of all layers, and the decisions without a rule.
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

    /// Replaces the decisions without a rule.
    #[must_use]
    pub fn with_defaults(self, defaults: Defaults) -> Self {
        Self { defaults, ..self }
    }

    /// Adds the rules of a file, in any order.
    pub fn add(&mut self, file: RuleFile) {
        let rules = &mut self.rules;
        rules.commands.extend(file.commands);
        rules.paths.extend(file.paths);
        rules.hosts.extend(file.hosts);
        rules.tools.extend(file.tools);
        rules.executables.extend(file.executables);
        rules.unknown_effects = rules.unknown_effects.max(file.unknown_effects);
        rules.examples += file.examples;
    }

    /// Returns the decision about commands whose effects cannot be determined: the strictest of
    /// the rule files, or the default.
    #[must_use]
    pub fn unknown_effects(&self) -> UnknownEffects {
        self.rules.unknown_effects.unwrap_or(self.defaults.unknown_effects)
    }

    /// Returns true if any rule asks or forbids.
    #[must_use]
    pub fn restricts(&self) -> bool {
        let rules = &self.rules;
        let decisions = (rules.commands.iter().map(|rule| rule.decision))
            .chain(rules.paths.iter().map(|rule| rule.decision))
            .chain(rules.hosts.iter().map(|rule| rule.decision))
            .chain(rules.tools.iter().map(|rule| rule.decision));
        decisions.max() > Some(Decision::Allow)
    }

    /// Returns true if any rule on files asks or forbids.
    #[must_use]
    pub fn restricts_files(&self) -> bool {
        self.rules.paths.iter().any(|rule| rule.decision > Decision::Allow)
    }

    /// Returns true if any rule on hosts asks or forbids.
    fn restricts_hosts(&self) -> bool {
        self.rules.hosts.iter().any(|rule| rule.decision > Decision::Allow)
    }

    /// Decides about a shell script.
    #[must_use]
    pub fn check(&self, script: &str, context: &PolicyContext<'_>) -> Verdict {
        check::script(self, script, context)
    }

    /// Decides about access to a file by a tool: by the given path, and by the real path if the
    /// context knows it.
    #[must_use]
    pub fn check_path(
        &self,
        path: &Path,
        access: PathAccess,
        context: &PolicyContext<'_>,
    ) -> Verdict {
        check::path(self, path, access, context)
    }

    /// Decides about a connection. Returns `None` if no rule matches the host.
    #[must_use]
    pub fn check_host(&self, host: &str) -> Option<Verdict> {
        check::host(self, host).map(|part| Verdict::from_parts(vec![part]))
    }

    /// Returns the hosts that rules allow, as they are written.
    #[must_use]
    pub fn allowed_hosts(&self) -> Vec<String> {
        let allowing = self.rules.hosts.iter().filter(|rule| rule.decision == Decision::Allow);
        allowing.flat_map(|rule| rule.hosts.iter().cloned()).collect()
    }

    /// Decides about a tool call. Returns `None` if no rule matches it.
    #[must_use]
    pub fn check_tool(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
    ) -> Option<Verdict> {
        tools::check(self, name, arguments).map(|part| Verdict::from_parts(vec![part]))
    }
}
