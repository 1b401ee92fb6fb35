//! From rules and a script to a verdict.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::destructive::{self, Harm};
use super::known;
use super::paths::{self, Folders, PROTECTED, Reach};
use super::rule::{Fit, Program};
use super::{Part, Policy, Scene, Scope, Unanalysable, Verdict};
use crate::Decision;
use crate::shell::{self, Access, Analysis, Command, Role, Word, base_name};

/// Programs that remove or move whole folders.
const MOVERS: &[&str] = &["rm", "mv", "rmdir", "shred", "ln", "chmod", "chown", "rsync"];

pub(super) fn script(policy: &Policy, script: &str, scene: &Scene<'_>) -> Verdict {
    let analysis = shell::analyse(script);
    let mut check = Check::new(policy, scene);
    check.script = Scope::Script { text: script.to_owned() };
    check.folders_entered(&analysis);
    for command in &analysis.commands {
        check.scope = Scope::of_command(command, script);
        check.command(command, &analysis);
    }
    check.scope = check.script.clone();
    if destructive::is_fork_bomb(script, &analysis) {
        check.part(script, Decision::Forbid, None, "it starts itself without end");
    }
    for name in &analysis.functions {
        let ruled = policy
            .rules
            .commands
            .iter()
            .any(|r| r.prefix.first().is_some_and(|p| p.contains(name)));
        if ruled || (scene.resolve)(name).is_some() {
            check.unknown(name, "a function of the script has the name of a program");
        }
    }
    for doubt in &analysis.doubts {
        check.unknown("script", &doubt.to_string());
    }
    let opaque = analysis.commands.iter().any(|c| matches!(c.role, Role::Opaque(_)));
    if opaque || !analysis.is_certain() {
        check.mentioned(script);
    }
    Verdict::of(check.parts)
}

pub(super) fn path(policy: &Policy, path: &Path, reach: Reach, scene: &Scene<'_>) -> Verdict {
    let mut check = Check::new(policy, scene);
    let text = path.to_string_lossy();
    let absolute = check.folders.absolute(&text, scene.cwd);
    check.scope = Scope::of_path(&absolute, reach, scene.cwd);
    if !check.file(&text, reach) {
        let decision = match reach {
            Reach::Read => Decision::Allow,
            Reach::Write | Reach::Any => policy.defaults.unmatched,
        };
        check.part(&text, decision, None, "no rule speaks of this file");
    }
    Verdict::of(check.parts)
}

pub(super) fn host(policy: &Policy, host: &str) -> Option<Part> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let rules = policy.rules.hosts.iter();
    let fitting = rules.filter(|rule| {
        rule.hosts.iter().any(|pattern| paths::glob(&pattern.to_ascii_lowercase(), &host))
    });
    let rule = fitting.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Host { host: host.clone() };
    Some(ruled(host, rule.decision, &rule.origin, rule.justification.as_deref(), scope))
}

pub(super) fn tool(policy: &Policy, name: &str, arguments: &Map<String, Value>) -> Option<Part> {
    let fits = |key: &str, pattern: &str| match arguments.get(key) {
        Some(Value::String(text)) => paths::glob(pattern, text),
        Some(other) => paths::glob(pattern, &other.to_string()),
        None => false,
    };
    let rules = policy.rules.tools.iter();
    let fitting = rules.filter(|rule| {
        paths::glob(&rule.name, name)
            && rule.arguments.iter().all(|(key, pattern)| fits(key, pattern))
    });
    let rule = fitting.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Tool { name: name.to_owned() };
    let why = rule.justification.as_deref();
    Some(ruled(name.to_owned(), rule.decision, &rule.origin, why, scope))
}

fn folders<'a>(scene: &Scene<'a>) -> Folders<'a> {
    Folders { cwd: scene.cwd, home: scene.home }
}

fn ruled(what: String, decision: Decision, origin: &str, why: Option<&str>, scope: Scope) -> Part {
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

struct Check<'a> {
    policy: &'a Policy,
    scene: &'a Scene<'a>,
    folders: Folders<'a>,
    parts: Vec<Part>,
    /// Folders that the script may be in besides the first.
    cwds: Vec<PathBuf>,
    /// Whether it may be anywhere.
    lost: bool,
    /// What approving the part at hand is remembered for.
    scope: Scope,
    /// What approving what is not understood is remembered for.
    script: Scope,
}

impl<'a> Check<'a> {
    fn new(policy: &'a Policy, scene: &'a Scene<'a>) -> Self {
        let (parts, cwds) = (Vec::new(), Vec::new());
        let nothing = Scope::Script { text: String::new() };
        let (scope, script) = (nothing.clone(), nothing);
        Self { policy, scene, folders: folders(scene), parts, cwds, lost: false, scope, script }
    }

    /// A part that a rule decided.
    fn by(&self, decision: Decision, what: &str, origin: &str, why: Option<&str>) -> Part {
        ruled(what.to_owned(), decision, origin, why, self.scope.clone())
    }

    fn part(&mut self, what: &str, decision: Decision, rule: Option<String>, reason: &str) {
        self.parts.push(Part {
            what: what.to_owned(),
            decision,
            confined: false,
            rule,
            reason: reason.to_owned(),
            scope: self.scope.clone(),
        });
    }

    fn unknown(&mut self, what: &str, reason: &str) {
        let (decision, confined) = match self.policy.unanalysable() {
            Unanalysable::AllowConfined => (Decision::Allow, true),
            Unanalysable::Ask => (Decision::Ask, false),
            Unanalysable::Forbid => (Decision::Forbid, false),
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

    fn folders_entered(&mut self, analysis: &Analysis) {
        for command in &analysis.commands {
            if !matches!(command.base(), Some("cd" | "pushd" | "popd" | "chdir")) {
                continue;
            }
            match command.words.get(1).and_then(Word::literal) {
                Some(folder) if !folder.starts_with('-') => {
                    // Relative to where an earlier `cd` led, or to the start.
                    let from = self.cwds.last().map_or(self.scene.cwd, PathBuf::as_path);
                    let entered = [
                        self.folders.absolute(folder, from),
                        self.folders.absolute(folder, self.scene.cwd),
                    ];
                    self.cwds.extend(entered);
                }
                _ => self.lost = true,
            }
        }
    }

    fn command(&mut self, command: &Command, analysis: &Analysis) {
        let text = command.text();
        for redirect in &command.redirects {
            self.redirect(redirect.access, &redirect.target);
        }
        let harm = destructive::harm(command, self.folders);
        if let Some(Harm::Ruinous(why)) = harm {
            return self.part(&text, Decision::Forbid, None, why);
        }
        // Bare assignments, or a program that is not written out: that is a doubt already.
        let Some(written) = command.program() else { return };
        let mut decided = self.rules(command, written, &text);
        let reads = known::is_read_only(command) && self.is_itself(written);
        decided |= self.arguments(command, &text, reads);
        if decided {
            return;
        }
        if let Some(Harm::Destructive(why)) = harm {
            return self.part(&text, self.policy.defaults.destructive, None, why);
        }
        match &command.role {
            Role::Starts => {
                self.part(&text, Decision::Allow, None, "what it starts is judged by itself");
            }
            _ if reads => self.part(&text, Decision::Allow, None, "it only reads"),
            Role::Opaque(why) => self.unknown(&text, why),
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

    /// Judges by the rules on commands; says whether one decided.
    fn rules(&mut self, command: &Command, written: &str, text: &str) -> bool {
        let program = Program { written, real: (self.scene.resolve)(written) };
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

    fn is_same(&self, written: &str, name: &str) -> bool {
        if written == name {
            return true;
        }
        if base_name(written) != name || !written.starts_with('/') {
            return false;
        }
        let listed = self
            .policy
            .rules
            .executables
            .iter()
            .any(|(known, paths)| known == name && paths.iter().any(|path| path == written));
        listed
            || (self.scene.resolve)(written)
                .is_some_and(|real| (self.scene.resolve)(name) == Some(real))
    }

    /// Judges files and hosts among the arguments by the rules that do not allow; says whether
    /// one decided.
    fn arguments(&mut self, command: &Command, text: &str, reads: bool) -> bool {
        let before = self.parts.len();
        let mover = command.base().is_some_and(|base| MOVERS.contains(&base));
        for word in command.words.iter().skip(1) {
            let Some(argument) = word.literal() else {
                self.maybe_protected(word, text);
                continue;
            };
            // `--file=x`, `of=x`, `@x`
            let value = argument.split_once('=').map(|(_, value)| value);
            for path in [Some(argument), value, argument.strip_prefix('@')].into_iter().flatten() {
                self.strict_file(path, Reach::Read, false);
                if !reads {
                    self.strict_file(path, Reach::Write, mover);
                }
                if let Some(part) = paths::host_in(path).and_then(|name| host(self.policy, &name))
                    && part.decision > Decision::Allow
                {
                    self.parts.push(part);
                }
            }
        }
        self.parts.len() > before
    }

    /// A word that is known only in part but names a part of a protected path.
    fn maybe_protected(&mut self, word: &Word, text: &str) {
        let raw = word.raw();
        let strict = self.policy.rules.paths.iter().filter(|rule| rule.decision > Decision::Allow);
        let mut patterns = strict.flat_map(|rule| &rule.patterns);
        let named = patterns.any(|pattern| {
            let last = base_name(pattern.trim_end_matches(['*', '/']));
            last.len() > 2 && raw.contains(last)
        });
        if named {
            self.unknown(text, "it may be about a file that a rule protects");
        }
    }

    fn candidates(&self, text: &str) -> Vec<PathBuf> {
        let first = self.folders.absolute(text, self.scene.cwd);
        let more = self.cwds.iter().map(|cwd| self.folders.absolute(text, cwd));
        let mut all: Vec<PathBuf> = std::iter::once(first).chain(more).collect();
        all.dedup();
        all
    }

    /// Applies the rules on files that ask or forbid.
    fn strict_file(&mut self, text: &str, reach: Reach, mover: bool) {
        let rules = self.policy.rules.paths.iter().filter(|rule| rule.decision > Decision::Allow);
        let rules: Vec<_> = rules.collect();
        if !rules.is_empty() {
            let candidates = self.candidates(text);
            let fits = |rule: &&&super::PathRule| {
                candidates.iter().any(|path| {
                    rule.covers(path, reach, self.folders)
                        || mover
                            && rule.reach != Reach::Read
                            && rule.patterns.iter().any(|p| paths::is_above(p, path, self.folders))
                            && path != self.scene.cwd
                            && !self.scene.cwd.starts_with(path)
                })
            };
            if let Some(rule) = rules.iter().filter(fits).max_by_key(|rule| rule.decision) {
                let mut part =
                    self.by(rule.decision, text, &rule.origin, rule.justification.as_deref());
                part.scope = Scope::File { path: candidates[0].clone(), access: reach };
                self.parts.push(part);
            }
        }
    }

    fn redirect(&mut self, access: Access, target: &Word) {
        let reach = if access == Access::Read { Reach::Read } else { Reach::Write };
        let Some(text) = target.literal() else {
            if reach == Reach::Write || !self.policy.rules.paths.is_empty() {
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
        let absolute = self.folders.absolute(text, self.scene.cwd);
        let scope = Scope::of_path(&absolute, reach, self.scene.cwd);
        let scope = std::mem::replace(&mut self.scope, scope);
        if !self.file(text, reach) && reach == Reach::Write {
            self.part(
                text,
                self.policy.defaults.unmatched,
                None,
                "no rule speaks of writing this file",
            );
        }
        self.scope = scope;
    }

    /// Judges a file; says whether a rule or what is protected decided.
    fn file(&mut self, text: &str, reach: Reach) -> bool {
        let before = self.parts.len();
        self.strict_file(text, reach, false);
        if self.parts.len() > before {
            return true;
        }
        let candidates = self.candidates(text);
        let hidden = candidates.iter().any(|path| path.starts_with("/proc"));
        let allowing = self.policy.rules.paths.iter().find(|rule| {
            rule.decision == Decision::Allow
                && candidates.iter().all(|path| rule.covers(path, reach, self.folders))
        });
        if let Some(rule) =
            allowing.filter(|_| !hidden && (!self.lost || text.starts_with(['/', '~'])))
        {
            let part = self.by(rule.decision, text, &rule.origin, rule.justification.as_deref());
            self.parts.push(part);
            return true;
        }
        if hidden && reach == Reach::Write {
            self.unknown(text, "a file in /proc may be any file");
            return true;
        }
        let protected = reach != Reach::Read
            && PROTECTED
                .iter()
                .any(|p| candidates.iter().any(|path| paths::covers(p, path, self.folders)));
        if protected {
            let path = candidates[0].clone();
            self.scope = Scope::File { path, access: reach };
            self.part(text, self.policy.defaults.destructive, None, "the file is protected");
        }
        protected
    }

    /// Forbids a script that is not understood and names what is forbidden.
    fn mentioned(&mut self, script: &str) {
        let plain = script.replace(['\'', '"', '\\'], "");
        // `x:-cat` is one word or three, depending on where it stands.
        let tokens = |inside: &str| -> Vec<&str> {
            let apart = |c: char| !(c.is_alphanumeric() || inside.contains(c));
            plain.split(apart).filter(|token| !token.is_empty()).collect()
        };
        let (words, parts) = (tokens("_./+-@%:"), tokens("_"));
        let rules = self.policy.rules.commands.iter();
        let mut strict = rules.filter(|rule| rule.decision == Decision::Forbid);
        let named = strict.find(|rule| rule.is_mentioned(&words) || rule.is_mentioned(&parts));
        if let Some(rule) = named {
            let named: Vec<&str> =
                rule.prefix.iter().filter_map(|p| p.first()).map(String::as_str).collect();
            let reason = format!(
                "the script is not certain and names `{}`, which is forbidden",
                named.join(" ")
            );
            let origin = rule.origin.clone();
            self.part("script", Decision::Forbid, Some(origin), &reason);
        }
    }
}
