//! The check of programs that a running command is about to start.
//!
//! Here nothing is computed, quoted or evaluated later: the program and its arguments are what the
//! kernel gets. So rules that ask or forbid count, damage to the whole machine, and destruction that
//! the profile refuses. What a program does that is not known is the business of the sandbox.

use std::path::{Path, PathBuf};

use super::check::{Checker, only_reads};
use super::forbidden::is_multi_call;
use super::harm::{self, Damage};
use super::paths::Directories;
use super::rule::{Match, Program};
use super::{CommandRule, Part, Policy, PolicyContext};
use crate::Decision;
use crate::programs::{self, Reach, Runs, Trait, Writes, is_option};
use crate::shell::{Command, quoted};
use crate::word::{Word, base_name};

/// The maximum number of characters of a command in a report.
const LONGEST_TEXT: usize = 200;

/// A program that a process is about to start, or has just become.
#[allow(missing_debug_implementations)] // The closures implement no `Debug`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Exec<'a> {
    /// The path of the program, absolute or relative to `cwd`.
    pub program: PathBuf,
    /// The names of the file: its own, and those of the program that it is or is a copy of.
    pub known_as: Vec<String>,
    /// The arguments, beginning with the name under which the program is called.
    pub arguments: Vec<String>,
    /// Programs whose files are arguments that the program loads or interprets, each with the number
    /// of the argument.
    pub loaded: Vec<(usize, String)>,
    /// Returns the working directory, which most decisions do not need.
    pub cwd: &'a dyn Fn() -> PathBuf,
    /// Returns the program that the process was before: that of its parent, if the process is new.
    pub predecessor: &'a dyn Fn() -> Option<Predecessor>,
    /// Returns true if commands made the file since they are watched, or if there is none.
    pub is_new_file: &'a dyn Fn(&Path) -> bool,
    /// Returns true if commands made the repository of the directory since they are watched.
    pub is_new_repository: &'a dyn Fn(&Path) -> bool,
}

/// The program that a process was before it became another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predecessor {
    /// The names of the program.
    pub names: Vec<String>,
    /// Its arguments, beginning with the name under which it was called.
    pub arguments: Vec<String>,
}

/// The arguments that a program loads or interprets.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loads {
    Nothing,
    /// Scripts, as an interpreter does.
    Scripts,
    /// Every program, as a loader does.
    Programs,
}

impl<'a> Exec<'a> {
    /// A program with its arguments, beginning with the name under which it is called.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<String>, cwd: &'a dyn Fn() -> PathBuf) -> Self {
        Self {
            program,
            known_as: Vec::new(),
            arguments,
            loaded: Vec::new(),
            cwd,
            predecessor: &|| None,
            is_new_file: &|_| false,
            is_new_repository: &|_| false,
        }
    }

    /// Returns the command as one line for display.
    #[must_use]
    pub fn text(&self) -> String {
        let program = self.program.to_string_lossy();
        let called = self.arguments.first().map_or(&*program, String::as_str);
        let is_usual = base_name(called) == base_name(&program);
        let mut text = quoted(if is_usual { called } else { &program });
        for argument in self.arguments.iter().skip(1) {
            text.push(' ');
            text.push_str(&quoted(argument));
            if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
                text.truncate(end);
                text.push('…');
                break;
            }
        }
        if !is_usual {
            text.push_str(&format!(" (called {})", quoted(called)));
        }
        text
    }

    /// Returns the arguments that the program loads or interprets. A program that is not known may
    /// interpret scripts.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn loads(&self) -> Loads {
        let entries = || self.names().into_iter().map(|name| programs::find(base_name(&name)));
        if entries().any(|entry| entry.has(Trait::Loads)) {
            return Loads::Programs;
        }
        let interprets = entries().any(|entry| {
            !entry.is_known() || matches!(entry.runs, Runs::Shell(_) | Runs::Unknown(_))
        });
        if interprets { Loads::Scripts } else { Loads::Nothing }
    }

    /// Returns the names of the program: by its path, as it is called, and those of its file.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.program.to_string_lossy().into_owned()];
        // Under the name `program-subcommand`, it does nothing else.
        let called =
            self.arguments.first().and_then(|name| programs::split_dashed(base_name(name)));
        let is_other = |name: &&String| called.is_none_or(|(program, _)| program != *name);
        let known_as = self.known_as.iter().filter(is_other);
        for name in self.arguments.first().into_iter().chain(known_as) {
            if !names.iter().any(|other| base_name(other) == base_name(name)) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Returns the commands that this may be: under each of its names, with the subcommand in its
    /// name, and what it runs without starting it.
    fn commands(&self) -> Vec<(String, &[String])> {
        let arguments = self.arguments.get(1..).unwrap_or_default();
        let names = self.names();
        let mut commands = Vec::new();
        for name in &names {
            let entry = programs::find(base_name(name));
            let first = arguments.iter().position(|argument| !is_option(argument));
            let inner = match entry.runs {
                _ if entry.has(Trait::Loads) => 0..arguments.len(),
                _ if entry.has(Trait::MultiCall) => {
                    first.unwrap_or(0)..first.map_or(0, |at| at + 1)
                }
                // A script that has the name of a program.
                Runs::Shell(_) | Runs::Unknown(_) if entry.is_known() => {
                    first.unwrap_or(0)..first.map_or(0, |at| at + 1)
                }
                _ => 0..0,
            };
            commands.extend(inner.map(|at| (arguments[at].clone(), &arguments[at + 1..])));
        }
        let loaded = self.loaded.iter();
        commands.extend(
            loaded.filter_map(|(at, name)| Some((name.clone(), self.arguments.get(at + 1..)?))),
        );
        commands.extend(names.into_iter().map(|name| (name, arguments)));
        commands
    }

    /// Returns true if a program starts another file of itself for a part of its own work, which
    /// was judged as a whole.
    fn is_part_of(&self, base: &str) -> bool {
        let Some(predecessor) = (self.predecessor)() else { return false };
        let is_same = predecessor.names.iter().any(|name| base_name(name) == base);
        let arguments = predecessor.arguments.iter().skip(1).map(Word::plain);
        let words: Vec<Word> = std::iter::once(Word::plain(base)).chain(arguments).collect();
        // A word without an entry may be an alias, which the program starts itself.
        is_same && programs::subcommand(&programs::without_options(&words)).is_some()
    }
}

impl Policy {
    /// Returns true if any rule on commands asks or forbids.
    #[must_use]
    pub fn restricts_commands(&self) -> bool {
        self.strict_commands().next().is_some()
    }

    /// Returns true if rules or the profile restrict the programs that commands start, so that
    /// watching them has a purpose.
    #[must_use]
    pub fn restricts_programs(&self) -> bool {
        self.restricts_commands() || self.refuses_destruction()
    }

    /// Returns the programs of rules that ask or forbid, and those that destroy if the profile
    /// refuses that, each with its files: `files` returns those of a name. A file that is many
    /// programs is not the one of a rule.
    #[must_use]
    pub fn restricted_programs(
        &self,
        files: &dyn Fn(&str) -> Vec<PathBuf>,
    ) -> Vec<(String, PathBuf)> {
        let rules = self.strict_commands().filter_map(|rule| rule.prefix.first()).flatten();
        let mut names: Vec<&str> = rules.map(String::as_str).collect();
        if self.refuses_destruction() {
            for name in programs::destructive() {
                names.push(name);
            }
        }
        let files = |name: &&str| {
            let base = base_name(name).to_owned();
            files(name).into_iter().map(move |path| (base.clone(), path))
        };
        let mut programs: Vec<(String, PathBuf)> =
            (names.iter().flat_map(files)).filter(|(_, path)| !is_multi_call(path)).collect();
        programs.sort();
        programs.dedup();
        programs
    }

    /// Returns the strictest decision about a program that is about to start, if it is one to ask
    /// or to forbid. The working directory of the context is the workspace.
    #[must_use]
    pub fn check_exec(&self, exec: &Exec<'_>, context: &PolicyContext<'_>) -> Option<Part> {
        let mut commands = exec.commands();
        let dashed = |(name, arguments): &(String, &[String])| {
            let (program, subcommand) = programs::split_dashed(base_name(name))?;
            let arguments = [&[subcommand.to_owned()], *arguments].concat();
            Some((program.to_owned(), arguments))
        };
        let dashed: Vec<(String, Vec<String>)> = commands.iter().filter_map(dashed).collect();
        commands.extend(dashed.iter().map(|(name, arguments)| (name.clone(), &arguments[..])));
        // The usual case: nothing is known about the program.
        let rules_on_arguments = self.restricts_files() || self.restricts_hosts();
        commands.retain(|(name, arguments)| {
            let base = base_name(name);
            let is_restricted = |rule: &CommandRule| rule.may_name(name) || rule.may_name(base);
            rules_on_arguments && !arguments.is_empty()
                || programs::may_harm(base)
                || self.strict_commands().any(is_restricted)
        });
        if commands.is_empty() {
            return None;
        }
        // Names are judged as they are: links were followed by the kernel.
        let (cwd, workspace) = ((exec.cwd)(), context.cwd);
        let context = PolicyContext { cwd: &cwd, ..*context };
        let mut checker = Checker::new(self, &context, "");
        for (name, arguments) in commands {
            checker.exec(exec, &name, arguments, workspace);
        }
        let strict = |part: &Part| part.decision > Decision::Allow;
        let parts = checker.parts.into_iter().filter(strict);
        // Of several that are equally strict, the first.
        let part = parts.rev().max_by_key(|part| part.decision)?;
        Some(Part { what: exec.text(), ..part })
    }

    fn strict_commands(&self) -> impl Iterator<Item = &CommandRule> {
        self.rules.commands.iter().filter(|rule| rule.decision > Decision::Allow)
    }

    fn refuses_destruction(&self) -> bool {
        self.defaults.destructive == Decision::Forbid
    }
}

impl Checker<'_> {
    /// Adds what rules, the list of damage and the profile say about a command of which every word
    /// is known.
    fn exec(&mut self, exec: &Exec<'_>, name: &str, arguments: &[String], workspace: &Path) {
        let base = base_name(name);
        let policy = self.policy;
        let program = Program { written: name, real: None };
        let words = std::iter::once(name).chain(arguments.iter().map(String::as_str));
        let command = Command { words: words.map(Word::plain).collect(), ..Command::default() };
        // An approval of the program by its name covers it under this path.
        let mut named = command.clone();
        named.words[0] = Word::plain(base);
        self.scope = self.scope_of(&named, "");
        let directories = Directories { cwd: self.context.cwd, home: self.context.home };
        let short = programs::without_options(&named.words);
        let short = Command { words: short, ..Command::default() };
        let damage = harm::damage(&short, directories, workspace);
        let is_covered = damage.as_ref().is_none_or(|damage| damage.reach < Reach::Uncovered);
        let damage = match is_covered && self.destroys_uncovered(&short) {
            true => Some(harm::UNCOVERED),
            false => damage,
        };
        match damage {
            Some(damage) if damage.reach == Reach::Machine => {
                self.part(base, Decision::Forbid, damage.reason);
            }
            Some(damage)
                if self.refuses(&damage) && !self.is_permitted(exec, &named, &short, &damage) =>
            {
                self.part(base, Decision::Forbid, damage.reason);
            }
            _ => {}
        }
        for rule in policy.strict_commands() {
            if rule.matches(&command, &program, &|_, _| false, &|_| false) == Match::Yes {
                self.by_rule(base, rule.decision, &rule.origin, rule.justification.as_deref());
            }
        }
        if policy.restricts_files() || policy.restricts_hosts() {
            // Of a program that is not known, an argument is no file that it writes: compilers and
            // the like start many programs of their own.
            let reads = only_reads(&command) || !programs::find(base).is_known();
            let before = self.parts.len();
            self.arguments(&command, base, reads);
            let found = self.parts.split_off(before);
            self.parts.extend(found.into_iter().filter(|part| part.rule.is_some()));
        }
    }

    /// Returns true if the profile refuses this damage. A profile that asks has asked about the
    /// command as a whole.
    fn refuses(&self, damage: &Damage) -> bool {
        damage.decision(self.policy.defaults) == Decision::Forbid
    }

    /// Returns true if damage that the profile refuses is left to rules, a part of a permitted
    /// command, or nothing that was there before.
    fn is_permitted(
        &self,
        exec: &Exec<'_>,
        command: &Command,
        short: &Command,
        damage: &Damage,
    ) -> bool {
        let base = command.base().unwrap_or_default();
        let program = Program { written: base, real: None };
        let absolute = |text: &str, cwd: &Path| self.directories.absolute(text, cwd);
        let cwd = self.context.cwd;
        let is_outside = |text: &str| {
            (text.contains('/') || text.starts_with('.')) && !absolute(text, cwd).starts_with(cwd)
        };
        let decides = |rule: &CommandRule| {
            rule.matches(command, &program, &|one, other| one == other, &is_outside) == Match::Yes
        };
        if self.policy.rules.commands.iter().any(decides) || exec.is_part_of(base) {
            return true;
        }
        if damage.reach >= Reach::Remote || self.context.is_disposable {
            return damage.reach < Reach::Remote;
        }
        let entry = programs::find(base);
        let arguments = command.words.get(1..).unwrap_or_default();
        if matches!(entry.writes, Writes::All | Writes::Last) {
            let mut operands = harm::operands(arguments).filter_map(Word::literal).peekable();
            return operands.peek().is_some()
                && !entry.has(Trait::Searches)
                && operands.all(|text| {
                    // Older files may have been moved into a new directory.
                    let path = absolute(text, cwd);
                    let mut lost = (self.context.uncovered)(&path).into_iter();
                    (exec.is_new_file)(&path) && lost.all(|file| (exec.is_new_file)(&file))
                });
        }
        // Options before the subcommand name the directories that it works in.
        let before = command.words.len().saturating_sub(short.words.len());
        let options = arguments.get(..before).unwrap_or_default();
        let named = |list: &str| programs::values(list, options);
        let mut cwd = cwd.to_owned();
        for directory in named("-C").iter().filter_map(Word::literal) {
            cwd = absolute(directory, &cwd);
        }
        let others = named(super::check::DIRECTORY_OPTIONS);
        let mut others = others.iter().filter_map(Word::literal).map(|text| absolute(text, &cwd));
        entry.has(Trait::Extensible)
            && (exec.is_new_repository)(&cwd)
            && others.all(|directory| (exec.is_new_repository)(&directory))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Defaults, Layer, RuleFile};
    use super::*;

    const RULES: &str = r#"
        [[command]]
        prefix = ["git", "push"]
        decision = "forbid"
        justification = "Nothing leaves this machine."
        [[command]]
        prefix = ["cargo", "publish"]
        decision = "ask"
        [[command]]
        prefix = ["cargo", "build"]
        decision = "allow"
        [[path]]
        paths = ["**/.env"]
        access = "read"
        decision = "forbid"
        [[path]]
        paths = ["locked"]
        access = "write"
        decision = "forbid"
        [[host]]
        hosts = ["evil.example"]
        decision = "forbid"
    "#;

    fn check(program: &str, arguments: &[&str], known_as: &[&str]) -> Option<Part> {
        let mut policy = Policy::new(Defaults::unattended().with_checkpoint(true));
        policy.add(RuleFile::parse("rules.toml", RULES, Layer::User).unwrap());
        let arguments = arguments.iter().map(|&text| text.to_owned()).collect();
        let cwd = || PathBuf::from("/work");
        let mut exec = Exec::new(program.into(), arguments, &cwd);
        exec.known_as = known_as.iter().map(|&name| name.to_owned()).collect();
        policy.check_exec(&exec, &PolicyContext::new(Path::new("/")))
    }

    #[test]
    fn programs_are_judged_by_all_their_names() {
        use Decision::{Ask, Forbid};
        let cases: &[(&str, &[&str], &[&str], Option<Decision>)] = &[
            ("/usr/bin/git", &["git", "push"], &[], Some(Forbid)),
            ("/usr/bin/git", &["git", "-C", "/x", "push", "origin"], &[], Some(Forbid)),
            ("/usr/bin/git", &["git", "status"], &[], None),
            ("/usr/bin/git", &["git", "commit", "-m", "push"], &[], None),
            ("/usr/bin/git", &["x", "push"], &[], Some(Forbid)),
            ("/usr/bin/git", &["git-push", "status"], &[], Some(Forbid)),
            ("/usr/lib/git-core/git-push", &["git-push"], &[], Some(Forbid)),
            ("/usr/lib/git-core/git-pull", &["git-pull", "push"], &[], None),
            ("./x", &["./x", "push"], &["git"], Some(Forbid)),
            // Versions that are installed side by side.
            ("/usr/bin/git2.47", &["x", "push"], &[], Some(Forbid)),
            ("/usr/bin/git2.47-x86_64-linux-gnu", &["x", "push"], &[], Some(Forbid)),
            ("/usr/bin/GIT-2", &["x", "push"], &[], Some(Forbid)),
            ("/usr/bin/gitk", &["gitk", "push"], &[], None),
            ("/usr/bin/git2-tool2", &["git2tool", "push"], &[], Some(Forbid)),
            ("/usr/bin/git2tool", &["git2tool", "push"], &[], None),
            ("./x", &["./x", "status"], &["git"], None),
            ("./x", &["git", "push"], &[], Some(Forbid)),
            ("/lib64/ld-linux-x86-64.so.2", &["ld", "/usr/bin/git", "push"], &[], Some(Forbid)),
            ("/lib64/ld-linux-x86-64.so.2", &["ld", "/usr/bin/git", "log"], &[], None),
            ("/bin/ld-musl-x86_64.so.1", &["ld", "--argv0", "x", "git", "push"], &[], Some(Forbid)),
            ("/bin/sh", &["/bin/sh", "/opt/git", "push"], &[], Some(Forbid)),
            ("/bin/sh", &["sh", "-c", "git push"], &[], None),
            ("/bin/sh", &["sh", "./build", "git", "push"], &[], None),
            ("/bin/busybox", &["busybox", "git", "push"], &[], Some(Forbid)),
            ("/usr/bin/env", &["env", "git", "push"], &[], None),
            ("/x/cargo", &["cargo", "publish"], &[], Some(Ask)),
            ("/x/cargo", &["cargo", "+nightly", "publish"], &[], Some(Ask)),
            ("/x/cargo", &["cargo", "build"], &[], None),
            ("/bin/rm", &["rm", "-rf", "/"], &[], Some(Forbid)),
            ("/bin/rm", &["rm", "-rf", "target"], &[], None),
            ("/usr/bin/git", &["git", "filter-branch"], &[], Some(Forbid)),
            ("/usr/bin/git", &["git", "-c", "a.b=c", "filter-branch"], &[], Some(Forbid)),
            ("/usr/bin/git", &["git", "log", "filter-branch"], &[], None),
            ("/bin/aws", &["aws", "s3api", "delete-bucket"], &[], Some(Forbid)),
            ("/bin/cat", &["cat", ".env"], &[], Some(Forbid)),
            ("/bin/cp", &["cp", "a", "locked/b"], &[], Some(Forbid)),
            ("/lib/cc1", &["cc1", "locked/b.c"], &[], None),
            ("/bin/curl", &["curl", "https://evil.example/x"], &[], Some(Forbid)),
            ("", &[], &[], None),
        ];
        for (program, arguments, known_as, expected) in cases {
            let found = check(program, arguments, known_as).map(|part| part.decision);
            assert_eq!(found, *expected, "{program} {arguments:?}");
        }
    }

    /// A new directory may have older files in it, which no checkpoint covers.
    #[test]
    fn new_directories_with_older_files_are_not_removed() {
        let policy = Policy::new(Defaults::unattended().with_checkpoint(true));
        let cwd = || PathBuf::from("/work");
        let uncovered = |path: &Path| vec![path.join("data.db")];
        let context = PolicyContext::new(Path::new("/work")).with_uncovered_files(&uncovered);
        for (is_new, refused) in [
            (&(|_: &Path| true) as &dyn Fn(&Path) -> bool, false),
            (&|path: &Path| !path.ends_with("data.db"), true),
            (&|_: &Path| false, true),
        ] {
            let arguments = ["rm", "-rf", "backup"].map(str::to_owned).to_vec();
            let mut exec = Exec::new("/bin/rm".into(), arguments, &cwd);
            exec.is_new_file = is_new;
            assert_eq!(policy.check_exec(&exec, &context).is_some(), refused);
        }
    }

    #[test]
    fn a_refusal_names_the_command_and_the_rule() {
        let long = "y".repeat(300);
        let part = check("/usr/bin/git", &["git", "push", "a b", &long], &[]).unwrap();
        assert!(part.what.starts_with("git push 'a b' yyy"), "{}", part.what);
        assert_eq!(part.what.chars().count(), LONGEST_TEXT + 1);
        assert_eq!(part.reason, "Nothing leaves this machine.");
        assert!(part.rule.unwrap().starts_with("rules.toml:"));
        assert_eq!(check("./x", &["y", "push"], &["git"]).unwrap().what, "./x push (called y)");
    }

    #[test]
    fn only_files_of_one_program_are_listed() {
        let mut policy = Policy::new(Defaults::explore());
        assert!(!policy.restricts_commands());
        policy.add(RuleFile::parse("x", RULES, Layer::User).unwrap());
        assert!(policy.restricts_commands());
        let files = |name: &str| match name {
            "cargo" => vec![PathBuf::from("/home/u/.cargo/bin/rustup")],
            "git" => ["/usr/bin/git", "/usr/local/bin/git"].map(PathBuf::from).to_vec(),
            name => vec![Path::new("/usr/bin").join(name)],
        };
        let listed = policy.restricted_programs(&files);
        let git = |path: &str| ("git".to_owned(), PathBuf::from(path));
        assert_eq!(listed, [git("/usr/bin/git"), git("/usr/local/bin/git")]);
        // A profile that refuses destruction restricts the programs that destroy.
        let unattended = policy.with_defaults(Defaults::unattended());
        let listed = unattended.restricted_programs(&files);
        let has = |name: &str| listed.iter().any(|(listed, _)| listed == name);
        assert!(has("git") && has("rm") && !has("cat") && !has("cargo"), "{listed:?}");
    }
}
