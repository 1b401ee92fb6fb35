//! The parser of the command line.
//!
//! Written by hand because the rules are those of pi: short options of several letters, options
//! whose value is optional, values that may look like options, and unknown options that an
//! extension may claim. Additions are `--option=value` and suggestions for mistyped names.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::commands::COMMANDS;
use super::options::{Set, all};
use super::{Command, Flag, Value, suggest};
use crate::arguments::{Arguments, UnknownOption};
use crate::topics::{self, TOPICS, Topic};

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Request {
    Version,
    /// Help of `pi` itself, with the options of the extensions that these arguments load.
    MainHelp(Box<Arguments>),
    /// All commands, topics and options of `pi` itself.
    FullHelp,
    /// Help of the command with this path; of `pi` itself if the path is empty.
    Help(Vec<&'static str>),
    /// A page of the documentation.
    Topic(&'static Topic),
    Command(CommandArgs),
    Run(Box<Arguments>),
}

/// A command with its options and positional arguments.
#[derive(Debug, Default)]
pub(crate) struct CommandArgs {
    /// Path of the command: `["sessions", "list"]`.
    pub(crate) path: Vec<&'static str>,
    pub(crate) words: Vec<String>,
    flags: Vec<(&'static str, Option<String>)>,
}

impl CommandArgs {
    /// Returns true if the option was given.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    /// Returns the value of an option. If it was given several times, the last value counts.
    pub(crate) fn value(&self, long: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(name, _)| *name == long)?.1.as_deref()
    }

    /// Returns all values of an option.
    pub(crate) fn values(&self, long: &str) -> impl Iterator<Item = &str> {
        let named = self.flags.iter().filter(move |(name, _)| *name == long);
        named.filter_map(|(_, value)| value.as_deref())
    }

    /// Returns all options with their values, in the order of the command line.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.flags.iter().map(|(name, value)| (*name, value.as_deref()))
    }

    /// Returns a positional argument.
    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(String::as_str)
    }
}

/// An invalid command line.
#[derive(Debug)]
pub(crate) struct Invalid {
    /// All errors in the command line.
    pub(crate) errors: Vec<String>,
    /// Path of the command whose help to read; empty for `pi` itself.
    pub(crate) path: Vec<&'static str>,
}

/// Parses the whole command line.
pub(crate) fn parse(words: Vec<String>) -> Result<Request, Invalid> {
    if let Some(command) = words.first().and_then(|first| find_command(COMMANDS, first)) {
        return parse_command(command, words.into_iter().skip(1).collect());
    }
    let mistyped = words.first().and_then(|first| mistyped_command(first));
    let (mut arguments, mut errors) = parse_arguments(words);
    if let Some(near) = mistyped.filter(|_| !arguments.print && arguments.mode.is_none()) {
        let typed = arguments.messages.join(" ");
        let errors = vec![format!(
            "unknown command `pi {typed}`; did you mean `pi {near}`? To send it as a message: pi -p \"{typed}\""
        )];
        return Err(Invalid { errors, path: Vec::new() });
    }
    // Help is shown even if the rest of the line is wrong.
    if arguments.help {
        return Ok(Request::MainHelp(Box::new(arguments)));
    }
    if arguments.version && errors.is_empty() {
        return Ok(Request::Version);
    }
    errors.extend(arguments.conflicts());
    // Without a session no extension can claim an unknown option.
    if !errors.is_empty() || arguments.list_models.is_some() || arguments.export.is_some() {
        errors.extend(arguments.unknown.iter().map(|option| unknown_long(&option.name)));
    }
    if !errors.is_empty() {
        return Err(Invalid { errors, path: Vec::new() });
    }
    arguments.warnings.extend(arguments.without_effect());
    Ok(Request::Run(Box::new(arguments)))
}

/// Returns the command that a word is one mistake away from. Such a word would otherwise be sent to
/// a model.
fn mistyped_command(word: &str) -> Option<&'static str> {
    let is_name = word.len() > 2 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let near = suggest::nearest(word, COMMANDS.iter().map(|command| command.name))?;
    (is_name && suggest::is_one_mistake(word, near)).then_some(near)
}

/// Returns the error for an unknown option, with a suggestion.
pub(crate) fn unknown_long(name: &str) -> String {
    let known = all().map(|option| option.flag.long);
    let hint = suggest::nearest(name, known).map(|near| format!("; did you mean --{near}?"));
    format!("Unknown option: --{name}{}", hint.unwrap_or_default())
}

/// Parses the options of a run. Returns the arguments and all errors.
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
                None => arguments.messages.push(message(word)),
            }
        } else if let Err(error) = option(&mut arguments, &word, &mut words) {
            errors.push(error);
        }
    }
    (arguments, errors)
}

/// Returns the message that an argument stands for: `\@` begins a message with `@`.
pub(super) fn message(word: String) -> String {
    if word.starts_with("\\@") { word[1..].to_owned() } else { word }
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
        let hint = short_hint(word, &flags.collect::<Vec<_>>());
        return Err(format!("Unknown option: {word}{hint}"));
    };
    // The next argument is the value of an extension's option, unless it is an option or a file.
    let follows = attached.is_none();
    let value = attached.or_else(|| rest.next_if(|next| !next.starts_with(['-', '@'])));
    let place = (follows && value.is_some()).then_some(arguments.messages.len());
    arguments.unknown.push(UnknownOption { name: unknown.to_owned(), value, place });
    Ok(())
}

/// Splits `--option=value` at the equals sign.
fn split(word: &str) -> (&str, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
        _ => (word, None),
    }
}

/// Takes the value of an option from the arguments that follow.
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
            // Three dashes do not begin an option: a message may be front matter or a diff.
            let is_value = |next: &String| !next.starts_with(['-', '@']) || next.starts_with("---");
            return Ok(attached.or_else(|| rest.next_if(is_value)));
        }
    };
    match (found, flag.choices) {
        (Some(value), _) => Ok(Some(value)),
        (None, []) => Err(format!("--{} requires a value", flag.long)),
        (None, choices) => Err(format!("--{} requires a value: {}", flag.long, either(choices))),
    }
}

/// Returns the suggestion for an unknown short option; may be empty.
fn short_hint(word: &str, flags: &[Flag]) -> String {
    let named = |name: &str| flags.iter().find(|flag| flag.is_named(name));
    let letters = word.trim_start_matches('-');
    let is_bundle = letters.len() > 1 && letters.chars().all(|c| named(&format!("-{c}")).is_some());
    if letters.is_empty() {
        "; piped input is read automatically".to_owned()
    } else if letters.contains(char::is_whitespace) {
        "; put -- before a message that begins with a dash".to_owned()
    } else if let Some((name, value)) =
        word.split_once('=').filter(|(name, _)| named(name).is_some())
    {
        format!("; did you mean {name} {value}?")
    } else if let Some(flag) = named(&format!("--{letters}")) {
        format!("; did you mean --{}?", flag.long)
    } else if is_bundle {
        let apart: Vec<String> = letters.chars().map(|c| format!("-{c}")).collect();
        format!("; did you mean {}?", apart.join(" "))
    } else if let Some(flag) = named(&word.to_ascii_lowercase()) {
        format!("; did you mean -{}?", flag.short.unwrap_or_default())
    } else {
        String::new()
    }
}

fn find_command(commands: &'static [Command], name: &str) -> Option<&'static Command> {
    commands.iter().find(|command| command.name == name)
}

/// Parses a command and its arguments.
fn parse_command(command: &'static Command, words: Vec<String>) -> Result<Request, Invalid> {
    let mut command = command;
    let mut args = CommandArgs { path: vec![command.name], ..CommandArgs::default() };
    let mut errors = Vec::new();
    let mut help = false;
    let mut options_ended = false;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if !options_ended && matches!(word.as_str(), "--help" | "-h") {
            help = true;
            continue;
        }
        // An option in place of a subcommand belongs to the default one.
        if word.starts_with('-') && command.flags.is_empty() {
            command = default_command(command, &mut args.path);
        }
        if !options_ended && word == "--" {
            options_ended = true;
        } else if !options_ended && word.starts_with('-') && word != "-" {
            let (name, attached) = split(&word);
            match command.flags.iter().find(|flag| flag.is_named(name)) {
                Some(flag) => match value(flag, attached, &mut words) {
                    Ok(Some(value)) if !is_choice(flag.choices, &value) => {
                        errors.push(invalid_choice(flag, &value));
                    }
                    Ok(value) => args.flags.push((flag.long, value)),
                    Err(error) => errors.push(error),
                },
                None => errors.push(unknown_option_of(command, &args.path, &word, name)),
            }
        } else if !command.commands.is_empty() {
            match find_command(command.commands, &word) {
                Some(found) => {
                    command = found;
                    args.path.push(found.name);
                }
                None => {
                    let errors = vec![unknown_command(command, &word)];
                    return Err(Invalid { errors, path: args.path });
                }
            }
        } else {
            args.words.push(word);
        }
    }
    if help {
        return Ok(Request::Help(args.path));
    }
    if errors.is_empty() && args.words.is_empty() {
        command = default_command(command, &mut args.path);
    }
    // The subcommand is missing.
    if !command.commands.is_empty() && errors.is_empty() {
        return Ok(Request::Help(args.path));
    }
    errors.extend(wrong_words(command, &args.path.join(" "), &args.words));
    if !errors.is_empty() {
        return Err(Invalid { errors, path: args.path });
    }
    if command.name == "help" {
        if args.has("all") && args.words.is_empty() {
            return Ok(Request::FullHelp);
        }
        return help_topic(&args.words);
    }
    Ok(Request::Command(args))
}

/// Returns the default subcommand of a command, or the command itself if it has none.
fn default_command(command: &'static Command, path: &mut Vec<&'static str>) -> &'static Command {
    let default = command.default.and_then(|name| find_command(command.commands, name));
    let Some(default) = default else { return command };
    path.push(default.name);
    default
}

/// Returns the error for a value that is not one of the choices of an option.
pub(crate) fn invalid_choice(flag: &Flag, value: &str) -> String {
    format!("--{}: {}", flag.long, invalid_value(value, flag.choices))
}

fn invalid_value(value: &str, choices: &[&str]) -> String {
    format!("invalid value \"{value}\": expected {}", either(choices))
}

fn is_choice(choices: &[&str], value: &str) -> bool {
    choices.is_empty() || choices.contains(&value)
}

/// Joins choices as in "a, b or c".
fn either(choices: &[&str]) -> String {
    match choices {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// Returns the error if the positional arguments do not fit the command.
fn wrong_words(command: &Command, path: &str, words: &[String]) -> Option<String> {
    let usage = || format!("usage: pi {path}{}", command.usage());
    let spec = &command.words;
    if words.len() < spec.at_least {
        return Some(format!("missing argument of `pi {path}`; {}", usage()));
    }
    if let Some(extra) = words.get(spec.at_most) {
        return Some(format!("unexpected argument \"{extra}\" of `pi {path}`; {}", usage()));
    }
    let wrong = words.iter().find(|word| !is_choice(spec.choices, word))?;
    Some(invalid_value(wrong, spec.choices))
}

fn unknown_option_of(command: &Command, path: &[&str], word: &str, name: &str) -> String {
    let path = path.join(" ");
    if !name.starts_with("--") {
        let hint = short_hint(word, command.flags);
        return format!("Unknown option of `pi {path}`: {word}{hint}");
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
        None => format!("expected {}", either(&known.collect::<Vec<_>>())),
    };
    format!("unknown command `pi {} {word}`; {hint}", command.name)
}

/// Resolves the arguments of `pi help`.
fn help_topic(words: &[String]) -> Result<Request, Invalid> {
    // Some pages have the name of a command.
    if let [word] = words
        && let Some(name) = word.strip_prefix(topics::PREFIX)
    {
        return topics::find(name).map(Request::Topic).ok_or_else(|| {
            let near = suggest::nearest(name, TOPICS.iter().map(|topic| topic.name));
            let hint = near.map_or_else(
                || "see `pi help --all`".to_owned(),
                |near| format!("did you mean {}{near}?", topics::PREFIX),
            );
            let errors = vec![format!("unknown topic \"{name}\"; {hint}")];
            Invalid { errors, path: Vec::new() }
        });
    }
    let mut commands = COMMANDS;
    let mut path = Vec::new();
    for word in words {
        let Some(command) = find_command(commands, word) else {
            if path.is_empty()
                && let Some(topic) = topics::find(word)
            {
                return Ok(Request::Topic(topic));
            }
            let names = commands.iter().map(|command| command.name);
            let topics = TOPICS.iter().filter(|_| path.is_empty()).map(|topic| topic.name);
            let near = suggest::nearest(word, names.chain(topics));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            let errors = vec![format!("unknown command or topic \"{word}\"{near}")];
            return Err(Invalid { errors, path });
        };
        path.push(command.name);
        commands = command.commands;
    }
    Ok(Request::Help(path))
}
