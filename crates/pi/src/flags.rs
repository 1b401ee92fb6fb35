//! The command line as data.
//!
//! There is one table of options ([`options::all`]) and one of commands ([`commands::COMMANDS`]).
//! The parser, `--help`, the man page, the shell completions and `docs/cli.md` are generated from
//! these two, so they cannot disagree.

pub(crate) mod acp;
mod auth;
pub(crate) mod commands;
pub(crate) mod completions;
pub(crate) mod help;
mod hooks;
mod limits;
pub(crate) mod man;
pub(crate) mod markdown;
mod mcp;
mod mcp_serve;
pub(crate) mod options;
mod output;
mod packages;
pub(crate) mod parse;
mod replay;
pub(crate) mod run;
pub(crate) mod safety;
mod serve;
#[cfg(test)]
mod tests;
mod texts;

pub(crate) use pi_config::suggest;

/// A command-line option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    /// Long name, without the dashes.
    pub(crate) long: &'static str,
    /// Short name, without the dash. Some have two or three letters, so short options cannot be
    /// bundled.
    pub(crate) short: Option<&'static str>,
    pub(crate) value: Value,
    /// Allowed values; empty if any value is allowed.
    pub(crate) choices: &'static [&'static str],
    pub(crate) completes: Completes,
    /// The option may be given several times.
    pub(crate) repeats: bool,
    pub(crate) group: Group,
    /// Help text: one line, without a full stop.
    pub(crate) help: &'static str,
    /// Further sentences for the man page; may be empty.
    pub(crate) details: &'static str,
}

/// The value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    /// The next argument, even if it looks like an option.
    Required(&'static str),
    /// The next argument, which must not look like an option.
    Word(&'static str),
    /// The next argument, unless it looks like an option or a file.
    Optional(&'static str),
}

/// Completions that a shell offers for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completes {
    Nothing,
    Files,
    Directories,
    /// Ids of sessions, or files.
    Sessions,
    Models,
    Providers,
    /// Names of tools, separated by commas.
    Tools,
    /// Keys of `settings.json`.
    Settings,
}

impl Completes {
    /// Returns the name of a kind that `pi __complete` lists.
    pub(crate) fn dynamic(self) -> Option<&'static str> {
        match self {
            Self::Nothing | Self::Files | Self::Directories => None,
            Self::Sessions => Some("sessions"),
            Self::Models => Some("models"),
            Self::Providers => Some("providers"),
            Self::Tools => Some("tools"),
            Self::Settings => Some("settings"),
        }
    }
}

/// Section of the help in which an option is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Output,
    Model,
    Prompt,
    Session,
    Tools,
    Safety,
    Limits,
    Resources,
    Screen,
    General,
    // The groups of `pi run`.
    Task,
    Checks,
    Attempts,
    Reports,
    Earlier,
}

impl Group {
    /// All groups of the options of `pi` itself, in the order of the help.
    pub(crate) const ALL: &[Self] = &[
        Self::Output,
        Self::Model,
        Self::Prompt,
        Self::Session,
        Self::Tools,
        Self::Safety,
        Self::Limits,
        Self::Resources,
        Self::Screen,
        Self::General,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Output => "Running and output",
            Self::Model => "Model",
            Self::Prompt => "System prompt",
            Self::Session => "Sessions",
            Self::Tools => "Tools",
            Self::Safety => "Safety",
            Self::Limits => "Limits of a run (exit code 4)",
            Self::Resources => "Extensions, skills and project files",
            Self::Screen => "Terminal UI",
            Self::General => "General",
            Self::Task => "Task",
            Self::Checks => "Checks",
            Self::Attempts => "Workspace and attempts",
            Self::Reports => "Result and reports",
            Self::Earlier => "Earlier runs",
        }
    }
}

impl Flag {
    /// Creates an option without a value. The methods below set everything else, so that a table
    /// states only what is special about an option.
    pub(crate) const fn new(long: &'static str, group: Group, help: &'static str) -> Self {
        Self {
            long,
            short: None,
            value: Value::None,
            choices: &[],
            completes: Completes::Nothing,
            repeats: false,
            group,
            help,
            details: "",
        }
    }

    pub(crate) const fn short(self, short: &'static str) -> Self {
        Self { short: Some(short), ..self }
    }

    pub(crate) const fn takes(self, name: &'static str) -> Self {
        Self { value: Value::Required(name), ..self }
    }

    pub(crate) const fn takes_word(self, name: &'static str) -> Self {
        Self { value: Value::Word(name), ..self }
    }

    pub(crate) const fn may_take(self, name: &'static str) -> Self {
        Self { value: Value::Optional(name), ..self }
    }

    pub(crate) const fn choices(self, choices: &'static [&'static str]) -> Self {
        Self { choices, ..self }
    }

    pub(crate) const fn files(self) -> Self {
        Self { completes: Completes::Files, ..self }
    }

    pub(crate) const fn completes(self, completes: Completes) -> Self {
        Self { completes, ..self }
    }

    pub(crate) const fn directories(self) -> Self {
        Self { completes: Completes::Directories, ..self }
    }

    pub(crate) const fn repeats(self) -> Self {
        Self { repeats: true, ..self }
    }

    pub(crate) const fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    /// Returns the names and the value as the help shows them: `-p, --print [MESSAGE]`.
    pub(crate) fn usage(&self) -> String {
        let short = self.short.map(|short| format!("-{short}, ")).unwrap_or_default();
        let value = match self.value {
            Value::None => String::new(),
            Value::Required(name) | Value::Word(name) => format!(" {name}"),
            Value::Optional(name) => format!(" [{name}]"),
        };
        format!("{short}--{}{value}", self.long)
    }

    /// Returns the full description as one paragraph.
    pub(crate) fn description(&self) -> String {
        let mut text = format!("{}.", self.help);
        if !self.details.is_empty() {
            text.push_str(&format!(" {}", self.details));
        }
        if let Some(choices) = self.unnamed_choices() {
            text.push_str(&format!(" One of {choices}."));
        }
        if self.repeats {
            text.push_str(" May be given several times.");
        }
        text
    }

    /// Returns the choices as text, unless there are none or the help text names them already.
    pub(crate) fn unnamed_choices(&self) -> Option<String> {
        let named = self.choices.iter().all(|choice| self.help.contains(choice));
        (!named).then(|| self.choices.join(", "))
    }

    fn is_named(&self, dashed: &str) -> bool {
        match dashed.strip_prefix("--") {
            Some(long) => long == self.long,
            None => dashed.strip_prefix('-').is_some_and(|short| self.short == Some(short)),
        }
    }
}

/// A command or subcommand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Help text: one line, without a full stop.
    pub(crate) help: &'static str,
    /// Further paragraphs; may be empty.
    pub(crate) details: &'static str,
    /// Example command lines.
    pub(crate) examples: &'static [&'static str],
    pub(crate) words: Words,
    pub(crate) flags: &'static [Flag],
    pub(crate) commands: &'static [Command],
    /// Subcommand that runs if none is given; without one, the help is shown.
    pub(crate) default: Option<&'static str>,
}

/// Positional arguments of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    /// Usage text, such as `SESSION [FILE]`.
    pub(crate) usage: &'static str,
    pub(crate) at_least: usize,
    pub(crate) at_most: usize,
    pub(crate) choices: &'static [&'static str],
    pub(crate) completes: Completes,
}

impl Command {
    pub(crate) const fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            details: "",
            examples: &[],
            words: Words {
                usage: "",
                at_least: 0,
                at_most: 0,
                choices: &[],
                completes: Completes::Nothing,
            },
            flags: &[],
            commands: &[],
            default: None,
        }
    }

    pub(crate) const fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    pub(crate) const fn examples(self, examples: &'static [&'static str]) -> Self {
        Self { examples, ..self }
    }

    pub(crate) const fn words(self, usage: &'static str, at_least: usize, at_most: usize) -> Self {
        Self { words: Words { usage, at_least, at_most, ..self.words }, ..self }
    }

    pub(crate) const fn choices(self, choices: &'static [&'static str]) -> Self {
        Self { words: Words { choices, ..self.words }, ..self }
    }

    pub(crate) const fn files(self) -> Self {
        self.completes(Completes::Files)
    }

    pub(crate) const fn completes(self, completes: Completes) -> Self {
        Self { words: Words { completes, ..self.words }, ..self }
    }

    pub(crate) const fn flags(self, flags: &'static [Flag]) -> Self {
        Self { flags, ..self }
    }

    pub(crate) const fn commands(self, commands: &'static [Command]) -> Self {
        Self { commands, ..self }
    }

    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Returns the usage text after the command's name.
    pub(crate) fn usage(&self) -> String {
        let mut usage = String::new();
        if !self.commands.is_empty() {
            usage.push_str(if self.default.is_some() { " [COMMAND]" } else { " COMMAND" });
        }
        if !self.flags.is_empty() {
            usage.push_str(" [OPTIONS]");
        }
        if !self.words.usage.is_empty() {
            usage.push(' ');
            usage.push_str(self.words.usage);
        }
        usage
    }
}
