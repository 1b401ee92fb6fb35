//! The command line as data.
//!
//! One table of options ([`options::all`]) and one of commands ([`commands::COMMANDS`]). The
//! parser, `--help`, the man page, the shell completions and `docs/cli.md` are all made from these
//! two, so none of them can know something that the others do not.

pub(crate) mod commands;
pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod man;
pub(crate) mod markdown;
pub(crate) mod options;
pub(crate) mod parse;
pub(crate) mod safety;
pub(crate) mod suggest;
#[cfg(test)]
mod tests;
mod texts;

/// One option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    /// Without its dashes.
    pub(crate) long: &'static str,
    /// Without its dash. Some have two or three letters, so short options cannot be bundled.
    pub(crate) short: Option<&'static str>,
    pub(crate) value: Value,
    /// The only values there are; empty for any.
    pub(crate) choices: &'static [&'static str],
    pub(crate) completes: Completes,
    /// May be given several times.
    pub(crate) repeats: bool,
    pub(crate) group: Group,
    /// One line, without a full stop.
    pub(crate) help: &'static str,
    /// More sentences, for the man page; may be empty.
    pub(crate) details: &'static str,
    /// Not there yet; says what to do instead.
    pub(crate) later: Option<&'static str>,
}

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing.
    None,
    /// The next argument, whatever it looks like.
    Required(&'static str),
    /// The next argument, which must not look like an option.
    Word(&'static str),
    /// The next argument, unless it looks like an option or a file.
    Optional(&'static str),
}

/// What a shell offers for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completes {
    Nothing,
    Files,
    Directories,
}

/// Where an option is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Output,
    Model,
    Prompt,
    Session,
    Tools,
    Safety,
    Resources,
    Screen,
    General,
}

impl Group {
    /// In the order of the help.
    pub(crate) const ALL: &[Self] = &[
        Self::Output,
        Self::Model,
        Self::Prompt,
        Self::Session,
        Self::Tools,
        Self::Safety,
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
            Self::Safety => "What the agent may do",
            Self::Resources => "Extensions, skills and project files",
            Self::Screen => "Only with a screen",
            Self::General => "General",
        }
    }
}

impl Flag {
    /// An option that takes no value. The other parts are added by the methods below, so that a
    /// table says only what is special about an option.
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
            later: None,
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

    pub(crate) const fn directories(self) -> Self {
        Self { completes: Completes::Directories, ..self }
    }

    pub(crate) const fn repeats(self) -> Self {
        Self { repeats: true, ..self }
    }

    pub(crate) const fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    pub(crate) const fn later(self, instead: &'static str) -> Self {
        Self { later: Some(instead), ..self }
    }

    /// As it is written in front of its help: `-p, --print [MESSAGE]`.
    pub(crate) fn usage(&self) -> String {
        let short = self.short.map(|short| format!("-{short}, ")).unwrap_or_default();
        let value = match self.value {
            Value::None => String::new(),
            Value::Required(name) | Value::Word(name) => format!(" {name}"),
            Value::Optional(name) => format!(" [{name}]"),
        };
        format!("{short}--{}{value}", self.long)
    }

    /// All that is said about it in one paragraph.
    pub(crate) fn description(&self) -> String {
        let mut text = format!("{}.", self.help);
        for more in [self.details, self.later.unwrap_or_default()] {
            if !more.is_empty() {
                text.push(' ');
                text.push_str(more);
            }
        }
        if self.repeats {
            text.push_str(" May be given several times.");
        }
        text
    }

    fn is_named(&self, dashed: &str) -> bool {
        match dashed.strip_prefix("--") {
            Some(long) => long == self.long,
            None => dashed.strip_prefix('-').is_some_and(|short| self.short == Some(short)),
        }
    }
}

/// A command: the first word of the command line, or the second one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// One line, without a full stop.
    pub(crate) help: &'static str,
    /// More paragraphs; may be empty.
    pub(crate) details: &'static str,
    pub(crate) words: Words,
    pub(crate) flags: &'static [Flag],
    pub(crate) commands: &'static [Command],
    /// Not there yet; says what to do instead.
    pub(crate) later: Option<&'static str>,
}

/// What a command takes besides options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    /// As it is written: `SESSION [FILE]`.
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
            words: Words {
                usage: "",
                at_least: 0,
                at_most: 0,
                choices: &[],
                completes: Completes::Nothing,
            },
            flags: &[],
            commands: &[],
            later: None,
        }
    }

    pub(crate) const fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    pub(crate) const fn words(self, usage: &'static str, at_least: usize, at_most: usize) -> Self {
        Self { words: Words { usage, at_least, at_most, ..self.words }, ..self }
    }

    pub(crate) const fn choices(self, choices: &'static [&'static str]) -> Self {
        Self { words: Words { choices, ..self.words }, ..self }
    }

    pub(crate) const fn files(self) -> Self {
        Self { words: Words { completes: Completes::Files, ..self.words }, ..self }
    }

    pub(crate) const fn flags(self, flags: &'static [Flag]) -> Self {
        Self { flags, ..self }
    }

    pub(crate) const fn commands(self, commands: &'static [Command]) -> Self {
        Self { commands, ..self }
    }

    pub(crate) const fn later(self, instead: &'static str) -> Self {
        Self { later: Some(instead), ..self }
    }

    /// The words after its name.
    pub(crate) fn usage(&self) -> String {
        let mut usage = String::new();
        if !self.commands.is_empty() {
            usage.push_str(" COMMAND");
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
