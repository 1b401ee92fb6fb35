//! Files and hosts that a command names: by the rules that do not allow, and by what is protected
//! in every project.

use std::path::{Path, PathBuf};

use super::check::{Check, only_reads, word_as_host};
use super::hosts;
use super::paths::{self, PathAccess};
use super::{PathRule, Policy, Scope, spelling};
use crate::Decision;
use crate::programs::{self, Trait, Writes, is_option};
use crate::protected::{self, Protection};
use crate::shell::{Command, Role, Word, base_name};

impl<'a> Check<'a> {
    /// Judges files and hosts among the arguments by the rules that do not allow; says whether
    /// one decided.
    pub(super) fn arguments(&mut self, command: &Command, text: &str, reads: bool) -> bool {
        let before = self.parts.len();
        let rules = &self.policy.rules;
        let files = rules.paths.iter().any(|rule| rule.decision > Decision::Allow);
        let hosts = rules.hosts.iter().any(|rule| rule.decision > Decision::Allow);
        for word in command.words.iter().skip(1) {
            match (word.literal(), spelling::spellings(word, &self.variables)) {
                (Some(argument), _) => self.argument(argument, command, reads, (files, hosts)),
                (None, Some(spellings)) if files || hosts => {
                    for spelled in spellings {
                        self.argument(&spelled, command, reads, (files, hosts));
                        self.patterned(&spelled, text, reads);
                    }
                }
                (None, _) => self.maybe_protected(word, text),
            }
            // `"http://$x/"`: nobody knows who that is.
            let host = word.literal().is_none().then(|| paths::host_in(word.raw())).flatten();
            if hosts && !reads && host.is_some_and(|host| hosts::is_unclear(&host)) {
                self.unknown(text, "the host is not written out");
            }
        }
        if files {
            self.searched(command, text);
        }
        if !reads {
            self.written(command, text);
        }
        self.parts.len() > before
    }

    /// Files that are searched for by a pattern.
    fn searched(&mut self, command: &Command, text: &str) {
        if !command.base().is_some_and(|base| programs::find(base).has(Trait::Searches)) {
            return;
        }
        const BEFORE: &[&str] =
            &["-name", "-iname", "-path", "-ipath", "-wholename", "-g", "--glob", "--include"];
        let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
        for (at, word) in words.iter().enumerate().skip(1) {
            let pattern = match word.split_once('=') {
                Some((option, pattern)) if BEFORE.contains(&option) => pattern,
                _ if BEFORE.contains(&words[at - 1]) => word,
                _ => continue,
            };
            if pattern.starts_with('!') {
                continue;
            }
            // Here a star is also for a dot, but who asks for all asks for none of them.
            self.patterned(pattern.trim_start_matches("**/"), text, true);
        }
    }

    fn argument(
        &mut self,
        argument: &str,
        command: &Command,
        reads: bool,
        (files, hosts): (bool, bool),
    ) {
        let has = |property| command.base().is_some_and(|b| programs::find(b).has(property));
        if files {
            for piece in spelling::pieces(argument) {
                self.strict_file(piece, PathAccess::Read, false);
                if !reads {
                    self.strict_file(piece, PathAccess::Write, has(Trait::ChangesTrees));
                }
            }
            if has(Trait::Copies) && !argument.starts_with('-') && self.is_above_rule(argument) {
                self.unknown(argument, "it has something in it that a rule protects");
            }
        }
        if !hosts {
            return;
        }
        for piece in [argument].into_iter().chain(argument.split_once('=').map(|(_, v)| v)) {
            let found = paths::host_in(piece);
            if found.as_ref().is_some_and(|name| hosts::is_unclear(name)) {
                self.unknown(argument, "the host is not written out");
            }
            self.strict_host(found.as_deref());
        }
        if !reads && argument.matches(':').count() > 1 {
            self.strict_host(Some(argument));
        }
        if !reads {
            let names: Vec<String> = spelling::names(argument).map(str::to_owned).collect();
            for name in names {
                self.strict_host(Some(&name));
            }
        }
    }

    fn strict_host(&mut self, name: Option<&str>) {
        let part = name.and_then(|name| word_as_host(self.policy, name));
        if let Some(part) = part.filter(|part| part.decision > Decision::Allow)
            && !self.parts.contains(&part)
        {
            self.parts.push(part);
        }
    }

    /// A text that is a pattern may name a file that a rule is about.
    fn patterned(&mut self, spelled: &str, text: &str, reads: bool) {
        if !spelled.contains(['*', '?', '[']) {
            return;
        }
        let rules = self.strict_paths().filter(|rule| !reads || rule.access != PathAccess::Write);
        let mut patterns = rules.flat_map(|rule| &rule.patterns);
        if patterns.any(|pattern| paths::may_cover(pattern, spelled, self.dots, self.directories)) {
            self.unknown(text, "it may be about a file that a rule protects");
        }
    }

    /// A word that is known only in part but names a part of a protected path, or may be one.
    fn maybe_protected(&mut self, word: &Word, text: &str) {
        let raw = word.raw();
        let open = spelling::with_any(raw);
        let mut patterns = self.strict_paths().flat_map(|rule| &rule.patterns);
        let named = patterns.any(|pattern| {
            let last = base_name(pattern.trim_end_matches(['*', '/']));
            last.len() > 2 && raw.contains(last)
                || open
                    .as_ref()
                    .is_some_and(|o| paths::may_cover(pattern, o, true, self.directories))
        });
        if named {
            self.unknown(text, "it may be about a file that a rule protects");
        }
    }

    fn strict_paths(&self) -> impl Iterator<Item = &'a PathRule> + use<'a> {
        let policy: &'a Policy = self.policy;
        policy.rules.paths.iter().filter(|rule| rule.decision > Decision::Allow)
    }

    fn is_above_rule(&self, argument: &str) -> bool {
        let path = self.directories.absolute(argument, self.context.cwd);
        let mut patterns = self.strict_paths().flat_map(|rule| &rule.patterns);
        patterns.any(|p| !p.contains('*') && paths::is_above(p, &path, self.directories))
            && !self.context.cwd.starts_with(&path)
    }

    /// All paths that a text may mean: from every folder that the script may be in, and what
    /// symbolic links lead to.
    pub(super) fn candidates(&self, text: &str) -> Vec<PathBuf> {
        let first = self.directories.absolute(text, self.context.cwd);
        let more = self.cwds.iter().map(|cwd| self.directories.absolute(text, cwd));
        let mut all: Vec<PathBuf> = std::iter::once(first).chain(more).collect();
        let real: Vec<PathBuf> = all.iter().filter_map(|path| self.real(path)).collect();
        all.extend(real);
        all.dedup();
        all
    }

    /// The real path of a file. One that does not exist yet is in a folder that does.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let found =
            path.ancestors().find_map(|above| Some((above, (self.context.real_path)(above)?)));
        let (above, real) = found?;
        let real = match path.strip_prefix(above) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => return None,
        };
        (real != path).then_some(real)
    }

    /// Applies the rules on files that ask or forbid.
    pub(super) fn strict_file(&mut self, text: &str, access: PathAccess, mover: bool) {
        if self.strict_paths().next().is_none() {
            return;
        }
        let candidates = self.candidates(text);
        let fits = |rule: &&PathRule| {
            candidates.iter().any(|path| {
                rule.covers(path, access, self.directories)
                    || mover
                        && rule.access != PathAccess::Read
                        && rule.patterns.iter().any(|p| paths::is_above(p, path, self.directories))
                        && path != self.context.cwd
                        && !self.context.cwd.starts_with(path)
            })
        };
        if let Some(rule) = self.strict_paths().filter(fits).max_by_key(|rule| rule.decision) {
            let why = rule.justification.as_deref();
            let mut part = self.by(rule.decision, text, &rule.origin, why);
            if let Some(path) = candidates.first() {
                part.scope = Scope::File { path: path.clone(), access };
            }
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        } else if self.lost && !text.starts_with(['/', '~', '-']) {
            // From a folder that is not known, a name may be any that ends so.
            let named = |pattern: &String| {
                let last = base_name(pattern.trim_end_matches(['*', '/']));
                last.len() > 2 && text.split('/').any(|part| part.eq_ignore_ascii_case(last))
            };
            let mut rules =
                self.strict_paths().filter(|r| r.access == PathAccess::Any || r.access == access);
            if rules.any(|rule| rule.patterns.iter().any(named)) {
                self.unknown(text, "it may be a file that a rule protects");
            }
        }
    }

    /// Judges a file; says whether a rule or what is protected decided.
    pub(super) fn file(&mut self, text: &str, access: PathAccess) -> bool {
        let before = self.parts.len();
        self.strict_file(text, access, false);
        if self.parts.len() > before {
            return true;
        }
        let candidates = self.candidates(text);
        let hidden = candidates.iter().any(|path| path.starts_with("/proc"));
        let allowing = self.policy.rules.paths.iter().find(|rule| {
            rule.decision == Decision::Allow
                && candidates.iter().all(|path| rule.covers(path, access, self.directories))
        });
        if let Some(rule) =
            allowing.filter(|_| !hidden && (!self.lost || text.starts_with(['/', '~'])))
        {
            let part = self.by(rule.decision, text, &rule.origin, rule.justification.as_deref());
            self.parts.push(part);
            return true;
        }
        if hidden && access == PathAccess::Write {
            self.unknown(text, "a file in /proc may be any file");
            return true;
        }
        access != PathAccess::Read && self.protected(text, &candidates, access, true)
    }

    /// Judges the files that a command writes by what is protected, whatever else allows it.
    fn written(&mut self, command: &Command, text: &str) {
        if changes_settings(command) {
            return self.part(
                text,
                self.policy.defaults.destructive,
                None,
                "it changes settings that can run programs",
            );
        }
        let (words, known) = written(command);
        for word in words {
            let texts = match word.literal() {
                Some(argument) => {
                    spelling::pieces(argument).into_iter().map(str::to_owned).collect()
                }
                None => spelling::spellings(&word, &self.variables).unwrap_or_default(),
            };
            for piece in texts {
                let candidates = self.candidates(&piece);
                let allowed = self.policy.rules.paths.iter().any(|rule| {
                    rule.decision == Decision::Allow
                        && candidates
                            .iter()
                            .all(|p| rule.covers(p, PathAccess::Write, self.directories))
                });
                if !allowed && self.protected(&piece, &candidates, PathAccess::Write, known) {
                    return;
                }
            }
        }
    }

    /// Decides about a write to a protected file; says whether it is one. Files of the system
    /// count only if the command certainly writes: it may well read them.
    fn protected(
        &mut self,
        text: &str,
        all: &[PathBuf],
        access: PathAccess,
        certainly: bool,
    ) -> bool {
        let is_protected = |path: &&PathBuf| {
            let mut patterns = protected::paths(Protection::AskBeforeWriting);
            patterns.any(|pattern| {
                (certainly || !pattern.starts_with('/'))
                    && paths::covers(pattern, path, self.directories)
            })
        };
        let Some(path) = all.iter().find(is_protected).cloned() else { return false };
        let scope = std::mem::replace(&mut self.scope, Scope::File { path, access });
        self.part(text, self.policy.defaults.destructive, None, "the file is protected");
        self.scope = scope;
        true
    }
}

/// Returns the words of files that a command may write, and whether it certainly does.
pub(super) fn written(command: &Command) -> (Vec<Word>, bool) {
    let Some(base) = command.base().filter(|_| command.role != Role::Starts) else {
        return (vec![], false);
    };
    let arguments = command.words.get(1..).unwrap_or_default();
    let operands = || arguments.iter().filter(|word| !word.literal().is_some_and(is_option));
    match programs::find(base).writes {
        Writes::All => (arguments.to_vec(), true),
        // With `-t` the directory comes first.
        Writes::Last if programs::find_argument("-t* --target-directory", arguments).is_some() => {
            (arguments.to_vec(), true)
        }
        Writes::Last => (operands().next_back().cloned().into_iter().collect(), true),
        Writes::Options(options) => (programs::values(options, arguments), true),
        Writes::Nothing => (vec![], false),
        // The first operand is the script, which is read.
        Writes::Unknown if matches!(command.role, Role::Opaque(_)) => {
            (operands().skip(1).cloned().collect(), false)
        }
        Writes::Unknown => (arguments.to_vec(), false),
    }
}

/// Returns true if a command changes settings that may run programs.
fn changes_settings(command: &Command) -> bool {
    let Some(subcommand) = programs::subcommand(&command.words) else { return false };
    if subcommand.settings.is_empty() || only_reads(command) {
        return false;
    }
    let words: Option<Vec<&str>> = command.words.iter().skip(2).map(Word::literal).collect();
    let Some(words) = words else { return true };
    let key = words.iter().find(|word| !word.starts_with('-') && **word != "set");
    let file = words.iter().any(|word| word.starts_with("-f") || word.starts_with("--file"));
    file || key.is_none_or(|key| !subcommand.is_harmless_setting(key))
}
