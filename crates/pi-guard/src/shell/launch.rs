//! Commands that start commands: the command of a wrapper, the script of a shell and the actions
//! of a search are commands too.

use super::nodes::RESERVED;
use super::uncertainty::Uncertainty;
use super::variables::Extent;
use super::{Analysis, Assignment, Command, Role, builtins, languages, script_into};
use crate::programs::{self, Builtin, Dialect, Program, Runs, Trait, is_option, takes_value};
use crate::word::Word;

/// Adds a command and everything it starts.
pub(super) fn push(mut command: Command, analysis: &mut Analysis, through: &[String]) {
    command.through = through.to_vec();
    let extent = extent(&command);
    for assignment in &command.assignments {
        if is_declaration(&command) {
            builtins::declared(assignment, &command.words, analysis);
        }
        if let Some(started) = builtins::assign(assignment, extent, analysis) {
            script_into(&started, analysis, through);
        }
    }
    let Some(word) = command.words.first() else {
        analysis.commands.push(command);
        return;
    };
    let Some(base) = command.base().map(str::to_owned) else {
        analysis.note(Uncertainty::Program(word.raw().to_owned()));
        analysis.commands.push(command);
        return;
    };
    // After `time`, which the grammar takes for a program, reserved words keep their meaning.
    if RESERVED.contains(&base.as_str()) || word.raw().contains('=') {
        analysis.note(Uncertainty::Construct(format!("`{base}`")));
    }
    if through.len() >= super::MAX_SCRIPTS {
        analysis.note(Uncertainty::TooDeep);
        analysis.commands.push(command);
        return;
    }
    let words = command.words.clone();
    let at = analysis.commands.len();
    analysis.commands.push(command);
    let inside: Vec<String> = through.iter().chain([&base]).cloned().collect();
    let role = Launch { base: &base, words: &words, at, analysis, inside: &inside }.role();
    analysis.commands[at].role = role;
}

fn is_declaration(command: &Command) -> bool {
    let program = command.program().map(programs::find);
    program.is_some_and(|program| program.runs == Runs::Builtin(Builtin::Declare))
}

/// Returns which programs see the variables that a command sets.
fn extent(command: &Command) -> Extent {
    let Some((first, rest)) = command.words.split_first() else { return Extent::Shell };
    let base = first.literal().unwrap_or_default();
    match programs::find(base).runs {
        Runs::Builtin(Builtin::Declare) if !builtins::exports(base, rest) => Extent::Shell,
        Runs::Builtin(Builtin::Read) => Extent::Line,
        _ => Extent::Exported,
    }
}

/// A command that may start others.
struct Launch<'a> {
    base: &'a str,
    words: &'a [Word],
    /// The index of the command in the analysis.
    at: usize,
    analysis: &'a mut Analysis,
    /// The commands that start what this command starts.
    inside: &'a [String],
}

impl Launch<'_> {
    fn role(&mut self) -> Role {
        let (base, words) = (self.base, self.words);
        let program = programs::find(base);
        if !program.is_known()
            && let Some((program, subcommand)) = programs::split_dashed(base)
        {
            let short = [Word::plain(program), Word::plain(subcommand)];
            return self.start(&[&short, &words[1..]].concat(), vec![]);
        }
        match programs::running_argument(words) {
            Some(word) if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                return Role::Opaque(format!(
                    "`{base} {word}` runs commands that it does not show"
                ));
            }
            Some(option) => self.note(Uncertainty::Starter(format!("{base} {option}"))),
            None => {}
        }
        if program.has(Trait::Extensible)
            && let Some(role) = self.subcommand(program)
        {
            return role;
        }
        let arguments = &words[1..];
        match programs::runs(words) {
            Runs::Nothing => Role::Plain,
            Runs::Unknown(_) => Role::Opaque(format!("the effects of {base} are not known")),
            Runs::Command(operands) => self.wrapped(program, operands),
            Runs::Actions(list) => self.actions(list),
            Runs::Shell(dialect) => self.shell(dialect),
            Runs::Trap => self.trap().unwrap_or_else(|| self.evaluated()),
            Runs::Eval => self.evaluated(),
            Runs::Text => {
                self.note(Uncertainty::RunsText(base.to_owned()));
                Role::Plain
            }
            Runs::Alias => {
                if let Some(first) = arguments.first() {
                    self.note(Uncertainty::Renames(first.raw().to_owned()));
                }
                Role::Plain
            }
            Runs::Builtin(builtin) => {
                builtins::check(builtin, base, arguments, self.analysis);
                Role::Plain
            }
            Runs::Sed if languages::sed_runs_programs(words) => {
                Role::Opaque("this sed script may run programs or write files".to_owned())
            }
            Runs::Sed => Role::Plain,
            Runs::Awk if languages::awk_runs_programs(arguments) => {
                Role::Opaque("this awk program may run programs or write files".to_owned())
            }
            Runs::Awk => Role::Plain,
        }
    }

    fn note(&mut self, uncertainty: Uncertainty) {
        self.analysis.note(uncertainty);
    }

    /// Adds the command that this one starts without doing anything else.
    fn start(&mut self, words: &[Word], assignments: Vec<Assignment>) -> Role {
        if words.is_empty() {
            return Role::Plain;
        }
        let command = Command { words: words.to_vec(), assignments, ..Command::default() };
        push(command, self.analysis, self.inside);
        Role::Starts
    }

    /// Looks for a subcommand that has an entry. Returns no role if nothing stands before it.
    fn subcommand(&mut self, program: &Program) -> Option<Role> {
        let (base, words) = (self.base, self.words);
        if programs::prints_version(words) || programs::only_reads(&words[..1]) && words.len() == 1
        {
            return Some(Role::Plain);
        }
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(text) = word.literal() else {
                let raw = word.raw();
                return Some(Role::Opaque(format!("the subcommand of {base} is unknown: {raw}")));
            };
            if !is_option(text) {
                if program.subcommand(text).is_none() {
                    let why = format!("`{base} {text}` may be an alias or a script");
                    return Some(Role::Opaque(why));
                }
                let short = [&words[..1], &words[at..]].concat();
                return (at > 1).then(|| self.start(&short, vec![]));
            }
            let mut harmless = takes_value(program.options, text);
            if program.options.contains(&format!("{text}:")) {
                let setting = words.get(at + 1).and_then(Word::literal).unwrap_or_default();
                let name = setting.split('=').next().unwrap_or_default();
                harmless = program.is_harmless_setting(name).then_some(true);
            }
            match harmless {
                Some(takes_next) => at += 1 + usize::from(takes_next),
                None => return Some(Role::Opaque(format!("`{base} {text}` may run a program"))),
            }
        }
        (at == 1).then(|| Role::Opaque(format!("the command does not show what {base} runs")))
    }

    /// The command of a wrapper, after its options, assignments and operands.
    fn wrapped(&mut self, program: &Program, mut operands: usize) -> Role {
        let arguments = &self.words[1..];
        let accepted = program.options;
        let assigns = program.has(Trait::SetsVariables);
        let mut assignments = Vec::new();
        let mut options = true;
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let Some(text) = word.literal() else {
                self.note(Uncertainty::Starter(word.raw().to_owned()));
                return Role::Plain;
            };
            let is_dash = text == "-" && accepted.starts_with("- ");
            if options && text == "--" {
                options = false;
            } else if options && (is_option(text) || is_dash) {
                match if is_dash { Some(false) } else { takes_value(accepted, text) } {
                    Some(takes_next) => at += usize::from(takes_next),
                    None => {
                        self.note(Uncertainty::Starter(format!("{} {text}", self.base)));
                        return Role::Plain;
                    }
                }
            // Wrappers set any name, also those that the shell would not.
            } else if assigns && let Some((name, value)) = text.split_once('=') {
                options = false;
                let value = Word::plain(value);
                assignments.push(Assignment { name: name.to_owned(), value });
            } else if operands > 0 {
                operands -= 1;
            } else if program.has(Trait::ReadsArguments) {
                let mut started = replaced(&arguments[..at], arguments[at..].to_vec());
                started.push(Word::unknown("…", INPUT));
                return self.start(&started, assignments);
            } else {
                return self.start(&arguments[at..], assignments);
            }
            at += 1;
        }
        let redirects = !self.analysis.commands[self.at].redirects.is_empty();
        if redirects && program.has(Trait::RedirectsShell) {
            self.note(Uncertainty::Construct(format!("{} with redirections", self.base)));
        }
        Role::Plain
    }

    /// The commands of a search, which run once for each file or for all.
    fn actions(&mut self, list: &str) -> Role {
        let ends = self.words.iter().filter(|w| matches!(w.literal(), Some(";" | "+"))).count();
        let is_action = |word: &Word| {
            word.literal().is_some_and(|text| list.split_ascii_whitespace().any(|a| a == text))
        };
        let actions = self.words.iter().filter(|word| is_action(word)).count();
        for word in self.words[1..].iter().filter(|w| w.literal().is_none() && w.may_be_option()) {
            // It may be an action, or contain one with its command.
            let is_split = matches!(word, Word::Unknown { many: true, .. });
            if is_split || ends > actions {
                self.analysis.note(Uncertainty::Starter(word.raw().to_owned()));
            }
        }
        for (at, word) in self.words.iter().enumerate().skip(1) {
            let Some(text) = word.literal() else { continue };
            if !list.split_ascii_whitespace().any(|action| action == text) {
                if list.split_ascii_whitespace().any(|action| programs::matches(action, text)) {
                    self.note(Uncertainty::Starter(format!("{} {text}", self.base)));
                }
                continue;
            }
            let rest = &self.words[at + 1..];
            let end = rest.iter().position(|w| matches!(w.literal(), Some(";" | "+")));
            // A file that is found may be any file below the directories that are searched.
            let is_root =
                |word: &&Word| !word.literal().is_some_and(|t| t.starts_with(['-', '(', '!']));
            let roots = self.words[1..at].iter().take_while(is_root).filter_map(Word::literal);
            let roots: Vec<&str> = roots.collect();
            let found = |text: &str| {
                let roots = if roots.is_empty() { &["."][..] } else { &roots };
                let found = roots.iter().map(|root| Word::Unknown {
                    raw: text.replace("{}", &format!("{root}/*")),
                    prefix: match text {
                        "{}" if root.starts_with(['/', '~']) => format!("{root}/"),
                        "{}" => format!("./{root}/"),
                        _ => String::new(),
                    },
                    many: false,
                    why: FOUND,
                });
                found.collect::<Vec<_>>()
            };
            let started =
                rest[..end.unwrap_or(rest.len())].iter().flat_map(|word| match word.literal() {
                    Some(text) if text.contains('{') => found(text),
                    _ => vec![word.clone()],
                });
            self.start(&started.collect::<Vec<_>>(), vec![]);
        }
        Role::Plain
    }

    fn shell(&mut self, dialect: Dialect) -> Role {
        let (base, words) = (self.base, self.words);
        let mut at = 1;
        while let Some(text) = words.get(at).and_then(Word::literal) {
            match text {
                "-o" | "+o" | "-O" | "+O" => at += 1,
                "--rcfile" | "--init-file" => break,
                "--" | "--login" | "--norc" | "--noprofile" | "--posix" => {}
                "--version" | "--help" if words.len() == 2 => return Role::Plain,
                _ if text.starts_with("--") => break,
                _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                    if text.contains('c') {
                        return self.shell_script(dialect, &words[at + 1..]);
                    }
                    if text.contains('s') && !text.starts_with('+') {
                        break;
                    }
                }
                _ => return Role::Opaque(format!("{base} runs the script {text}")),
            }
            at += 1;
        }
        self.note(Uncertainty::RunsText(base.to_owned()));
        Role::Plain
    }

    /// The script after `-c`, before which options may still follow: `bash -c -e script`.
    fn shell_script(&mut self, dialect: Dialect, rest: &[Word]) -> Role {
        let is_script = |word: &&Word| word.literal().is_none_or(|t| !t.starts_with(['-', '+']));
        let Some(script) = rest.iter().find(is_script).and_then(Word::literal) else {
            self.note(Uncertainty::RunsText(self.base.to_owned()));
            return Role::Plain;
        };
        if dialect == Dialect::Posix && script.contains("$'") {
            self.note(Uncertainty::Construct(format!("the language of {}", self.base)));
        }
        script_into(script, self.analysis, self.inside);
        Role::Starts
    }

    /// A trap whose script is literal, which is judged like any other.
    fn trap(&mut self) -> Option<Role> {
        let texts: Vec<&str> = self.words[1..].iter().map(Word::literal).collect::<Option<_>>()?;
        let texts = texts.strip_prefix(&["--"]).unwrap_or(&texts);
        let (script, signals) = texts.split_first()?;
        let is_signal = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
        if signals.is_empty() || !signals.iter().all(is_signal) || is_option(script) {
            return None;
        }
        if *script != "-" {
            script_into(script, self.analysis, self.inside);
        }
        Some(Role::Starts)
    }

    /// Text that the shell evaluates. It is read for commands, but never trusted.
    fn evaluated(&mut self) -> Role {
        self.note(Uncertainty::RunsText(self.base.to_owned()));
        let texts: Option<Vec<&str>> = self.words[1..].iter().map(Word::literal).collect();
        if let Some(texts) = texts {
            script_into(&texts.join(" "), self.analysis, self.inside);
        }
        Role::Plain
    }
}

/// The reason why words of a command that runs for each file of a search are unknown.
pub(crate) const FOUND: &str = "a file that is found";
/// The reason why words of a command with arguments from standard input are unknown.
const INPUT: &str = "arguments from standard input";

/// The words of a command in which arguments from standard input are put, with options such as
/// `-I{}`.
fn replaced(options: &[Word], words: Vec<Word>) -> Vec<Word> {
    let mut signs = Vec::new();
    for (at, option) in options.iter().enumerate() {
        let Some(text) = option.literal() else { continue };
        let next = || options.get(at + 1).and_then(Word::literal);
        if let Some(long) = text.strip_prefix("--") {
            if "replace".starts_with(long.split('=').next().unwrap_or_default()) {
                signs.push(long.split_once('=').map_or("{}", |(_, sign)| sign));
            }
            continue;
        }
        if let Some((_, sign)) = text.split_once('i') {
            signs.push(if sign.is_empty() { "{}" } else { sign });
        }
        // `-0I{}`, and `-J` of other systems.
        if let Some((_, sign)) = text.split_once(['I', 'J']) {
            signs.extend(if sign.is_empty() { next() } else { Some(sign) });
        }
    }
    signs.retain(|sign| !sign.is_empty());
    let read = |word: Word| {
        let text = word.literal().unwrap_or_default();
        let Some(known) = signs.iter().filter_map(|sign| text.find(sign)).min() else {
            return word;
        };
        let prefix = text[..known].to_owned();
        Word::Unknown { raw: word.raw().to_owned(), prefix, many: false, why: INPUT }
    };
    words.into_iter().map(read).collect()
}
