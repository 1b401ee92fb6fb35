//! `pi --help` and `pi help COMMAND`: the tables as text for a terminal with 80 columns.

use pi_coding_agent::extension::{self, FlagKind};

use super::commands::COMMANDS;
use super::options::all;
use super::texts::{ABOUT, EXAMPLES, MORE, USAGE, VARIABLES, WORDS};
use super::{Command, Flag, Group};
use crate::exit::Exit;
use crate::topics::{self, GROUPS};

/// Column at which descriptions begin.
const COLUMN: usize = 30;

/// The commands that the short help names, with texts of one line in place of longer ones.
const MAIN_COMMANDS: &[(&str, &str)] = &[
    ("auth", "Sign in and out; store and check keys"),
    ("models", ""),
    ("sessions", "List, search, show and export sessions"),
    ("undo", ""),
    ("run", ""),
    ("mcp", ""),
    ("config", "List, print and change settings"),
    ("doctor", ""),
    ("demo", "Watch a scripted model repair a file; no key"),
];

/// The options that the short help names, with texts of one line in place of longer ones.
const MAIN_OPTIONS: &[(&str, &str)] = &[
    ("print", ""),
    ("continue", ""),
    ("resume", ""),
    ("model", "Model: an id, PROVIDER/ID, or part of a name"),
    ("thinking", "Thinking level, from off to max"),
    ("tools", "Tools to enable; +NAME, -NAME: add, remove"),
    ("profile", ""),
    ("mode", "Output format: text, json or rpc"),
    ("help", ""),
    ("version", ""),
];

/// Returns the help of `pi` itself, which fits on a screen.
pub(crate) fn general() -> String {
    with_extensions(&[])
}

/// Returns the short help with the flags of extensions.
pub(crate) fn with_extensions(flags: &[(extension::Flag, String)]) -> String {
    let mut text = format!("pi: {ABOUT}\n\nUsage: {}\n", USAGE.join("\n       "));
    text.push_str("\nCommands:\n");
    for (name, short) in MAIN_COMMANDS {
        let found = COMMANDS.iter().filter(|command| command.name == *name);
        found.for_each(|command| {
            item(&mut text, name, if short.is_empty() { command.help } else { short });
        });
    }
    text.push_str("\nOptions:\n");
    for (name, short) in MAIN_OPTIONS {
        for found in all().filter(|option| option.flag.long == *name) {
            let mut found = found.flag;
            if !short.is_empty() {
                (found.help, found.choices) = (short, &[]);
            }
            flag(&mut text, &found);
        }
    }
    of_extensions(&mut text, flags);
    text.push_str("\nMore:\n");
    for (command, what) in MORE {
        item(&mut text, command, what);
    }
    text
}

/// Returns everything about `pi` itself.
pub(crate) fn full() -> String {
    let mut text = format!("pi: {ABOUT}\n\nUsage: {}\n", USAGE.join("\n       "));
    text.push_str(&format!("\n{}", wrap(WORDS, 0)));
    text.push_str("\nCommands:\n");
    for command in COMMANDS {
        item(&mut text, command.name, command.help);
    }
    text.push_str("\n`pi help COMMAND` describes a command; `pi man` is the complete manual.\n");
    text.push_str("\nTopics (`pi help TOPIC`):\n");
    for (title, names) in GROUPS {
        text.push_str(&format!("\n  {title}\n"));
        for topic in names.iter().filter_map(|name| topics::find(name)) {
            item(&mut text, &topic.word(), topic.about);
        }
    }
    for group in Group::ALL {
        text.push_str(&format!("\n{}:\n", group.title()));
        let options = all().filter(|option| option.flag.group == *group);
        options.for_each(|option| flag(&mut text, &option.flag));
    }
    text.push_str("\nExamples:\n");
    for (command, what) in EXAMPLES {
        text.push_str(&format!("  {command}\n      {what}\n"));
    }
    text.push_str("\nEnvironment:\n");
    VARIABLES.iter().for_each(|(name, what)| item(&mut text, name, what));
    text.push_str("\nExit codes:\n");
    for exit in Exit::EXITS {
        item(&mut text, &exit.exit_code().to_string(), exit.row().sentence);
    }
    text
}

/// Adds the flags of extensions.
fn of_extensions(text: &mut String, flags: &[(extension::Flag, String)]) {
    if !flags.is_empty() {
        text.push_str("\nOptions of extensions:\n");
    }
    for (flag, path) in flags {
        let value = if flag.kind == FlagKind::String { " VALUE" } else { "" };
        let about = flag.description.clone().unwrap_or_else(|| format!("Registered by {path}"));
        item(text, &format!("    --{}{value}", flag.name), &about);
    }
}

/// Returns the help of a command, given its path.
pub(crate) fn of(path: &[&str]) -> String {
    let Some(command) = find(path) else { return general() };
    let path = path.join(" ");
    let mut text = format!("{}\n\nUsage: pi {path}{}\n", command.help, command.usage());
    if !command.details.is_empty() {
        text.push('\n');
        command.details.lines().for_each(|line| text.push_str(&wrap(line, 0)));
    }
    if !command.commands.is_empty() {
        text.push_str("\nCommands:\n");
        for inner in command.commands {
            item(&mut text, &format!("{}{}", inner.name, inner.usage()), inner.help);
        }
        text.push_str(&format!("\n`pi help {path} COMMAND` describes a command.\n"));
    }
    if !command.words.choices.is_empty() {
        text.push_str(&format!(
            "\n{} is one of {}.\n",
            command.words.usage,
            command.words.choices.join(", ")
        ));
    }
    for (title, flags) in sections(command.flags) {
        text.push_str(&format!("\n{title}:\n"));
        flags.iter().for_each(|one| flag(&mut text, one));
    }
    if !command.examples.is_empty() {
        text.push_str("\nExamples:\n");
        command.examples.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if let Some(topic) = topics::find(&path)
        && topic.name == path
    {
        text.push_str(&format!("\nThe guide: pi help {}\n", topic.word()));
    }
    text
}

/// Divides the options of a command: a long list by group, in the order in which groups appear.
fn sections(flags: &'static [Flag]) -> Vec<(&'static str, Vec<&'static Flag>)> {
    let mut groups: Vec<Group> = Vec::new();
    for flag in flags {
        if !groups.contains(&flag.group) {
            groups.push(flag.group);
        }
    }
    if groups.len() <= 3 {
        return if flags.is_empty() {
            Vec::new()
        } else {
            vec![("Options", flags.iter().collect())]
        };
    }
    let members = |group: &Group| flags.iter().filter(|flag| flag.group == *group).collect();
    groups.iter().map(|group| (group.title(), members(group))).collect()
}

fn find(path: &[&str]) -> Option<&'static Command> {
    let mut commands = COMMANDS;
    let mut found = None;
    for name in path {
        let command = commands.iter().find(|command| command.name == *name)?;
        commands = command.commands;
        found = Some(command);
    }
    found
}

fn flag(text: &mut String, flag: &Flag) {
    // Aligns long options, whether or not they have a short name.
    let usage = if flag.short.is_some() { flag.usage() } else { format!("    {}", flag.usage()) };
    let mut help = flag.help.to_owned();
    if let Some(choices) = flag.unnamed_choices() {
        help.push_str(&format!(": {choices}"));
    }
    if flag.repeats {
        help.push_str(" (repeatable)");
    }
    item(text, &usage, &help);
}

/// Adds a name and its description, which begins on the next line if the name is long.
fn item(text: &mut String, name: &str, about: &str) {
    let name = format!("  {name}");
    let about = wrap(about, COLUMN);
    if name.chars().count() + 2 <= COLUMN {
        text.push_str(&format!("{name:COLUMN$}{}", about.trim_start()));
    } else {
        text.push_str(&format!("{name}\n{about}"));
    }
}

/// Wraps a text into indented lines.
fn wrap(text: &str, indent: usize) -> String {
    let mut wrapped = String::new();
    topics::wrap(&mut wrapped, text, &" ".repeat(indent), indent);
    wrapped
}
