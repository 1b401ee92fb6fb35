//! The table of programs: everything this crate knows about individual programs.
//!
//! Each entry describes a program, or several that behave alike: the commands it executes, the
//! calls that only read, the files it writes, the damage it can do, and the options that change
//! any of this. Subcommands are entries too. The analysis of scripts and the policy ask the table
//! and name no program themselves. A program without an entry may do anything, so the table lists
//! no program because it is dangerous.

mod arguments;
mod development;
mod git;
mod shells;
mod starts;
mod system;

use std::iter::successors;
use std::sync::LazyLock;

use arguments::ANY;
pub(crate) use arguments::{Call, find as find_argument, is_option, matches, takes_value, values};

pub(crate) use starts::{destructive, multi_call_names, without_options};

use crate::word::{Word, base_name};

/// Facts about a program or a subcommand. Lists are written as [`arguments`] describes.
#[derive(Debug)]
pub(crate) struct Program {
    /// The names, separated by spaces. A name that ends in `*` is a prefix.
    names: &'static str,
    pub(crate) runs: Runs,
    /// Options before the subcommand or before the command that it starts. `-c:` takes a setting,
    /// which must be one of `settings`.
    pub(crate) options: &'static str,
    /// Arguments with which it executes other programs.
    runs_with: &'static str,
    subcommands: &'static [Program],
    /// Settings that execute nothing. A subcommand that has some writes settings.
    pub(crate) settings: &'static str,
    /// Calls that only read.
    reads: &'static [Call],
    /// Options that, given alone, print the version.
    version: &'static str,
    /// Calls that print a number and nothing else.
    prints_number: &'static [Call],
    pub(crate) writes: Writes,
    harms: &'static [Harm],
    /// Groups of options and subcommands that mean the same.
    synonyms: &'static [&'static str],
    traits: &'static [Trait],
    approval: Approval,
    /// Subcommands whose approval covers them with any arguments that destroy nothing.
    pub(crate) actions: &'static str,
    /// Subcommands that have actions of their own, such as `pr` in `gh pr view`.
    pub(crate) groups: &'static str,
}

/// The commands or the code that a program executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Not known, except that these calls execute nothing.
    Unknown(&'static [Call]),
    Nothing,
    /// The command in its arguments, after its options and this number of operands.
    Command(usize),
    /// The commands that follow one of these arguments, each up to `;` or `+`.
    Actions(&'static str),
    /// The script after `-c`.
    Shell(Dialect),
    /// The arguments, as text that the shell evaluates.
    Eval,
    /// The first operand, when a signal arrives.
    Trap,
    /// Text that the command does not show.
    Text,
    /// Nothing, but commands get another meaning.
    Alias,
    /// Nothing, but the shell may evaluate its arguments.
    Builtin(Builtin),
    /// A sed script.
    Sed,
    /// An awk program.
    Awk,
}

/// The language of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Bash,
    /// Reads `$'x'` as a `$` and an `x`.
    Posix,
}

/// Builtins of the shell that set variables or evaluate text a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Declare,
    GetOpts,
    Let,
    MapFile,
    Printf,
    Read,
    Set,
    ShOpt,
    Test,
    Unset,
    Wait,
}

/// The files that a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Possibly every argument.
    Unknown,
    Nothing,
    /// Every operand.
    All,
    /// The last operand, or the directory after `-t`.
    Last,
    /// The values of these options.
    Options(&'static str),
}

/// A call that does damage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Harm {
    call: Call,
    /// The argument that the damage depends on.
    pub(crate) target: Target,
    pub(crate) reach: Reach,
    /// The reason shown to users.
    pub(crate) reason: &'static str,
}

/// The things that damage reaches, from the least to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Files of the workspace that a checkpoint covers.
    Workspace,
    /// References and commits of a repository in the workspace, which a checkpoint covers.
    Repository,
    /// What no checkpoint covers: a repository as a whole, large files that git ignores.
    Uncovered,
    /// Other files, processes and users of the machine.
    Outside,
    /// Other machines.
    Remote,
    /// The whole machine, which no rule permits.
    Machine,
}

/// The argument that damage depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// None: the call itself does damage.
    Any,
    /// A system directory or the home directory, as any argument.
    Vital,
    /// The same before the last operand.
    VitalSource,
    /// The same as the last operand.
    VitalDestination,
    Disk,
}

/// Properties of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trait {
    /// Accepts abbreviated subcommands.
    Abbreviates,
    /// Changes the working directory of the shell to its operand.
    ChangesDirectory,
    /// Removes, moves or changes whole directories.
    ChangesTrees,
    /// Copies files and directories, or gives them other names.
    Copies,
    /// Subcommands without an entry may be aliases or scripts, also under the name
    /// `program-subcommand`.
    Extensible,
    /// A builtin whose literal words neither read, write nor run anything.
    Inert,
    /// Becomes the program in its arguments without starting it.
    Loads,
    /// One file that is many programs, depending on the name by which it is called.
    MultiCall,
    /// Runs programs that the configuration of the directory names.
    ReadsConfiguration,
    /// Connects to the hosts in its arguments.
    Connects,
    /// Adds arguments from standard input to the command that it starts.
    ReadsArguments,
    /// Redirects the shell itself if it starts no command.
    RedirectsShell,
    /// Removes or empties the files that it names.
    Removes,
    /// Runs a script of the project with `run NAME`.
    RunsScripts,
    /// Searches for files by patterns after options.
    Searches,
    /// Sets variables for the command that it starts, or exports them.
    SetsVariables,
    /// Harmless as the value of a variable such as `PAGER` or `EDITOR`.
    NamedByVariables,
}

/// The calls that an approval of one call covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// That call and no other.
    Exact,
    /// Every call of the program.
    Program,
    /// Every call of an action that the entry lists.
    Subcommand,
}

/// Programs that only work if they may raise their privileges: they are set-user-id, have
/// capabilities, or start such programs.
const RAISING: &str = "at atq atrm batch buildah chage chfn chsh crontab doas fusermount fusermount3 \
    gpasswd mount newgidmap newgrp newuidmap passwd ping pkexec podman run0 runuser sg su sudo \
    sudoedit umount";

/// Returns true if a program raises its privileges.
pub(crate) fn raises_privileges(name: &str) -> bool {
    RAISING.split_ascii_whitespace().any(|raising| raising == name)
}

/// Entries, each with the facts that differ from [`program`].
macro_rules! programs {
    ($($names:tt { $($field:ident: $value:expr),* })*) => {
        &[$($crate::programs::Program {
            $($field: $value,)* ..$crate::programs::program($names)
        }),*]
    };
}
use programs;

const fn program(names: &'static str) -> Program {
    Program {
        names,
        runs: Runs::Nothing,
        options: "",
        runs_with: "",
        subcommands: &[],
        settings: "",
        reads: &[],
        version: "",
        prints_number: &[],
        writes: Writes::Unknown,
        harms: &[],
        synonyms: &[],
        traits: &[],
        approval: Approval::Exact,
        actions: "",
        groups: "",
    }
}

/// The entry of programs that are not in the table.
static UNKNOWN: Program = Program { runs: UNKNOWN_RUNS, ..program("") };
const UNKNOWN_RUNS: Runs = Runs::Unknown(&[]);
/// Every call only reads: no option writes, executes or connects.
const READS: &[Call] = &[ANY];
/// The damage of a redirection to a disk.
pub(crate) static OVERWRITES_DISK: Harm = system::TO_DISK;

/// Damage that can be intended.
const fn harm(reach: Reach, call: Call, reason: &'static str) -> Harm {
    Harm { call, target: Target::Any, reach, reason }
}

/// Damage to the whole machine, which is never intended.
const fn catastrophe(call: Call, target: Target, reason: &'static str) -> Harm {
    Harm { call, target, reach: Reach::Machine, reason }
}

/// All names in order, and the prefixes of names.
struct Index {
    names: Vec<(&'static str, &'static Program)>,
    prefixes: Vec<(&'static str, &'static Program)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let tables: [&'static [Program]; 4] =
        [shells::PROGRAMS, system::PROGRAMS, development::PROGRAMS, git::PROGRAMS];
    let (mut names, mut prefixes) = (Vec::new(), Vec::new());
    for entry in tables.into_iter().flatten() {
        for name in entry.names.split_ascii_whitespace() {
            match name.strip_suffix('*') {
                Some(prefix) => prefixes.push((prefix, entry)),
                None => names.push((name, entry)),
            }
        }
    }
    names.sort_unstable_by_key(|(name, _)| *name);
    Index { names, prefixes }
});

/// Returns the entry of a program, given its name without a directory.
pub(crate) fn find(name: &str) -> &'static Program {
    if let Ok(at) = INDEX.names.binary_search_by_key(&name, |(known, _)| known) {
        return INDEX.names[at].1;
    }
    let prefix = INDEX.prefixes.iter().find(|(prefix, _)| name.starts_with(prefix));
    prefix.map_or(&UNKNOWN, |(_, entry)| entry)
}

/// Splits the name of an installed `program-subcommand`.
pub(crate) fn split_dashed(name: &str) -> Option<(&str, &str)> {
    name.split_once('-').filter(|(program, _)| find(program).has(Trait::Extensible))
}

/// Returns the entries that describe a call, from the program to the innermost subcommand, each
/// with the arguments that follow it.
fn levels(words: &[Word]) -> impl Iterator<Item = (&'static Program, &[Word])> {
    let first = words
        .split_first()
        .and_then(|(program, arguments)| Some((find(base_name(program.literal()?)), arguments)));
    successors(first, |(entry, arguments)| {
        let (word, arguments) = arguments.split_first()?;
        Some((entry.subcommand(word.literal()?)?, arguments))
    })
}

/// Returns the entry of the subcommand of a call.
pub(crate) fn subcommand(words: &[Word]) -> Option<&'static Program> {
    levels(words).nth(1).map(|(entry, _)| entry)
}

/// Returns true if the call only reads with any values of its unknown words. If it has a script,
/// the analysis must have shown that the script is harmless; the commands that it starts are judged
/// separately.
pub(crate) fn only_reads(words: &[Word]) -> bool {
    levels(words).any(|(entry, arguments)| match entry.runs {
        Runs::Actions(list) => is_one_of(entry.reads, &without_actions(list, arguments)),
        _ => is_one_of(entry.reads, arguments),
    })
}

/// Returns the arguments without the commands that follow an action.
fn without_actions(list: &str, arguments: &[Word]) -> Vec<Word> {
    let is_action = |word: &Word| {
        word.literal().is_some_and(|text| list.split_ascii_whitespace().any(|a| a == text))
    };
    let mut own = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(is_action) {
        own.extend_from_slice(&rest[..at]);
        let end = rest[at..].iter().position(|w| matches!(w.literal(), Some(";" | "+")));
        rest = end.map_or(&[], |end| &rest[at + end + 1..]);
    }
    own.extend_from_slice(rest);
    own
}

/// Returns true if the call is of a builtin that does nothing with its words but print them, change
/// the directory of the shell or control its flow.
pub(crate) fn is_inert(words: &[Word]) -> bool {
    let is_literal = words.iter().all(|word| word.literal().is_some());
    let program = words.first().and_then(Word::literal);
    is_literal && program.is_some_and(|name| find(name).has(Trait::Inert))
}

/// Returns true if the call prints a number and nothing else.
pub(crate) fn prints_number(words: &[Word]) -> bool {
    let mut levels = levels(words);
    levels.next().is_some_and(|(entry, arguments)| is_one_of(entry.prints_number, arguments))
}

fn is_one_of(calls: &[Call], arguments: &[Word]) -> bool {
    calls.iter().any(|call| call.certainly_matches(arguments))
}

/// Returns true if the call prints the version of the program, and nothing of the project decides
/// how.
pub(crate) fn prints_version(words: &[Word]) -> bool {
    let [program, argument] = words else { return false };
    let (Some(name), Some(text)) = (program.literal(), argument.literal()) else { return false };
    find(name).version.split_ascii_whitespace().any(|known| known == text)
}

/// Returns the damage of a call, each with the arguments among which its target would be.
pub(crate) fn harms(words: &[Word]) -> impl Iterator<Item = (&'static Harm, &[Word])> {
    levels(words).flat_map(|(entry, arguments)| {
        let harms = entry.harms.iter().filter(|harm| harm.call.apparently_matches(arguments));
        harms.map(move |harm| (harm, arguments))
    })
}

/// Returns true if calls of the program, or of a subcommand, may do damage.
pub(crate) fn may_harm(name: &str) -> bool {
    let program = find(name);
    !program.harms.is_empty() || program.subcommands.iter().any(|entry| !entry.harms.is_empty())
}

/// Returns what a call executes: what its innermost subcommand does.
pub(crate) fn runs(words: &[Word]) -> Runs {
    let Some((entry, arguments)) = levels(words).last() else { return UNKNOWN_RUNS };
    match entry.runs {
        Runs::Unknown(calls) if is_one_of(calls, arguments) => Runs::Nothing,
        Runs::Unknown(_) | Runs::Command(_) if only_reads(words) || prints_version(words) => {
            Runs::Nothing
        }
        runs => runs,
    }
}

/// Returns an argument with which the program executes others.
pub(crate) fn running_argument(words: &[Word]) -> Option<&str> {
    levels(words).find_map(|(entry, arguments)| {
        let mut literals = arguments.iter().filter_map(Word::literal);
        let operand = literals.clone().find(|text| !is_option(text));
        literals.find(|text| {
            // A letter after the first operand is more often a value than a subcommand.
            let is_value = text.len() == 1 && operand != Some(text);
            let mut list = entry.runs_with.split_ascii_whitespace();
            !is_value && list.any(|pattern| matches(pattern, text))
        })
    })
}

impl Program {
    pub(crate) fn is_known(&self) -> bool {
        !self.names.is_empty()
    }

    pub(crate) fn has(&self, property: Trait) -> bool {
        self.traits.contains(&property)
    }

    pub(crate) fn subcommand(&self, name: &str) -> Option<&'static Program> {
        let is_named = |entry: &&Program| entry.names.split_ascii_whitespace().any(|n| n == name);
        self.subcommands.iter().find(is_named)
    }

    /// Returns true if a setting executes nothing.
    pub(crate) fn is_harmless_setting(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.settings.split_ascii_whitespace().any(|setting| matches(setting, &name))
    }

    /// Returns the other names of an option or a subcommand.
    pub(crate) fn other_names(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let is_member = move |group: &&&str| group.split_ascii_whitespace().any(|n| n == name);
        let groups = self.synonyms.iter().filter(is_member);
        groups.flat_map(|group| group.split_ascii_whitespace()).filter(move |other| *other != name)
    }

    /// Returns true if a word is another name of a subcommand, or an abbreviation of it.
    pub(crate) fn is_other_name(&self, word: &str, subcommand: &str) -> bool {
        self.has(Trait::Abbreviates) && word.len() > 2 && subcommand.starts_with(word)
            || self.other_names(subcommand).any(|name| name == word)
    }

    /// Returns the calls that an approval of one call covers. A program without a statement about
    /// that executes, destroys or fetches what its arguments say.
    pub(crate) fn approval(&self) -> Approval {
        self.approval
    }

    /// Returns true if calls of the program or subcommand may do damage, execute others or show
    /// only by their options what they do.
    pub(crate) fn may_destroy(&self) -> bool {
        !self.harms.is_empty() || !self.runs_with.is_empty()
    }
}

/// Returns true if a list of words has this one. `*` stands for every word.
pub(crate) fn is_listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word || known == "*")
}

#[cfg(test)]
mod tests;
