//! From words to what was asked for.
//!
//! By hand, because the rules are pi's: short options of several letters, options whose value is
//! optional, values that may look like options, and unknown options that an extension may claim.
//! What we add is `--option=value`, and an answer to what is mistyped.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::commands::COMMANDS;
use super::options::{Set, all};
use super::{Command, Flag, Value, suggest};
use crate::arguments::Arguments;

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Version,
    /// Of a command, by its names; of `pi` itself if there are none.
    Help(Vec<&'static str>),
    /// Something that comes later; says what to do instead.
    Unavailable(String),
    Command(Given),
    Run(Box<Arguments>),
}

/// A command with what follows it.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Its names: `["sessions", "list"]`.
    pub(crate) path: Vec<&'static str>,
    pub(crate) words: Vec<String>,
    flags: Vec<(&'static str, Option<String>)>,
}

impl Given {
    /// An option was given.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    /// The value of an option; the last one counts.
    pub(crate) fn value(&self, long: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(name, _)| *name == long)?.1.as_deref()
    }

    /// All values of an option.
    pub(crate) fn values(&self, long: &str) -> impl Iterator<Item = &str> {
        let named = self.flags.iter().filter(move |(name, _)| *name == long);
        named.filter_map(|(_, value)| value.as_deref())
    }

    /// A word, by its position.
    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(String::as_str)
    }
}

/// Reads the whole command line. Errors are all that is wrong with it.
pub(crate) fn parse(words: Vec<String>) -> Result<Request, Vec<String>> {
    if let Some(command) = words.first().and_then(|first| find_command(COMMANDS, first)) {
        return parse_command(command, words.into_iter().skip(1).collect());
    }
    let (arguments, mut errors) = parse_arguments(words);
    // Whoever asks for help gets it, whatever else is wrong.
    if arguments.help {
        return Ok(Request::Help(Vec::new()));
    }
    if arguments.version && errors.is_empty() {
        return Ok(Request::Version);
    }
    errors.extend(arguments.conflicts());
    // No extension can claim them yet.
    errors.extend(arguments.unknown.keys().map(|name| unknown_long(name)));
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(match unavailable(&arguments) {
        Some(text) => Request::Unavailable(text),
        None => Request::Run(Box::new(arguments)),
    })
}

fn unknown_long(name: &str) -> String {
    let known = all().map(|option| option.flag.long);
    let hint = suggest::nearest(name, known).map(|near| format!("; did you mean --{near}?"));
    format!("Unknown option: --{name}{}", hint.unwrap_or_default())
}

/// The first option that is there and cannot be obeyed.
fn unavailable(arguments: &Arguments) -> Option<String> {
    let given =
        [("resume", arguments.resume), ("extension", !arguments.extensions.paths.is_empty())];
    let (name, _) = given.into_iter().find(|(_, given)| *given)?;
    let flag = all().map(|option| &option.flag).find(|flag| flag.long == name)?;
    Some(format!("--{name} is not available yet. {}", flag.later?))
}

/// Reads the options of a run, and everything that is wrong with them.
pub(crate) fn parse_arguments(words: Vec<String>) -> (Arguments, Vec<String>) {
    let mut arguments = Arguments::default();
    let mut errors = Vec::new();
    let mut words = words.into_iter().peekable();
    let mut options_ended = false;
    while let Some(word) = words.next() {
        if !options_ended && word == "--" {
            options_ended = true;
        } else if options_ended || !word.starts_with('-') {
            match word.strip_prefix('@') {
                Some(file) => arguments.files.push(file.to_owned()),
                None => arguments.messages.push(word),
            }
        } else if let Err(error) = option(&mut arguments, &word, &mut words) {
            errors.push(error);
        }
    }
    (arguments, errors)
}

fn option(
    arguments: &mut Arguments,
    word: &str,
    rest: &mut Peekable<IntoIter<String>>,
) -> Result<(), String> {
    let (name, attached) = split(word);
    if let Some(option) = all().find(|option| option.flag.is_named(name)) {
        let value = value(&option.flag, attached, rest)?;
        match option.set {
            Set::Switch(set) => set(arguments),
            Set::Value(set) => set(arguments, value.unwrap_or_default()),
            Set::Checked(set) => set(arguments, value.unwrap_or_default())?,
            Set::Maybe(set) => set(arguments, value),
        }
        return Ok(());
    }
    let Some(unknown) = name.strip_prefix("--") else {
        let flags = all().map(|option| option.flag);
        return Err(unknown_short(word, &flags.collect::<Vec<_>>()));
    };
    // An extension's option: what follows is its value, unless it looks like something else.
    let value = attached.or_else(|| rest.next_if(|next| !next.starts_with(['-', '@'])));
    arguments.unknown.insert(unknown.to_owned(), value);
    Ok(())
}

/// `--option=value` in two parts.
fn split(word: &str) -> (&str, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
        _ => (word, None),
    }
}

/// What follows an option.
fn value(
    flag: &Flag,
    attached: Option<String>,
    rest: &mut Peekable<IntoIter<String>>,
) -> Result<Option<String>, String> {
    let found = match flag.value {
        Value::None if attached.is_some() => return Err(format!("--{} takes no value", flag.long)),
        Value::None => return Ok(None),
        Value::Required(_) => attached.or_else(|| rest.next()),
        Value::Word(_) => attached.or_else(|| rest.next_if(|next| !next.starts_with('-'))),
        Value::Optional(_) => {
            // Three dashes begin no option: front matter and diffs may be messages.
            let is_value = |next: &String| !next.starts_with(['-', '@']) || next.starts_with("---");
            return Ok(attached.or_else(|| rest.next_if(is_value)));
        }
    };
    match (found, flag.choices) {
        (Some(value), _) => Ok(Some(value)),
        (None, []) => Err(format!("--{} requires a value", flag.long)),
        (None, choices) => Err(format!("--{} requires one of {}", flag.long, choices.join(", "))),
    }
}

fn unknown_short(word: &str, flags: &[Flag]) -> String {
    let named = |name: &str| flags.iter().find(|flag| flag.is_named(name));
    let letters = word.trim_start_matches('-');
    let is_bundle = letters.len() > 1 && letters.chars().all(|c| named(&format!("-{c}")).is_some());
    let hint = if letters.is_empty() {
        "; piped input is read without it".to_owned()
    } else if let Some((name, value)) =
        word.split_once('=').filter(|(name, _)| named(name).is_some())
    {
        format!("; write {name} {value}")
    } else if let Some(flag) = named(&format!("--{letters}")) {
        format!("; did you mean --{}?", flag.long)
    } else if is_bundle {
        let apart: Vec<String> = letters.chars().map(|c| format!("-{c}")).collect();
        format!("; write {}", apart.join(" "))
    } else if let Some(flag) = named(&word.to_ascii_lowercase()) {
        format!("; did you mean -{}?", flag.short.unwrap_or_default())
    } else {
        String::new()
    };
    format!("Unknown option: {word}{hint}")
}

fn find_command(commands: &'static [Command], name: &str) -> Option<&'static Command> {
    commands.iter().find(|command| command.name == name)
}

/// Reads a command and what follows it.
fn parse_command(command: &'static Command, words: Vec<String>) -> Result<Request, Vec<String>> {
    let mut command = command;
    let mut given = Given { path: vec![command.name], ..Given::default() };
    let mut errors = Vec::new();
    let mut help = false;
    let mut options_ended = false;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if !options_ended && matches!(word.as_str(), "--help" | "-h") {
            help = true;
        } else if command.later.is_some() {
            // Whatever follows: the answer is the same.
        } else if !options_ended && word == "--" {
            options_ended = true;
        } else if !options_ended && word.starts_with('-') && word != "-" {
            let (name, attached) = split(&word);
            match command.flags.iter().find(|flag| flag.is_named(name)) {
                Some(flag) => match value(flag, attached, &mut words) {
                    Ok(value) => match wrong_choice(flag, value.as_deref()) {
                        Some(error) => errors.push(error),
                        None => given.flags.push((flag.long, value)),
                    },
                    Err(error) => errors.push(error),
                },
                None => errors.push(unknown_of(command, &given.path, &word, name)),
            }
        } else if !command.commands.is_empty() {
            match find_command(command.commands, &word) {
                Some(found) => {
                    command = found;
                    given.path.push(found.name);
                }
                None => return Err(vec![unknown_command(command, &word)]),
            }
        } else {
            given.words.push(word);
        }
    }
    if help {
        return Ok(Request::Help(given.path));
    }
    let path = given.path.join(" ");
    if let Some(instead) = command.later {
        return Ok(Request::Unavailable(format!("`pi {path}` is not available yet. {instead}")));
    }
    // Which one of them was not said.
    if !command.commands.is_empty() && errors.is_empty() {
        return Ok(Request::Help(given.path));
    }
    errors.extend(wrong_words(command, &path, &given.words));
    if !errors.is_empty() {
        return Err(errors);
    }
    if command.name == "help" {
        return help_topic(&given.words);
    }
    Ok(Request::Command(given))
}

fn wrong_choice(flag: &Flag, value: Option<&str>) -> Option<String> {
    let value = value.filter(|value| !flag.choices.is_empty() && !flag.choices.contains(value))?;
    Some(format!("--{}: \"{value}\" is none of {}", flag.long, flag.choices.join(", ")))
}

fn wrong_words(command: &Command, path: &str, words: &[String]) -> Option<String> {
    let usage = || format!("usage: pi {path}{}", command.usage());
    let spec = &command.words;
    if words.len() < spec.at_least {
        return Some(format!("`pi {path}` needs more; {}", usage()));
    }
    if let Some(extra) = words.get(spec.at_most) {
        return Some(format!("`pi {path}` takes no \"{extra}\"; {}", usage()));
    }
    let wrong = words.iter().find(|word| !spec.choices.contains(&word.as_str()));
    let wrong = wrong.filter(|_| !spec.choices.is_empty())?;
    Some(format!("\"{wrong}\" is none of {}", spec.choices.join(", ")))
}

fn unknown_of(command: &Command, path: &[&str], word: &str, name: &str) -> String {
    let path = path.join(" ");
    if !name.starts_with("--") {
        return format!("{} of `pi {path}`", unknown_short(word, command.flags));
    }
    let known = command.flags.iter().map(|flag| flag.long);
    let near = suggest::nearest(name.trim_start_matches('-'), known);
    let hint = near.map(|near| format!("; did you mean --{near}?"));
    format!("Unknown option of `pi {path}`: {name}{}", hint.unwrap_or_default())
}

fn unknown_command(command: &Command, word: &str) -> String {
    let known = command.commands.iter().map(|command| command.name);
    let hint = match suggest::nearest(word, known.clone()) {
        Some(near) => format!("did you mean `pi {} {near}`?", command.name),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    };
    format!("There is no command `pi {} {word}`; {hint}", command.name)
}

/// `pi help COMMAND`.
fn help_topic(words: &[String]) -> Result<Request, Vec<String>> {
    let mut commands = COMMANDS;
    let mut path = Vec::new();
    for word in words {
        let Some(command) = find_command(commands, word) else {
            let near = suggest::nearest(word, commands.iter().map(|command| command.name));
            let hint = near
                .map_or_else(|| "see `pi help`".to_owned(), |near| format!("did you mean {near}?"));
            return Err(vec![format!("There is no command \"{word}\"; {hint}")]);
        };
        path.push(command.name);
        commands = command.commands;
    }
    Ok(Request::Help(path))
}
