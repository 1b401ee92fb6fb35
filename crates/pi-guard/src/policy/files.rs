//! Files and hosts that a command names, checked by rules that ask or forbid and by the list of
//! protected paths.

use std::path::{Path, PathBuf};

use super::check::{Checker, only_reads, word_as_host};
use super::hosts;
use super::paths::{self, PathAccess};
use super::{Part, PathRule, Policy, Scope, spelling};
use crate::Decision;
use crate::programs::{self, Program, Trait, Writes, is_option};
use crate::protected::{self, Protection};
use crate::shell::{Command, FOUND, Role};
use crate::word::{Word, base_name};

/// Options before a pattern of file names.
const PATTERN_OPTIONS: &[&str] =
    &["-name", "-iname", "-path", "-ipath", "-wholename", "-g", "--glob", "--include"];

/// The command whose arguments are checked.
struct Subject<'c> {
    text: &'c str,
    program: &'static Program,
    reads: bool,
    /// There are rules on files that ask or forbid.
    has_path_rules: bool,
    /// There are rules on hosts that ask or forbid.
    has_host_rules: bool,
}

impl<'a> Checker<'a> {
    /// Checks the files and hosts among the arguments. Returns true if a rule or a protected path
    /// decided.
    pub(super) fn arguments(&mut self, command: &Command, text: &str, reads: bool) -> bool {
        let before = self.parts.len();
        let subject = Subject {
            text,
            program: programs::find(command.base().unwrap_or_default()),
            reads,
            has_path_rules: self.policy.restricts_files(),
            has_host_rules: self.policy.restricts_hosts(),
        };
        for word in command.words.iter().skip(1) {
            match word.literal() {
                Some(argument) => self.argument(argument, &subject),
                None => self.unknown_argument(word, &subject),
            }
        }
        if subject.has_path_rules && subject.program.has(Trait::Searches) {
            self.searched(command, text);
        }
        if !reads {
            self.written(command, text);
        }
        self.parts.len() > before
    }

    fn argument(&mut self, argument: &str, subject: &Subject<'_>) {
        let Subject { program, reads, .. } = *subject;
        if subject.has_path_rules {
            for piece in spelling::pieces(argument) {
                self.strict_file(piece, PathAccess::Read, false);
                if !reads {
                    self.strict_file(piece, PathAccess::Write, program.has(Trait::ChangesTrees));
                }
            }
            let is_copied = program.has(Trait::Copies) && !argument.starts_with('-');
            if is_copied && self.is_above_rule(argument) {
                self.unknown(argument, "it contains a path that a rule protects");
            }
        }
        if !subject.has_host_rules {
            return;
        }
        let value = argument.split_once('=').map(|(_, value)| value);
        for host in [Some(argument), value].into_iter().flatten().filter_map(paths::host_in) {
            if hosts::is_ambiguous(&host) {
                self.unknown(argument, "the host name is computed or ambiguous");
            }
            self.strict_host(&host);
        }
        if !reads {
            if argument.matches(':').count() > 1 {
                self.strict_host(argument);
            }
            // `-hHOST`
            let attached = argument.strip_prefix('-').and_then(|rest| rest.get(1..));
            let least = if program.has(Trait::Connects) { 1 } else { 3 };
            for name in [Some(argument), attached].into_iter().flatten().flat_map(spelling::names) {
                if name.len() >= least {
                    self.strict_host(name);
                }
            }
        }
    }

    fn unknown_argument(&mut self, word: &Word, subject: &Subject<'_>) {
        let Subject { text, reads, has_host_rules, .. } = *subject;
        if let Word::Unknown { raw, why: FOUND, .. } = word {
            if subject.has_path_rules && !reads {
                self.found(raw.trim_end_matches("/*"), text);
            }
            return;
        }
        match spelling::spellings(word, &self.variables) {
            Some(spellings) if subject.has_path_rules || has_host_rules => {
                for spelled in spellings {
                    self.argument(&spelled, subject);
                    self.pattern(&spelled, text, reads);
                }
            }
            _ => self.maybe_protected(word, text),
        }
        let is_ambiguous = |host: String| hosts::is_ambiguous(&host);
        if has_host_rules && !reads && paths::host_in(word.raw()).is_some_and(is_ambiguous) {
            self.unknown(text, "the host name is computed");
        }
    }

    /// Checks a file that a search finds below a directory and that a command may write.
    fn found(&mut self, root: &str, text: &str) {
        self.strict_file(root, PathAccess::Write, true);
        let above = self.directories.absolute(root, self.context.cwd);
        let mut rules = self.strict_paths().filter(|rule| rule.access != PathAccess::Read);
        let is_below = |pattern: &String| {
            pattern.starts_with("**") || paths::is_above(pattern, &above, self.directories)
        };
        if rules.any(|rule| rule.patterns.iter().any(is_below)) {
            self.unknown(text, "it may write a file that a rule protects");
        }
    }

    /// Checks the patterns of file names that a command searches for.
    fn searched(&mut self, command: &Command, text: &str) {
        let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
        for (at, word) in words.iter().enumerate().skip(1) {
            let pattern = match word.split_once('=') {
                Some((option, pattern)) if PATTERN_OPTIONS.contains(&option) => pattern,
                _ if PATTERN_OPTIONS.contains(&words[at - 1]) => word,
                _ => continue,
            };
            // In a search a star matches a dot too, but a search for all files is no search for
            // a protected one.
            if !pattern.starts_with('!') {
                self.pattern(pattern.trim_start_matches("**/"), text, true);
            }
        }
    }

    fn strict_host(&mut self, name: &str) {
        let Some(part) = word_as_host(self.policy, name) else { return };
        if part.decision > Decision::Allow && !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// Checks a text that may be a pattern of file names.
    fn pattern(&mut self, spelled: &str, text: &str, reads: bool) {
        if !spelled.contains(['*', '?', '[']) {
            return;
        }
        let rules = self.strict_paths().filter(|rule| !reads || rule.access != PathAccess::Write);
        let mut patterns = rules.flat_map(|rule| &rule.patterns);
        let (dots, directories) = (self.matches_dots, self.directories);
        if patterns.any(|pattern| paths::may_cover(pattern, spelled, dots, directories)) {
            self.unknown(text, "it may access a file that a rule protects");
        }
    }

    /// Checks a word that is known only in part: it may be a protected path, or a part of one.
    fn maybe_protected(&mut self, word: &Word, text: &str) {
        let raw = word.raw();
        let open = spelling::with_any(raw);
        let mut patterns = self.strict_paths().flat_map(|rule| &rule.patterns);
        let is_named = patterns.any(|pattern| {
            let last = base_name(pattern.trim_end_matches(['*', '/']));
            let may_cover = |open: &String| paths::may_cover(pattern, open, true, self.directories);
            last.len() > 2 && raw.contains(last) || open.as_ref().is_some_and(may_cover)
        });
        if is_named {
            self.unknown(text, "it may access a file that a rule protects");
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

    /// Returns all paths that a text may mean: from every directory that the script may be in,
    /// with and without symbolic links resolved.
    pub(super) fn candidates(&self, text: &str) -> Vec<PathBuf> {
        let mut all = self.resolved(text, self.context.cwd);
        for cwd in &self.cwds {
            all.extend(self.resolved(text, cwd));
        }
        all.dedup();
        all
    }

    /// Returns the path that a text means in a directory, and the real path if it differs.
    pub(super) fn resolved(&self, text: &str, cwd: &Path) -> Vec<PathBuf> {
        let path = self.directories.absolute(text, cwd);
        // Behind a link, `..` is above the target of the link.
        let real = match text.contains("..") {
            true => self.directories.absolute_through(text, cwd, &|above| self.real(above)),
            false => self.real(&path),
        };
        let mut paths = vec![path];
        if !paths.contains(&real) {
            paths.push(real);
        }
        paths
    }

    /// Returns the real path of a file. A file that does not exist yet is in a directory that does.
    fn real(&self, path: &Path) -> PathBuf {
        let real = |above| Some((above, (self.context.real_path)(above)?));
        match path.ancestors().find_map(real) {
            Some((above, real)) => match path.strip_prefix(above) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            },
            None => path.to_owned(),
        }
    }

    /// Applies the rules on files that ask or forbid. A command that changes trees also touches
    /// everything below a path.
    pub(super) fn strict_file(&mut self, text: &str, access: PathAccess, changes_trees: bool) {
        if self.strict_paths().next().is_none() {
            return;
        }
        let candidates = self.candidates(text);
        let cwd = self.context.cwd;
        let is_below = |rule: &PathRule, path: &Path| {
            let mut patterns = rule.patterns.iter();
            rule.access != PathAccess::Read
                && !cwd.starts_with(path)
                && patterns.any(|pattern| paths::is_above(pattern, path, self.directories))
        };
        let matches = |rule: &&PathRule| {
            candidates.iter().any(|path| {
                rule.covers(path, access, self.directories) || changes_trees && is_below(rule, path)
            })
        };
        if let Some(rule) = self.strict_paths().filter(matches).max_by_key(|rule| rule.decision) {
            let scope = Scope::File { path: candidates[0].clone(), access };
            let why = rule.justification.as_deref();
            let part = Part::by_rule(text, rule.decision, &rule.origin, why, scope);
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        } else if self.cwd_is_unknown && !text.starts_with(['/', '~', '-']) {
            // From an unknown directory, a name may be every path that ends with it.
            let is_named = |pattern: &String| {
                let last = base_name(pattern.trim_end_matches(['*', '/']));
                last.len() > 2 && text.split('/').any(|part| part.eq_ignore_ascii_case(last))
            };
            let mut rules =
                self.strict_paths().filter(|r| r.access == PathAccess::Any || r.access == access);
            if rules.any(|rule| rule.patterns.iter().any(is_named)) {
                self.unknown(text, "it may be a file that a rule protects");
            }
        }
    }

    /// Checks a file. Returns true if a rule or a protected path decided.
    pub(super) fn file(&mut self, text: &str, access: PathAccess) -> bool {
        let before = self.parts.len();
        self.strict_file(text, access, false);
        if self.parts.len() > before {
            return true;
        }
        let candidates = self.candidates(text);
        let is_in_proc = candidates.iter().any(|path| path.starts_with("/proc"));
        let is_certain = !is_in_proc && (!self.cwd_is_unknown || text.starts_with(['/', '~']));
        if is_certain && let Some(rule) = self.allowing_rule(&candidates, access) {
            self.by_rule(text, rule.decision, &rule.origin, rule.justification.as_deref());
            return true;
        }
        if is_in_proc && access == PathAccess::Write {
            self.unknown(text, "a path in /proc may lead to any file");
            return true;
        }
        access != PathAccess::Read && self.protected(text, &candidates, access, true)
    }

    fn allowing_rule(&self, candidates: &[PathBuf], access: PathAccess) -> Option<&'a PathRule> {
        let policy: &'a Policy = self.policy;
        policy.rules.paths.iter().find(|rule| {
            let covers = |path: &PathBuf| rule.covers(path, access, self.directories);
            rule.decision == Decision::Allow && candidates.iter().all(covers)
        })
    }

    /// Checks the files that a command writes by the list of protected paths, which rules on
    /// commands do not override.
    fn written(&mut self, command: &Command, text: &str) {
        if changes_settings(command) {
            let reason = "it changes settings that can run programs";
            return self.part(text, self.policy.defaults.destructive, reason);
        }
        let (words, certainly) = written(command);
        for word in words {
            let texts = match word.literal() {
                Some(argument) => {
                    spelling::pieces(argument).into_iter().map(str::to_owned).collect()
                }
                None => spelling::spellings(&word, &self.variables).unwrap_or_default(),
            };
            for piece in texts {
                let candidates = self.candidates(&piece);
                if self.allowing_rule(&candidates, PathAccess::Write).is_none()
                    && self.protected(&piece, &candidates, PathAccess::Write, certainly)
                {
                    return;
                }
            }
        }
    }

    /// Decides about a write to a protected file. Returns false if it is not protected. Files of
    /// the system count only if the command certainly writes: it may well read them.
    fn protected(
        &mut self,
        text: &str,
        candidates: &[PathBuf],
        access: PathAccess,
        certainly: bool,
    ) -> bool {
        let is_protected = |path: &&PathBuf| {
            let mut patterns = protected::paths(Protection::AskBeforeWriting);
            patterns.any(|pattern| {
                (certainly || !pattern.starts_with('/'))
                    && paths::covers_plain(pattern, path, self.directories)
            })
        };
        let Some(path) = candidates.iter().find(is_protected).cloned() else { return false };
        let scope = std::mem::replace(&mut self.scope, Scope::File { path, access });
        let decision = self.policy.defaults.destructive;
        let is_allowed = decision == Decision::Allow;
        let reason = if is_allowed { "no rule for this file" } else { "the file is protected" };
        self.part(text, decision, reason);
        self.scope = scope;
        true
    }
}

/// Returns the words of files that a command may write, and whether it certainly does.
pub(super) fn written(command: &Command) -> (Vec<Word>, bool) {
    let Some(base) = command.base() else { return (vec![], false) };
    if command.role == Role::Starts {
        return (vec![], false);
    }
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
        // The first operand of a language is the script, which is read.
        Writes::Unknown
            if matches!(command.role, Role::Opaque(_)) && programs::find(base).is_known() =>
        {
            (operands().skip(1).cloned().collect(), false)
        }
        Writes::Unknown => (arguments.to_vec(), false),
    }
}

/// Returns true if a command changes settings that can run programs.
fn changes_settings(command: &Command) -> bool {
    let Some(subcommand) = programs::subcommand(&command.words) else { return false };
    if subcommand.settings.is_empty() || only_reads(command) {
        return false;
    }
    let words: Option<Vec<&str>> = command.words.iter().skip(2).map(Word::literal).collect();
    let Some(words) = words else { return true };
    let name = words.iter().find(|word| !word.starts_with('-') && **word != "set");
    let has_file = words.iter().any(|word| word.starts_with("-f") || word.starts_with("--file"));
    has_file || name.is_none_or(|name| !subcommand.is_harmless_setting(name))
}
