//! The check of scripts, paths and hosts by rules.

use std::path::{Path, PathBuf};

use super::harm::{self, Damage};
use super::hosts;
use super::paths::{Directories, PathAccess};
use super::rule::{Match, Program};
use super::scope::{self, Extent};
use super::spelling::{self, Variable};
use super::{CommandRule, Part, Policy, PolicyContext, Scope, UnknownEffects, Verdict};
use crate::Decision;
use crate::programs::{self, Reach, Trait, is_option};
use crate::shell::{self, Analysis, Command, RedirectAccess, Role};
use crate::word::{Word, base_name};

/// Options whose value is the directory that a command works in.
pub(super) const DIRECTORY_OPTIONS: &str = "-C --chdir --directory --work-tree --git-dir --prefix";

pub(super) fn script(policy: &Policy, script: &str, context: &PolicyContext<'_>) -> Verdict {
    let analysis = shell::analyze(script);
    let mut checker = Checker::new(policy, context, script);
    checker.note_variables(&analysis);
    checker.note_directories(&analysis);
    for command in &analysis.commands {
        checker.scope = checker.scope_of(command, script);
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
    let is_forbidden = checker.parts.iter().any(|part| part.decision == Decision::Forbid);
    if (is_opaque || !analysis.is_certain()) && !is_forbidden {
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
    /// The script works in another directory, whose configuration may name programs.
    is_elsewhere: bool,
    /// Patterns match names that begin with a dot.
    pub(super) matches_dots: bool,
    /// Variables whose value the script shows, and those that are always set.
    pub(super) variables: Vec<Variable>,
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
            is_elsewhere: false,
            matches_dots: script.contains("dotglob"),
            variables: Vec::new(),
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
            let before = self.cwds.len();
            if program.has(Trait::ChangesDirectory) {
                let is_operand = |w: &&Word| !w.literal().is_some_and(is_option);
                self.enter(words.iter().find(is_operand));
            }
            for directory in programs::values(DIRECTORY_OPTIONS, words) {
                if directory.literal().is_some_and(|text| !text.starts_with('-')) {
                    self.enter(Some(&directory));
                }
            }
            let is_other = |directory: &PathBuf| directory != self.context.cwd;
            let changes = program.has(Trait::ChangesDirectory)
                || program.has(Trait::ReadsConfiguration)
                || command.role == Role::Starts;
            self.is_elsewhere |= changes && self.cwds[before..].iter().any(is_other);
        }
        self.is_elsewhere |= self.cwd_is_unknown;
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
            let last = self.cwds.last().cloned();
            let from = last.as_deref().unwrap_or(self.context.cwd);
            for cwd in [from, self.context.cwd] {
                let paths = self.resolved(&text, cwd);
                self.cwds.extend(paths);
            }
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
        let damage = self.damage(command);
        if let Some(damage) = damage.filter(|damage| damage.reach == Reach::Machine) {
            return self.part(&text, Decision::Forbid, damage.reason);
        }
        // Assignments without a command, or a computed program, which is uncertain already.
        let Some(written) = command.program() else { return };
        let mut decided = self.rules(command, written, &text);
        let is_configured =
            self.is_elsewhere && programs::find(base_name(written)).has(Trait::ReadsConfiguration);
        let reads = only_reads(command) && self.is_itself(written) && !is_configured;
        decided |= self.arguments(command, &text, reads);
        if decided {
            return;
        }
        if !self.is_itself(written) {
            self.unknown(&text, "the effects of this program cannot be determined");
        } else if let Role::Opaque(why) = &command.role {
            self.unknown(&text, why);
        }
        if let Some(damage) = damage {
            let decision = damage.decision(self.policy.defaults);
            return self.part(&text, decision, damage.reason);
        }
        match &command.role {
            _ if !self.is_itself(written) => {}
            Role::Starts => {
                self.part(&text, Decision::Allow, "the command it starts is judged separately");
            }
            Role::Opaque(_) => {}
            Role::Plain if reads => {
                let part = Part::new(text, Decision::Allow, "it only reads", self.scope.clone());
                self.parts.push(Part { inert: is_inert(command), ..part });
            }
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
        if let Some(damage) = self.damage(command).filter(|d| d.reach == Reach::Machine) {
            self.part(&text, Decision::Forbid, damage.reason);
        }
        let before = self.parts.len();
        if let Some(written) = command.program() {
            self.rules(command, written, &text);
        }
        let strict = self.parts.split_off(before);
        self.parts.extend(strict.into_iter().filter(|part| part.decision > Decision::Allow));
    }

    /// Returns the worst damage of a command, from every directory that the script may be in.
    fn damage(&self, command: &Command) -> Option<Damage> {
        let cwds = self.cwds.iter().map(PathBuf::as_path);
        let all = std::iter::once(self.context.cwd).chain(cwds);
        let damages = all.filter_map(|cwd| {
            harm::damage(command, Directories { cwd, ..self.directories }, self.context.cwd)
        });
        let worst = damages.reduce(|a, b| if b.reach > a.reach { b } else { a });
        let is_covered = worst.is_none_or(|worst| worst.reach < Reach::Uncovered);
        if is_covered && self.destroys_uncovered(command) {
            return Some(harm::UNCOVERED);
        }
        worst
    }

    /// Returns true if a command that destroys files of the workspace may destroy some that no
    /// checkpoint covers.
    pub(super) fn destroys_uncovered(&self, command: &Command) -> bool {
        let (paths, names) = harm::named(command);
        let paths = paths.into_iter().flat_map(|text| self.candidates(text));
        let mut found = paths.flat_map(|path| (self.context.uncovered)(&path));
        found.any(|file| harm::has_name(&file, &names))
    }

    /// Returns the scope of an approval of a command.
    pub(super) fn scope_of(&self, command: &Command, script: &str) -> Scope {
        let roots = self.resolved(".", self.context.cwd);
        let is_inside = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        let is_outside = |text: &str| {
            let is_name = !text.is_empty() && !is_option(text);
            is_name && !self.candidates(text).iter().all(is_inside)
        };
        let names_outside = |word: &Word| {
            let text = word.literal().unwrap_or_default();
            let value = text.split_once('=').map_or("", |(_, value)| value);
            let attached = match is_option(text) && !text.starts_with("--") {
                true => text.get(2..).unwrap_or_default(),
                false => "",
            };
            [text, value, attached]
                .into_iter()
                .any(|part| is_outside(part) || scope::is_address(part))
        };
        let words = command.words.get(1..).unwrap_or_default();
        let extent = if self.damage(command).is_some() {
            Extent::Destroys
        } else if self.cwd_is_unknown || !self.cwds.iter().all(is_inside) {
            Extent::Elsewhere
        } else if words.iter().any(names_outside) {
            Extent::Named
        } else {
            Extent::Inside
        };
        Scope::of_command(command, script, extent)
    }

    /// Applies the rules on commands. Returns true if one decided.
    fn rules(&mut self, command: &Command, written: &str, text: &str) -> bool {
        let program = Program { written, real: (self.context.resolve_program)(written) };
        let same = |written: &str, name: &str| self.is_same(written, name);
        let mut best: Option<&CommandRule> = None;
        let mut possible: Option<&CommandRule> = None;
        for rule in &self.policy.rules.commands {
            match rule.matches(command, &program, &same, &|text| self.is_outside(text)) {
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

    /// Returns true if a text is a path outside of the working directory.
    fn is_outside(&self, text: &str) -> bool {
        let is_path = text.contains('/') || text.starts_with(['~', '.']);
        is_path && self.candidates(text).iter().any(|path| !path.starts_with(self.context.cwd))
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
            // The commands of a process substitution are judged themselves. Any other name may be
            // that of a connection, even if it is only read.
            if !target.raw().starts_with(['<', '>']) {
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
