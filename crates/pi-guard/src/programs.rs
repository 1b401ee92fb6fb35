//! The table of programs: everything this crate knows about individual programs.
//!
//! Each entry describes a program, or several that behave alike: the commands it executes, the
//! calls that only read, the files it writes, the damage it can do, and the options that change
//! any of this. Subcommands are entries of their own. The analysis of scripts and the policy ask
//! the table and name no program themselves; programs without an entry are unknown.
//!
//! Facts are data. Code here only matches arguments against them.

mod arguments;
mod development;
mod git;
mod shells;
mod system;

use std::iter::successors;
use std::sync::LazyLock;

pub(crate) use arguments::{
    Call, find as find_argument, is_option, matches, takes_value, values, with_next,
};

use crate::shell::{Word, base_name};

/// Facts about a program or a subcommand.
#[derive(Debug)]
pub(crate) struct Program {
    /// The names, separated by spaces. A name that ends in `*` is a prefix.
    names: &'static str,
    /// The commands or the code that it executes.
    pub(crate) runs: Runs,
    /// Options before the subcommand or before the command that it starts. A `-c:` takes a
    /// setting, which must be one of `settings`.
    pub(crate) options: &'static str,
    /// Arguments with which it executes other programs.
    runs_with: &'static str,
    /// Subcommands about which more is known.
    subcommands: &'static [Program],
    /// Settings that execute nothing. A subcommand that has some writes settings.
    pub(crate) settings: &'static str,
    /// Calls that only read.
    reads: &'static [Call],
    /// Options that, given alone, print the version.
    version: &'static str,
    /// Calls that print a number and nothing else.
    prints_number: &'static [Call],
    /// The files that it writes.
    pub(crate) writes: Writes,
    /// Calls that do damage.
    harms: &'static [Harm],
    /// Options and subcommands that mean the same, in groups.
    synonyms: &'static [&'static str],
    /// Options whose value is the working directory.
    pub(crate) directory_options: &'static str,
    /// Variables that change nothing about what it does.
    pub(crate) harmless_variables: &'static str,
    traits: &'static [Trait],
    approval: Approval,
}

/// The commands or the code that a program executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Not known: the program has no entry, or its arguments may be a command.
    Unknown,
    /// Nothing but itself.
    Nothing,
    /// The command in its arguments, after options and `operands`.
    Command {
        /// The number of operands before the command.
        operands: usize,
        /// Variables may be set before the command.
        assigns: bool,
        /// Arguments from standard input are added to the command.
        input: bool,
    },
    /// The commands that follow one of these arguments, each up to `;` or `+`.
    Actions(&'static str),
    /// Its operands, joined to a script.
    Joined,
    /// The scripts that are the values of these options.
    Scripts(&'static str),
    /// The script after `-c`, in the language of a shell.
    Shell(Dialect),
    /// Its arguments as text that the shell evaluates.
    Eval,
    /// Its first operand, when a signal arrives.
    Trap,
    /// Text that does not appear in the command.
    Text,
    /// Nothing, but names of commands get another meaning.
    Alias,
    /// Nothing, but a builtin of the shell evaluates its arguments.
    Builtin(Builtin),
    /// A sed script.
    Sed,
    /// An awk program.
    Awk,
    /// Code in another language.
    Code,
    /// The content of a file, or commands on another machine, unless one of these calls is made.
    Hidden(&'static [Call]),
}

/// The language of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Bash,
    /// Reads `$'x'` as a `$` and an `x`.
    Posix,
    /// A language that is not analyzed.
    Other,
}

/// Builtins of the shell that set variables, or that evaluate text a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Named after the builtins.
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
    /// None of its arguments.
    Nothing,
    /// Every operand.
    All,
    /// The last operand, or the directory that `-t` names.
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
    /// Returns true for damage to the whole machine, which no rule permits.
    pub(crate) is_catastrophic: bool,
    /// The reason shown to users.
    pub(crate) reason: &'static str,
}

/// The argument that damage depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// None: the call does damage by itself.
    Any,
    /// An operand is a system directory or the home directory.
    Vital,
    /// An operand before the last is one.
    VitalSource,
    /// The last operand is one.
    VitalDestination,
    /// An operand is a disk.
    Disk,
}

/// Properties of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trait {
    /// Accepts unambiguous beginnings of its subcommands.
    Abbreviates,
    /// Changes the working directory of the shell to its operand.
    ChangesDirectory,
    /// Removes, moves or changes whole directories.
    ChangesTrees,
    /// Connects to other machines.
    Connects,
    /// Makes copies of files or whole directories, or gives them other names.
    Copies,
    /// Subcommands without an entry may be aliases or scripts.
    Extensible,
    /// One file that is many programs, depending on the name by which it is called.
    MultiCall,
    /// May be the value of variables such as `CC` and `PAGER`.
    NamedByVariables,
    /// Applies redirections to the shell itself if it starts no command.
    RedirectsShell,
    /// `run NAME` runs a script of the project.
    RunsScripts,
    /// Searches for files by patterns after options.
    Searches,
    /// The first argument may select a toolchain: `+nightly`.
    Toolchain,
    /// Installed under the name `program-subcommand` too.
    Dashed,
}

/// The calls that an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// Not known: the program, with its first operand if that looks like a subcommand.
    Guess,
    /// Exactly the call that was approved.
    Exact,
    /// The program with any arguments.
    Program,
    /// The subcommand with any arguments.
    Subcommand,
}

/// The entry of programs about which nothing is known.
static UNKNOWN: Program = Program { runs: Runs::Unknown, ..program("") };

/// An entry of programs that execute nothing else.
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
        directory_options: "",
        harmless_variables: "",
        traits: &[],
        approval: Approval::Guess,
    }
}

/// An entry of programs that only read, whatever their arguments.
const fn reader(names: &'static str) -> Program {
    Program { reads: &[arguments::ANY], ..program(names) }
}

/// An entry of programs that execute code or commands that the command line does not show.
const fn runner(names: &'static str, runs: Runs) -> Program {
    Program { runs, ..program(names) }
}

/// An entry of programs that start the command in their arguments.
const fn wrapper(names: &'static str, options: &'static str, operands: usize) -> Program {
    let runs = Runs::Command { operands, assigns: false, input: false };
    Program { options, runs, ..program(names) }
}

/// Damage that can be intended.
const fn harm(call: Call, reason: &'static str) -> Harm {
    Harm { call, target: Target::Any, is_catastrophic: false, reason }
}

/// Damage to the whole machine, which is never intended.
const fn catastrophe(call: Call, target: Target, reason: &'static str) -> Harm {
    Harm { call, target, is_catastrophic: true, reason }
}

/// All names in order, and prefixes of names.
struct Index {
    names: Vec<(&'static str, &'static Program)>,
    prefixes: Vec<(&'static str, &'static Program)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let tables: [&'static [Program]; 4] =
        [shells::PROGRAMS, system::PROGRAMS, development::PROGRAMS, git::PROGRAMS];
    let entries = tables.into_iter().flatten();
    let all =
        entries.flat_map(|entry| entry.names.split_ascii_whitespace().map(move |n| (n, entry)));
    let (prefixes, mut names): (Vec<_>, Vec<_>) = all.partition(|(name, _)| name.ends_with('*'));
    names.sort_unstable_by_key(|(name, _)| *name);
    let prefixes = prefixes.into_iter().map(|(name, entry)| (name.trim_end_matches('*'), entry));
    Index { names, prefixes: prefixes.collect() }
});

/// Returns the entry of a program, given its name without a directory.
pub(crate) fn find(name: &str) -> &'static Program {
    let exact = |name: &str| {
        let at = INDEX.names.binary_search_by_key(&name, |(known, _)| known).ok()?;
        Some(INDEX.names[at].1)
    };
    if let Some(entry) = exact(name) {
        return entry;
    }
    // `python3.12` is as open-ended as python. The reverse does not hold: an unknown program is
    // not trusted because of its beginning.
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if let Some(entry) = exact(unversioned).filter(|entry| entry.runs == Runs::Code) {
        return entry;
    }
    let prefix = INDEX.prefixes.iter().find(|(prefix, _)| name.starts_with(prefix));
    prefix.map_or(&UNKNOWN, |(_, entry)| entry)
}

/// Returns the program and the subcommand of a name such as `program-subcommand`.
pub(crate) fn split_dashed(name: &str) -> Option<(&str, &str)> {
    name.split_once('-').filter(|(program, _)| find(program).has(Trait::Dashed))
}

/// Returns the entries that describe a call, from the program to the innermost subcommand, each
/// with the arguments that follow it.
fn levels(words: &[Word]) -> impl Iterator<Item = (&'static Program, &[Word])> {
    let first = words
        .split_first()
        .and_then(|(program, arguments)| Some((find(base_name(program.literal()?)), arguments)));
    successors(first, |(entry, arguments)| {
        let is_skipped = |word: &Word| {
            let is_listed = |text| takes_value(entry.options, text) == Some(false);
            !entry.has(Trait::Extensible) && word.literal().is_some_and(is_listed)
        };
        let at = arguments.iter().position(|word| !is_skipped(word))?;
        Some((entry.subcommand(arguments[at].literal()?)?, &arguments[at + 1..]))
    })
}

/// Returns true if the call only reads, whatever its unknown words are.
///
/// For programs that execute a script or code in their arguments, the analysis must have shown
/// that it is harmless.
pub(crate) fn only_reads(words: &[Word]) -> bool {
    levels(words)
        .any(|(entry, arguments)| entry.reads.iter().any(|call| call.certainly_matches(arguments)))
}

/// Returns true if the call prints the version or the help of the program.
pub(crate) fn prints_version(words: &[Word]) -> bool {
    let [program, argument] = words else { return false };
    let (Some(name), Some(text)) = (program.literal(), argument.literal()) else { return false };
    let is_listed = || find(name).version.split_ascii_whitespace().any(|known| known == text);
    !name.contains('/') && (matches!(text, "--version" | "--help") || is_listed())
}

/// Returns true if the call prints a number and nothing else.
pub(crate) fn prints_number(words: &[Word]) -> bool {
    let Some((entry, arguments)) = levels(words).next() else { return false };
    entry.prints_number.iter().any(|call| call.certainly_matches(arguments))
}

/// Returns the damage that a call does if its target is what the entry describes.
pub(crate) fn harms(words: &[Word]) -> impl Iterator<Item = (&'static Harm, &[Word])> {
    levels(words).flat_map(|(entry, arguments)| {
        let harms = entry.harms.iter().filter(|harm| harm.call.apparently_matches(arguments));
        harms.map(move |harm| (harm, arguments))
    })
}

/// The part of a call that decides what it executes.
pub(crate) struct Execution<'w> {
    pub(crate) runs: Runs,
    /// The entry that says so: of the innermost subcommand, or of the program.
    pub(crate) entry: &'static Program,
    /// The arguments that follow it.
    pub(crate) arguments: &'w [Word],
    pub(crate) is_subcommand: bool,
}

/// Returns what a call executes.
pub(crate) fn execution(words: &[Word]) -> Execution<'_> {
    let mut found =
        Execution { runs: Runs::Unknown, entry: &UNKNOWN, arguments: &[], is_subcommand: false };
    for (depth, (entry, arguments)) in levels(words).enumerate() {
        if entry.runs != Runs::Nothing || depth == 0 {
            found = Execution { runs: entry.runs, entry, arguments, is_subcommand: depth > 0 };
        }
        let is_one_of = |calls: &[Call]| calls.iter().any(|call| call.certainly_matches(arguments));
        let is_plain = match found.runs {
            Runs::Hidden(calls) => is_one_of(calls) || is_one_of(entry.reads),
            Runs::Command { .. } => is_one_of(entry.reads),
            _ => false,
        };
        if is_plain {
            found.runs = Runs::Nothing;
        }
    }
    found
}

/// Returns an argument with which the program executes others.
pub(crate) fn running_argument(words: &[Word]) -> Option<&str> {
    let handled = match execution(words).runs {
        Runs::Scripts(options) => options,
        _ => "",
    };
    levels(words).find_map(|(entry, arguments)| {
        let operand = arguments.iter().find(|word| !word.may_be_option()).and_then(Word::literal);
        let mut literals = arguments.iter().filter_map(Word::literal);
        literals.find(|text| {
            let name = text.split('=').next().unwrap_or_default();
            let is_handled = handled.split_ascii_whitespace().any(|option| option == name);
            // A letter elsewhere is more often a value than a subcommand.
            let is_value = text.len() == 1 && operand != Some(text);
            let mut list = entry.runs_with.split_ascii_whitespace();
            !is_handled && !is_value && list.any(|pattern| matches(pattern, text))
        })
    })
}

/// Returns the entry of the subcommand of a call.
pub(crate) fn subcommand(words: &[Word]) -> Option<&'static Program> {
    levels(words).nth(1).map(|(entry, _)| entry)
}

/// The damage of writing to a disk.
pub(crate) static OVERWRITES_DISK: Harm = system::TO_DISK;

impl Program {
    /// Returns true if the table has an entry for the program.
    pub(crate) fn is_known(&self) -> bool {
        !self.names.is_empty()
    }

    pub(crate) fn has(&self, property: Trait) -> bool {
        self.traits.contains(&property)
    }

    /// Returns the entry of a subcommand.
    pub(crate) fn subcommand(&self, name: &str) -> Option<&'static Program> {
        let is_named = |entry: &&Program| entry.names.split_ascii_whitespace().any(|n| n == name);
        self.subcommands.iter().find(is_named)
    }

    /// Returns true if a setting executes nothing.
    pub(crate) fn is_harmless_setting(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.settings.split_ascii_whitespace().any(|setting| matches(setting, &name))
    }

    /// Returns the other names of an option. A name that ends in `*` is a prefix.
    pub(crate) fn other_names(&self, option: &str) -> impl Iterator<Item = &'static str> {
        let is_member =
            move |group: &&&str| group.split_ascii_whitespace().any(|name| name == option);
        let groups = self.synonyms.iter().filter(is_member);
        groups.flat_map(|group| group.split_ascii_whitespace()).filter(move |name| *name != option)
    }

    /// Returns true if a word is another name of a subcommand, or an abbreviation of it.
    pub(crate) fn is_other_name(&self, word: &str, subcommand: &str) -> bool {
        self.has(Trait::Abbreviates) && word.len() > 2 && subcommand.starts_with(word)
            || self.other_names(subcommand).any(|name| name == word)
    }

    /// Returns the calls that an approval of one call covers.
    pub(crate) fn approval(&self) -> Approval {
        let is_open_ended = !self.harms.is_empty()
            || !self.runs_with.is_empty()
            || self.has(Trait::Connects)
            || !matches!(self.runs, Runs::Unknown | Runs::Nothing | Runs::Builtin(_));
        match self.approval {
            Approval::Guess if is_open_ended => Approval::Exact,
            approval => approval,
        }
    }
}

#[cfg(test)]
mod tests;
