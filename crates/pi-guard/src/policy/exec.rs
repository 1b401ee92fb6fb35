//! The check of programs that a running command is about to start.
//!
//! Here nothing is computed, quoted or evaluated later: the program and its arguments are what the
//! kernel gets. So only rules that ask or forbid count, and damage to the whole machine. What the
//! profile says about other commands does not: a build that removes its own output is the business
//! of the sandbox.

use std::path::PathBuf;

use super::check::{Checker, only_reads};
use super::forbidden::is_multi_call;
use super::harm;
use super::paths::Directories;
use super::rule::{Match, Program};
use super::{CommandRule, Part, Policy, PolicyContext};
use crate::Decision;
use crate::programs::{self, Reach, Runs, Trait, is_option};
use crate::shell::{Command, quoted};
use crate::word::{Word, base_name};

/// The maximum number of arguments of a loader that are taken for the program it loads.
const MOST_LOADED: usize = 16;
/// The maximum number of characters of a command in a report.
const LONGEST_TEXT: usize = 200;

/// A program that a process is about to start, or has just become.
#[allow(missing_debug_implementations)] // The closure implements no `Debug`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Exec<'a> {
    /// The path of the program, absolute or relative to `cwd`.
    pub program: PathBuf,
    /// The usual names of the file, if the path is a link to it or another name of it.
    pub known_as: Vec<String>,
    /// The arguments, beginning with the name under which the program is called.
    pub arguments: Vec<String>,
    /// Returns the working directory, which most decisions do not need.
    pub cwd: &'a dyn Fn() -> PathBuf,
}

impl<'a> Exec<'a> {
    /// A program with its arguments, beginning with the name under which it is called.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<String>, cwd: &'a dyn Fn() -> PathBuf) -> Self {
        Self { program, known_as: Vec::new(), arguments, cwd }
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

    /// Returns the commands that this may be: by the path, the name and the usual names of the
    /// program, with the subcommand in its name, and what it runs without starting it.
    fn commands(&self) -> Vec<(String, &[String])> {
        let arguments = self.arguments.get(1..).unwrap_or_default();
        let program = self.program.to_string_lossy().into_owned();
        let mut names = vec![program];
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
        let mut commands = Vec::new();
        for name in &names {
            let entry = programs::find(base_name(name));
            let first = arguments.iter().position(|argument| !is_option(argument));
            let inner = match entry.runs {
                _ if entry.has(Trait::Loads) => 0..arguments.len().min(MOST_LOADED),
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
        commands.extend(names.into_iter().map(|name| (name, arguments)));
        commands
    }
}

impl Policy {
    /// Returns true if any rule on commands asks or forbids, so that watching programs has a
    /// purpose.
    #[must_use]
    pub fn restricts_commands(&self) -> bool {
        self.strict_commands().next().is_some()
    }

    /// Returns the programs of rules that ask or forbid, each with the real path of its file. A
    /// file that is many programs is not the one of a rule.
    #[must_use]
    pub fn restricted_programs(
        &self,
        resolve: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Vec<(String, PathBuf)> {
        let names = self.strict_commands().filter_map(|rule| rule.prefix.first()).flatten();
        let mut programs: Vec<(String, PathBuf)> = names
            .filter_map(|name| Some((base_name(name).to_owned(), resolve(name)?)))
            .filter(|(_, path)| !is_multi_call(path))
            .collect();
        programs.sort();
        programs.dedup();
        programs
    }

    /// Returns the strictest decision about a program that is about to start, if it is one to ask
    /// or to forbid.
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
        let cwd = (exec.cwd)();
        let context = PolicyContext::new(&cwd).with_home(context.home);
        let mut checker = Checker::new(self, &context, "");
        for (name, arguments) in commands {
            checker.exec(&name, arguments);
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
}

impl Checker<'_> {
    /// Adds what rules and the list of damage say about a command of which every word is known.
    fn exec(&mut self, name: &str, arguments: &[String]) {
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
        let damage = harm::damage(&command, directories, self.context.cwd);
        if let Some(damage) = damage.filter(|damage| damage.reach == Reach::Machine) {
            self.part(base, Decision::Forbid, damage.reason);
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
        let mut policy = Policy::new(Defaults::unattended());
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
        let resolve = |name: &str| match name {
            "cargo" => Some(PathBuf::from("/home/u/.cargo/bin/rustup")),
            name => Some(Path::new("/usr/bin").join(name)),
        };
        let listed = policy.restricted_programs(&resolve);
        assert_eq!(listed, [("git".to_owned(), PathBuf::from("/usr/bin/git"))]);
    }
}
