//! From rules and a script to a verdict.

use std::path::{Path, PathBuf};

use super::harm;
use super::hosts;
use super::paths::{Directories, PathAccess};
use super::rule::{Fit, Program};
use super::spelling;
use super::{Part, Policy, PolicyContext, Scope, UnknownEffects, Verdict};
use crate::Decision;
use crate::programs::{self, Harm, Trait, is_option};
use crate::shell::{self, Access, Analysis, Command, Role, Word, base_name};

pub(super) fn script(policy: &Policy, script: &str, context: &PolicyContext<'_>) -> Verdict {
    let analysis = shell::analyze(script);
    let mut check = Check::new(policy, context);
    check.script = Scope::Script { text: script.to_owned() };
    check.variables_set(&analysis);
    check.folders_entered(&analysis);
    check.dots = script.contains("dotglob");
    check.files_made(&analysis);
    for command in &analysis.commands {
        check.scope = Scope::of_command(command, script);
        check.command(command, &analysis);
        for spelled in spelling::commands(command, &check.variables) {
            check.spelled(&spelled);
        }
    }
    check.scope = check.script.clone();
    if harm::is_fork_bomb(script, &analysis) {
        check.part(script, Decision::Forbid, None, "it starts itself without end");
    }
    for name in &analysis.functions {
        let ruled = policy
            .rules
            .commands
            .iter()
            .any(|r| r.prefix.first().is_some_and(|p| p.contains(name)));
        if ruled || (context.resolve_program)(name).is_some() {
            check.unknown(name, "a function of the script has the name of a program");
        }
    }
    for doubt in &analysis.uncertainties {
        check.unknown("script", &doubt.to_string());
    }
    let opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
    if opaque || !analysis.is_certain() {
        check.mentioned(script);
    }
    Verdict::from_parts(check.parts)
}

pub(super) fn path(
    policy: &Policy,
    path: &Path,
    access: PathAccess,
    context: &PolicyContext<'_>,
) -> Verdict {
    let mut check = Check::new(policy, context);
    let text = path.to_string_lossy();
    let absolute = check.directories.absolute(&text, context.cwd);
    check.scope = Scope::of_path(&absolute, access, context.cwd);
    if !check.file(&text, access) {
        let decision = match access {
            PathAccess::Read => Decision::Allow,
            PathAccess::Write | PathAccess::Any => policy.defaults.unmatched,
        };
        check.part(&text, decision, None, "no rule speaks of this file");
    }
    Verdict::from_parts(check.parts)
}

pub(super) fn host(policy: &Policy, name: &str) -> Option<Part> {
    host_by(policy, name, hosts::fits)
}

/// What the rules say of a word that may be a host.
pub(super) fn word_as_host(policy: &Policy, word: &str) -> Option<Part> {
    host_by(policy, word, hosts::may_fit)
}

fn host_by(policy: &Policy, host: &str, fits: fn(&str, &str) -> bool) -> Option<Part> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let rules = policy.rules.hosts.iter();
    let fitting = rules.filter(|rule| rule.hosts.iter().any(|pattern| fits(pattern, &host)));
    let rule = fitting.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Host { host: host.clone() };
    Some(ruled(host, rule.decision, &rule.origin, rule.justification.as_deref(), scope))
}

pub(super) fn ruled(
    what: String,
    decision: Decision,
    origin: &str,
    why: Option<&str>,
    scope: Scope,
) -> Part {
    let reason = why.unwrap_or(match decision {
        Decision::Allow => "a rule allows it",
        Decision::Ask => "a rule says to ask",
        Decision::Forbid => "a rule forbids it",
    });
    Part {
        what,
        decision,
        confined: false,
        rule: Some(origin.to_owned()),
        reason: reason.to_owned(),
        scope,
    }
}

/// Options whose value is the directory that a command works in.
const DIRECTORY_OPTIONS: &str = "-C --chdir --directory --work-tree --prefix";

/// Returns true if a command only reads.
pub(super) fn only_reads(command: &Command) -> bool {
    if command.program().is_none() {
        return command.words.is_empty();
    }
    let is_opaque = matches!(command.role, Role::Opaque(_));
    programs::prints_version(&command.words) || !is_opaque && programs::only_reads(&command.words)
}

pub(super) struct Check<'a> {
    pub(super) policy: &'a Policy,
    pub(super) context: &'a PolicyContext<'a>,
    pub(super) directories: Directories<'a>,
    pub(super) parts: Vec<Part>,
    /// Folders that the script may be in besides the first.
    pub(super) cwds: Vec<PathBuf>,
    /// Whether it may be anywhere.
    pub(super) lost: bool,
    /// Whether patterns match names that begin with a dot.
    pub(super) dots: bool,
    /// Variables whose value the script shows, and those that everybody has.
    pub(super) variables: Vec<(String, String)>,
    /// Files that the script makes.
    pub(super) made: Vec<PathBuf>,
    /// What approving the part at hand is remembered for.
    pub(super) scope: Scope,
    /// What approving what is not understood is remembered for.
    script: Scope,
}

impl<'a> Check<'a> {
    fn new(policy: &'a Policy, context: &'a PolicyContext<'a>) -> Self {
        let nothing = Scope::Script { text: String::new() };
        Self {
            policy,
            context,
            directories: Directories { cwd: context.cwd, home: context.home },
            parts: Vec::new(),
            cwds: Vec::new(),
            lost: false,
            dots: false,
            variables: Vec::new(),
            made: Vec::new(),
            scope: nothing.clone(),
            script: nothing,
        }
    }

    /// A part that a rule decided.
    pub(super) fn by(
        &self,
        decision: Decision,
        what: &str,
        origin: &str,
        why: Option<&str>,
    ) -> Part {
        ruled(what.to_owned(), decision, origin, why, self.scope.clone())
    }

    pub(super) fn part(
        &mut self,
        what: &str,
        decision: Decision,
        rule: Option<String>,
        reason: &str,
    ) {
        self.parts.push(Part {
            what: what.to_owned(),
            decision,
            confined: false,
            rule,
            reason: reason.to_owned(),
            scope: self.scope.clone(),
        });
    }

    pub(super) fn unknown(&mut self, what: &str, reason: &str) {
        let (decision, confined) = match self.policy.unknown_effects() {
            UnknownEffects::AllowSandboxed => (Decision::Allow, true),
            UnknownEffects::Ask => (Decision::Ask, false),
            UnknownEffects::Forbid => (Decision::Forbid, false),
        };
        self.parts.push(Part {
            what: what.to_owned(),
            decision,
            confined,
            rule: None,
            reason: reason.to_owned(),
            scope: self.script.clone(),
        });
    }

    fn variables_set(&mut self, analysis: &Analysis) {
        self.variables = spelling::variables(analysis);
        let set = |name: &str| self.variables.iter().any(|(known, _)| known == name);
        let home = self.context.home.filter(|_| !set("HOME"));
        let folders = [("HOME", home), ("PWD", Some(self.context.cwd).filter(|_| !set("PWD")))];
        for (name, folder) in folders {
            let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
            self.variables.extend(folder.map(|folder| (name.to_owned(), folder)));
        }
        // `x=$HOME/y`, `a=$b$c`
        let copied = spelling::copies(analysis, &self.variables);
        self.variables.extend(copied);
    }

    fn folders_entered(&mut self, analysis: &Analysis) {
        for command in &analysis.commands {
            let words = command.words.get(1..).unwrap_or_default();
            let Some(program) = command.base().map(programs::find) else { continue };
            if program.has(Trait::ChangesDirectory) {
                let is_operand = |w: &&Word| !w.literal().is_some_and(is_option);
                self.enter(words.iter().find(is_operand));
            }
            // What such a command does, it does in that directory.
            for directory in programs::values(DIRECTORY_OPTIONS, words) {
                if directory.literal().is_some_and(|text| !text.starts_with('-')) {
                    self.enter(Some(&directory));
                }
            }
        }
    }

    /// Notes a folder that the script enters, or that it may be anywhere.
    fn enter(&mut self, folder: Option<&Word>) {
        let home = self.context.home.map(|home| home.to_string_lossy().into_owned());
        let directories = match folder {
            None => home.map(|home| vec![home]),
            Some(Word::Literal { text, .. }) => {
                Some(vec![text.clone()]).filter(|_| !text.starts_with('-'))
            }
            Some(word) => {
                // It may still be somewhere else, if its variable is set to more than is shown.
                self.lost = true;
                spelling::spellings(word, &self.variables)
            }
        };
        for folder in directories.iter().flatten() {
            // Relative to where an earlier `cd` led, or to the start.
            let from = self.cwds.last().map_or(self.context.cwd, PathBuf::as_path);
            let entered = [
                self.directories.absolute(folder, from),
                self.directories.absolute(folder, self.context.cwd),
            ];
            self.cwds.extend(entered);
        }
        self.lost |= directories.is_none();
    }

    fn command(&mut self, command: &Command, analysis: &Analysis) {
        let text = command.text();
        for redirect in &command.redirects {
            let access = match redirect.access {
                Access::Read => PathAccess::Read,
                Access::Write | Access::Append => PathAccess::Write,
            };
            self.redirect(access, &redirect.target);
        }
        let harm = self.harm(command);
        if let Some(harm) = harm.filter(|harm| harm.is_catastrophic) {
            return self.part(&text, Decision::Forbid, None, harm.reason);
        }
        // Bare assignments, or a program that is not written out: that is a doubt already.
        let Some(written) = command.program() else { return };
        let mut decided = self.rules(command, written, &text);
        let reads = only_reads(command) && self.is_itself(written);
        decided |= self.arguments(command, &text, reads);
        if decided {
            return;
        }
        if !reads && self.is_own_program(written) {
            self.unknown(&text, "what this program runs is not in the command");
            if harm.is_none() {
                return;
            }
        }
        let started = !reads && self.may_start(command, &text);
        if let Some(harm) = harm {
            self.part(&text, self.policy.defaults.destructive, None, harm.reason);
            // Whether it may be done or not, nobody knows what it does.
            if let Role::Opaque(why) = &command.role {
                self.unknown(&text, why);
            }
            return;
        }
        match &command.role {
            Role::Starts => {
                self.part(&text, Decision::Allow, None, "what it starts is judged by itself");
            }
            _ if reads => self.part(&text, Decision::Allow, None, "it only reads"),
            Role::Opaque(why) => self.unknown(&text, why),
            // That it is not known what it starts does not make it known.
            _ if started && self.policy.defaults.unmatched == Decision::Allow => {}
            Role::Plain if analysis.functions.iter().any(|name| name == written) => {
                self.part(&text, Decision::Allow, None, "a function whose body is judged");
            }
            Role::Plain => {
                self.part(
                    &text,
                    self.policy.defaults.unmatched,
                    None,
                    "no rule speaks of this command",
                );
            }
        }
    }

    /// What a command becomes with the values that the script shows can only make it worse.
    fn spelled(&mut self, command: &Command) {
        let text = command.text();
        if let Some(harm) = self.harm(command).filter(|harm| harm.is_catastrophic) {
            self.part(&text, Decision::Forbid, None, harm.reason);
        }
        let before = self.parts.len();
        if let Some(written) = command.program() {
            self.rules(command, written, &text);
        }
        let strict = self.parts.split_off(before);
        self.parts.extend(strict.into_iter().filter(|part| part.decision > Decision::Allow));
    }

    /// The worst that a command does, from any folder that the script may be in.
    fn harm(&self, command: &Command) -> Option<&'static Harm> {
        let cwds = self.cwds.iter().map(PathBuf::as_path);
        let all = std::iter::once(self.context.cwd).chain(cwds);
        let harms =
            all.filter_map(|cwd| harm::harm(command, Directories { cwd, ..self.directories }));
        harms.min_by_key(|harm| !harm.is_catastrophic)
    }

    /// Judges by the rules on commands; says whether one decided.
    fn rules(&mut self, command: &Command, written: &str, text: &str) -> bool {
        let program = Program { written, real: (self.context.resolve_program)(written) };
        let same = |written: &str, name: &str| self.is_same(written, name);
        let mut best: Option<&super::CommandRule> = None;
        let mut may: Option<&super::CommandRule> = None;
        for rule in &self.policy.rules.commands {
            match rule.fit(command, &program, &same) {
                Fit::Yes if best.is_none_or(|b| b.decision < rule.decision) => best = Some(rule),
                Fit::Maybe => may = Some(rule),
                _ => {}
            }
        }
        if let Some(rule) = best {
            let part = self.by(rule.decision, text, &rule.origin, rule.justification.as_deref());
            self.parts.push(part);
        }
        if let Some(rule) = may {
            let reason = format!("it may be what a rule is about ({})", rule.origin);
            self.unknown(text, &reason);
        }
        best.is_some() || may.is_some()
    }

    /// Whether a program written as a path is the one that the bare name stands for.
    fn is_itself(&self, written: &str) -> bool {
        !written.contains('/') || self.is_same(written, base_name(written))
    }

    /// Whether a program is given by a path that is neither the system's nor where its name leads:
    /// a file like any other, which may have been written a moment ago.
    fn is_own_program(&self, written: &str) -> bool {
        const SYSTEM: &[&str] = &[
            "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/snap", "/System",
            "/Library",
        ];
        let all = || self.candidates(written).into_iter();
        !self.is_itself(written)
            && !all().all(|path| SYSTEM.iter().any(|folder| path.starts_with(folder)))
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
        let listed = self
            .policy
            .rules
            .executables
            .iter()
            .any(|rule| rule.name == name && rule.paths.iter().any(|path| path == written));
        listed
            || (self.context.resolve_program)(written)
                .is_some_and(|real| (self.context.resolve_program)(name) == Some(real))
    }

    fn redirect(&mut self, access: PathAccess, target: &Word) {
        let Some(text) = target.literal() else {
            for spelled in spelling::spellings(target, &self.variables).unwrap_or_default() {
                let spelled = Word::plain(spelled);
                if access == PathAccess::Write && harm::is_disk(&spelled) {
                    let text = target.raw().to_owned();
                    self.part(&text, Decision::Forbid, None, "it overwrites a disk");
                }
                self.redirect(access, &spelled);
            }
            // Where nothing speaks of files or hosts, it does not matter which it is.
            let rules = &self.policy.rules;
            let strict = |decision: Decision| decision > Decision::Allow;
            let ruled = rules.paths.iter().any(|rule| strict(rule.decision))
                || rules.hosts.iter().any(|rule| strict(rule.decision));
            let open = !ruled && self.policy.defaults == super::Defaults::explore();
            if !open && (access == PathAccess::Write || !rules.paths.is_empty()) {
                self.unknown(target.raw(), "the file is not written out");
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
            self.part(
                text,
                self.policy.defaults.unmatched,
                None,
                "no rule speaks of writing this file",
            );
        }
        self.scope = scope;
    }
}
