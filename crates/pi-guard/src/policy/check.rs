//! The check of scripts, paths and hosts by rules.

use std::path::{Path, PathBuf};

use super::paths::{Directories, PathAccess};
use super::rule::{Match, Program};
use super::spelling::{self, Variable};
use super::{CommandRule, Defaults, Part, Policy, PolicyContext, Scope, UnknownEffects, Verdict};
use super::{harm, hosts};
use crate::Decision;
use crate::programs::{self, Harm, Trait, is_option};
use crate::shell::{self, Analysis, Command, RedirectAccess, Role, Word, base_name};

/// Options whose value is the directory that a command works in.
const DIRECTORY_OPTIONS: &str = "-C --chdir --directory --work-tree --prefix";
/// Directories whose programs belong to the system.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/snap", "/System", "/Library"];

pub(super) fn script(policy: &Policy, script: &str, context: &PolicyContext<'_>) -> Verdict {
    let analysis = shell::analyze(script);
    let mut checker = Checker::new(policy, context, script);
    checker.note_variables(&analysis);
    checker.note_directories(&analysis);
    checker.note_created(&analysis);
    for command in &analysis.commands {
        checker.scope = Scope::of_command(command, script);
        checker.command(command, &analysis);
        for spelled in spelling::commands(command, &checker.variables) {
            checker.spelled(&spelled);
        }
    }
    checker.scope = checker.script.clone();
    if harm::is_fork_bomb(script, &analysis) {
        checker.part(script, Decision::Forbid, "it starts itself endlessly");
    }
    for name in &analysis.functions {
        let mut programs = policy.rules.commands.iter().filter_map(|rule| rule.prefix.first());
        let has_rule = programs.any(|names| names.contains(name));
        if has_rule || (context.resolve_program)(name).is_some() {
            checker.unknown(name, "a function of the script has the name of a program");
        }
    }
    for uncertainty in &analysis.uncertainties {
        checker.unknown("script", &uncertainty.to_string());
    }
    let is_opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
    if is_opaque || !analysis.is_certain() {
        checker.check_mentions(script);
    }
    Verdict::from_parts(checker.parts)
}

pub(super) fn path(
    policy: &Policy,
    path: &Path,
    access: PathAccess,
    context: &PolicyContext<'_>,
) -> Verdict {
    let mut checker = Checker::new(policy, context, "");
    let text = path.to_string_lossy();
    let absolute = checker.directories.absolute(&text, context.cwd);
    checker.scope = Scope::of_path(&absolute, access, context.cwd);
    if !checker.file(&text, access) {
        let decision = match access {
            PathAccess::Read => Decision::Allow,
            PathAccess::Write | PathAccess::Any => policy.defaults.unmatched,
        };
        checker.part(&text, decision, "no rule for this file");
    }
    Verdict::from_parts(checker.parts)
}

pub(super) fn host(policy: &Policy, name: &str) -> Option<Part> {
    host_by(policy, name, hosts::matches)
}

/// Returns the decision of rules about a word that may be a host.
pub(super) fn word_as_host(policy: &Policy, word: &str) -> Option<Part> {
    host_by(policy, word, hosts::may_match)
}

fn host_by(policy: &Policy, host: &str, matches: fn(&str, &str) -> bool) -> Option<Part> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let rules = policy.rules.hosts.iter();
    let matching = rules.filter(|rule| rule.hosts.iter().any(|pattern| matches(pattern, &host)));
    let rule = matching.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Host { host: host.clone() };
    Some(Part::by_rule(host, rule.decision, &rule.origin, rule.justification.as_deref(), scope))
}

/// Returns true if a command only reads.
pub(super) fn only_reads(command: &Command) -> bool {
    if command.program().is_none() {
        return command.words.is_empty();
    }
    let is_opaque = matches!(command.role, Role::Opaque(_));
    programs::prints_version(&command.words) || !is_opaque && programs::only_reads(&command.words)
}

/// Returns true if a command neither reads, writes nor runs anything.
fn is_inert(command: &Command) -> bool {
    let is_plain = command.redirects.is_empty() && command.assignments.is_empty();
    is_plain && programs::is_inert(&command.words)
}

/// The check of one script or path.
pub(super) struct Checker<'a> {
    pub(super) policy: &'a Policy,
    pub(super) context: &'a PolicyContext<'a>,
    pub(super) directories: Directories<'a>,
    pub(super) parts: Vec<Part>,
    /// Directories that the script may be in besides the first one.
    pub(super) cwds: Vec<PathBuf>,
    /// The script may be in any directory.
    pub(super) cwd_is_unknown: bool,
    /// Patterns match names that begin with a dot.
    pub(super) matches_dots: bool,
    /// Variables whose value the script shows, and those that are always set.
    pub(super) variables: Vec<Variable>,
    /// Files that the script creates.
    pub(super) created: Vec<PathBuf>,
    /// The scope of an approval of the current part.
    pub(super) scope: Scope,
    /// The scope of an approval of unknown effects.
    script: Scope,
}

impl<'a> Checker<'a> {
    pub(super) fn new(policy: &'a Policy, context: &'a PolicyContext<'a>, script: &str) -> Self {
        let scope = Scope::Script { text: script.to_owned() };
        Self {
            policy,
            context,
            directories: Directories { cwd: context.cwd, home: context.home },
            parts: Vec::new(),
            cwds: Vec::new(),
            cwd_is_unknown: false,
            matches_dots: script.contains("dotglob"),
            variables: Vec::new(),
            created: Vec::new(),
            scope: scope.clone(),
            script: scope,
        }
    }

    /// Adds a part that no rule decided.
    pub(super) fn part(&mut self, what: &str, decision: Decision, reason: &str) {
        self.parts.push(Part::new(what, decision, reason, self.scope.clone()));
    }

    /// Adds a part that is unknown.
    pub(super) fn unknown(&mut self, what: &str, reason: &str) {
        let (decision, confined) = match self.policy.unknown_effects() {
            UnknownEffects::AllowSandboxed => (Decision::Allow, true),
            UnknownEffects::Ask => (Decision::Ask, false),
            UnknownEffects::Forbid => (Decision::Forbid, false),
        };
        let part = Part::new(what, decision, reason, self.script.clone());
        self.parts.push(Part { confined, ..part });
    }

    fn note_variables(&mut self, analysis: &Analysis) {
        self.variables = spelling::variables(analysis);
        for (name, value) in [("HOME", self.context.home), ("PWD", Some(self.context.cwd))] {
            let is_set = self.variables.iter().any(|variable| variable.name == name);
            if !is_set && let Some(value) = value {
                self.variables.push(Variable::new(name, &value.to_string_lossy()));
            }
        }
        // `x=$HOME/y`, `a=$b$c`
        let copied = spelling::copies(analysis, &self.variables);
        self.variables.extend(copied);
    }

    fn note_directories(&mut self, analysis: &Analysis) {
        for command in &analysis.commands {
            let words = command.words.get(1..).unwrap_or_default();
            let Some(program) = command.base().map(programs::find) else { continue };
            if program.has(Trait::ChangesDirectory) {
                let is_operand = |w: &&Word| !w.literal().is_some_and(is_option);
                self.enter(words.iter().find(is_operand));
            }
            for directory in programs::values(DIRECTORY_OPTIONS, words) {
                if directory.literal().is_some_and(|text| !text.starts_with('-')) {
                    self.enter(Some(&directory));
                }
            }
        }
    }

    /// Notes a directory that the script enters: the home directory if none is given.
    fn enter(&mut self, directory: Option<&Word>) {
        let entered = match directory {
            None => self.context.home.map(|home| vec![home.to_string_lossy().into_owned()]),
            Some(Word::Literal { text, .. }) if text.starts_with('-') => None,
            Some(Word::Literal { text, .. }) => Some(vec![text.clone()]),
            Some(word) => {
                // Its variables may have other values than those that the script shows.
                self.cwd_is_unknown = true;
                spelling::spellings(word, &self.variables)
            }
        };
        self.cwd_is_unknown |= entered.is_none();
        for text in entered.unwrap_or_default() {
            // Relative to the directory that was entered last, or to the first one.
            let from = self.cwds.last().map_or(self.context.cwd, PathBuf::as_path);
            let paths = [from, self.context.cwd].map(|cwd| self.directories.absolute(&text, cwd));
            self.cwds.extend(paths);
        }
    }

    fn command(&mut self, command: &Command, analysis: &Analysis) {
        let text = command.text();
        for redirect in &command.redirects {
            let access = match redirect.access {
                RedirectAccess::Read => PathAccess::Read,
                RedirectAccess::Write | RedirectAccess::Append => PathAccess::Write,
            };
            self.redirect(access, &redirect.target);
        }
        let harm = self.harm(command);
        if let Some(harm) = harm.filter(|harm| harm.is_catastrophic) {
            return self.part(&text, Decision::Forbid, harm.reason);
        }
        // Assignments without a command, or a computed program, which is uncertain already.
        let Some(written) = command.program() else { return };
        let mut decided = self.rules(command, written, &text);
        let reads = only_reads(command) && self.is_itself(written);
        decided |= self.arguments(command, &text, reads);
        if decided {
            return;
        }
        if !reads && self.is_own_program(written) {
            self.unknown(&text, "the effects of this program cannot be determined");
            if harm.is_none() {
                return;
            }
        }
        let started = !reads && self.may_start(command, &text);
        if let Some(harm) = harm {
            self.part(&text, self.policy.defaults.destructive, harm.reason);
            // It may do more than this damage.
            if let Role::Opaque(why) = &command.role {
                self.unknown(&text, why);
            }
            return;
        }
        match &command.role {
            Role::Starts => {
                self.part(&text, Decision::Allow, "the command it starts is judged separately");
            }
            _ if reads => {
                let part = Part::new(text, Decision::Allow, "it only reads", self.scope.clone());
                self.parts.push(Part { inert: is_inert(command), ..part });
            }
            Role::Opaque(why) => self.unknown(&text, why),
            // A command that may start others is not allowed as unmatched.
            _ if started && self.policy.defaults.unmatched == Decision::Allow => {}
            Role::Plain if analysis.functions.iter().any(|name| name == written) => {
                self.part(&text, Decision::Allow, "a function whose body is judged separately");
            }
            Role::Plain => {
                self.part(&text, self.policy.defaults.unmatched, "no rule for this command");
            }
        }
    }

    /// Checks a spelling of a command with the values that the script shows, which can only make
    /// the decision stricter.
    fn spelled(&mut self, command: &Command) {
        let text = command.text();
        if let Some(harm) = self.harm(command).filter(|harm| harm.is_catastrophic) {
            self.part(&text, Decision::Forbid, harm.reason);
        }
        let before = self.parts.len();
        if let Some(written) = command.program() {
            self.rules(command, written, &text);
        }
        let strict = self.parts.split_off(before);
        self.parts.extend(strict.into_iter().filter(|part| part.decision > Decision::Allow));
    }

    /// Returns the worst damage of a command, from every directory that the script may be in.
    fn harm(&self, command: &Command) -> Option<&'static Harm> {
        let cwds = self.cwds.iter().map(PathBuf::as_path);
        let all = std::iter::once(self.context.cwd).chain(cwds);
        let harms =
            all.filter_map(|cwd| harm::harm(command, Directories { cwd, ..self.directories }));
        harms.min_by_key(|harm| !harm.is_catastrophic)
    }

    /// Applies the rules on commands. Returns true if one decided.
    fn rules(&mut self, command: &Command, written: &str, text: &str) -> bool {
        let program = Program { written, real: (self.context.resolve_program)(written) };
        let same = |written: &str, name: &str| self.is_same(written, name);
        let mut best: Option<&CommandRule> = None;
        let mut possible: Option<&CommandRule> = None;
        for rule in &self.policy.rules.commands {
            match rule.matches(command, &program, &same) {
                Match::Yes if best.is_none_or(|b| b.decision < rule.decision) => best = Some(rule),
                Match::Maybe => possible = Some(rule),
                _ => {}
            }
        }
        if let Some(rule) = best {
            self.by_rule(text, rule.decision, &rule.origin, rule.justification.as_deref());
        }
        if let Some(rule) = possible {
            self.unknown(text, &format!("it may match a rule ({})", rule.origin));
        }
        best.is_some() || possible.is_some()
    }

    /// Adds a part that a rule decided.
    pub(super) fn by_rule(
        &mut self,
        what: &str,
        decision: Decision,
        origin: &str,
        why: Option<&str>,
    ) {
        self.parts.push(Part::by_rule(what, decision, origin, why, self.scope.clone()));
    }

    /// Returns true if a program written as a path is the one that its bare name stands for.
    fn is_itself(&self, written: &str) -> bool {
        !written.contains('/') || self.is_same(written, base_name(written))
    }

    /// Returns true if a program is given by a path outside of the system and is not the one that
    /// its bare name stands for. Such a file may just have been written.
    fn is_own_program(&self, written: &str) -> bool {
        let is_of_system = |path: &PathBuf| SYSTEM.iter().any(|system| path.starts_with(system));
        !self.is_itself(written) && !self.candidates(written).iter().all(is_of_system)
    }

    fn is_same(&self, written: &str, name: &str) -> bool {
        if written == name {
            return true;
        }
        let home = written.strip_prefix("~/").and_then(|rest| Some(self.context.home?.join(rest)));
        let expanded = home.map(|path| path.to_string_lossy().into_owned());
        let written = expanded.as_deref().unwrap_or(written);
        if base_name(written) != name || !written.starts_with('/') {
            return false;
        }
        let mut executables = self.policy.rules.executables.iter();
        let is_listed = |path: &String| path == written;
        if executables.any(|rule| rule.name == name && rule.paths.iter().any(is_listed)) {
            return true;
        }
        let real = (self.context.resolve_program)(written);
        real.is_some() && real == (self.context.resolve_program)(name)
    }

    fn redirect(&mut self, access: PathAccess, target: &Word) {
        let Some(text) = target.literal() else {
            for spelled in spelling::spellings(target, &self.variables).unwrap_or_default() {
                let spelled = Word::plain(spelled);
                if access == PathAccess::Write && harm::is_disk(&spelled) {
                    self.part(target.raw(), Decision::Forbid, programs::OVERWRITES_DISK.reason);
                }
                self.redirect(access, &spelled);
            }
            // Without rules on files or hosts, any file is as good as another.
            let rules = &self.policy.rules;
            let decisions = rules.paths.iter().map(|rule| rule.decision);
            let mut decisions = decisions.chain(rules.hosts.iter().map(|rule| rule.decision));
            let is_open = self.policy.defaults == Defaults::explore()
                && !decisions.any(|decision| decision > Decision::Allow);
            if !is_open && (access == PathAccess::Write || !rules.paths.is_empty()) {
                self.unknown(target.raw(), "the file name is computed");
            }
            return;
        };
        if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/stdin") {
            return;
        }
        // `/dev/tcp/host/port` is a connection.
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            let name = text.split('/').nth(3).unwrap_or_default();
            match host(self.policy, name) {
                Some(part) => self.parts.push(part),
                None => self.unknown(text, "it connects to another machine"),
            }
            return;
        }
        let absolute = self.directories.absolute(text, self.context.cwd);
        let scope = Scope::of_path(&absolute, access, self.context.cwd);
        let scope = std::mem::replace(&mut self.scope, scope);
        if !self.file(text, access) && access == PathAccess::Write {
            self.part(text, self.policy.defaults.unmatched, "no rule for writing this file");
        }
        self.scope = scope;
    }
}
