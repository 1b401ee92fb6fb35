//! Rule files: TOML, with examples that are checked when the file is loaded.
//!
//! ```toml
//! [[command]]
//! prefix = ["git", ["push", "fetch"]]
//! decision = "forbid"
//! justification = "Nothing leaves this machine."
//! match = ["git push origin main"]
//! not_match = ["git status"]
//!
//! [[path]]
//! paths = ["~/.ssh", "**/.env"]
//! access = "any"            # read, write, any
//! decision = "forbid"
//!
//! [[host]]
//! hosts = ["*.example.com"]
//! decision = "allow"
//!
//! [[tool]]
//! name = "mcp__*"
//! arguments = { path = "secrets/*" }
//! decision = "ask"
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::paths::{PathAccess, PathRule};
use super::rule::{CommandRule, Fit, Program};
use super::{ArgumentPattern, ExecutableRule, HostRule, ToolRule, UnknownEffects, sense};
use crate::Decision;
use crate::shell::{self, Command, Word};

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The machine's.
    System,
    /// The user's.
    User,
    /// The project's, if it is trusted.
    Project,
    /// This run's.
    Run,
    /// The administrator's, which nobody can take away.
    Administrator,
}

/// The rules of one file, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// On commands.
    pub commands: Vec<CommandRule>,
    /// On files.
    pub paths: Vec<PathRule>,
    /// On hosts.
    pub hosts: Vec<HostRule>,
    /// On tools.
    pub tools: Vec<ToolRule>,
    /// Which paths may stand for the bare name of a program.
    pub executables: Vec<ExecutableRule>,
    /// What happens to what cannot be analysed.
    pub unknown_effects: Option<UnknownEffects>,
    /// How many examples it brought, which were all checked.
    pub examples: usize,
}

/// Why a rule file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PolicyError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// An example: a line of shell, or words.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Example {
    Line(String),
    Words(Vec<String>),
}

impl Example {
    fn shown(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => words.join(" "),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unanalysable: Option<Spanned<UnknownEffects>>,
    #[serde(default)]
    command: Vec<Spanned<CommandTable>>,
    #[serde(default)]
    path: Vec<Spanned<PathTable>>,
    #[serde(default)]
    host: Vec<Spanned<HostTable>>,
    #[serde(default)]
    tool: Vec<Spanned<ToolTable>>,
    #[serde(default)]
    executable: Vec<Spanned<ExecutableTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTable {
    prefix: Vec<Token>,
    decision: Decision,
    justification: Option<String>,
    #[serde(default, rename = "match")]
    matching: Vec<Spanned<Example>>,
    #[serde(default)]
    not_match: Vec<Spanned<Example>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Token {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathTable {
    paths: Vec<String>,
    access: PathAccess,
    decision: Decision,
    justification: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    hosts: Vec<String>,
    decision: Decision,
    justification: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    name: String,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
    decision: Decision,
    justification: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecutableTable {
    name: String,
    paths: Vec<String>,
}

/// Where errors and rules are.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) layer: Layer,
}

impl Source<'_> {
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> PolicyError {
        PolicyError { file: self.file.to_owned(), line: self.line(at), message: message.into() }
    }

    pub(super) fn origin(&self, at: usize) -> String {
        format!("{}:{}", self.file, self.line(at))
    }
}

impl RuleFile {
    /// Reads a rule file and checks its examples. `file` is its name, for messages.
    pub fn parse(file: &str, text: &str, layer: Layer) -> Result<Self, PolicyError> {
        // Some editors begin a file with a mark that is not part of the text.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let source = Source { file, text, layer };
        let read: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, sense::advice(error.message()))
        })?;
        let mut rules = Self::default();
        if let Some(set) = read.unanalysable {
            if source.layer == Layer::Project && *set.get_ref() == UnknownEffects::AllowSandboxed {
                let advice =
                    "a project may not allow what cannot be analysed; say it in your own rules";
                return Err(source.error(set.span().start, advice));
            }
            rules.unknown_effects = Some(set.into_inner());
        }
        for table in read.command {
            let given = table.get_ref();
            rules.examples += given.matching.len() + given.not_match.len();
            rules.commands.push(command(table, &source)?);
        }
        for table in read.path {
            let at = table.span().start;
            let origin = source.origin(at);
            let PathTable { paths, access, decision, justification } = table.into_inner();
            sense::paths(&paths).map_err(|message| source.error(at, message))?;
            rules.paths.push(PathRule { patterns: paths, access, decision, justification, origin });
        }
        for table in read.host {
            let at = table.span().start;
            let origin = source.origin(at);
            let HostTable { hosts, decision, justification } = table.into_inner();
            sense::hosts(&hosts).map_err(|message| source.error(at, message))?;
            rules.hosts.push(HostRule { hosts, decision, justification, origin });
        }
        for table in read.tool {
            let at = table.span().start;
            let origin = source.origin(at);
            let ToolTable { name, arguments, decision, justification } = table.into_inner();
            sense::tool(&name).map_err(|message| source.error(at, message))?;
            let patterns = arguments.into_iter();
            let arguments =
                patterns.map(|(name, pattern)| ArgumentPattern { name, pattern }).collect();
            rules.tools.push(ToolRule { name, arguments, decision, justification, origin });
        }
        for table in read.executable {
            let at = table.span().start;
            let ExecutableTable { name, paths } = table.into_inner();
            sense::executable(&name, &paths).map_err(|message| source.error(at, message))?;
            rules.executables.push(ExecutableRule { name, paths });
        }
        Ok(rules)
    }
}

fn command(table: Spanned<CommandTable>, source: &Source<'_>) -> Result<CommandRule, PolicyError> {
    let at = table.span().start;
    let table = table.into_inner();
    let prefix = table.prefix.into_iter().map(|token| match token {
        Token::One(word) => vec![word],
        Token::Several(words) => words,
    });
    let rule = CommandRule {
        prefix: prefix.collect(),
        decision: table.decision,
        justification: table.justification,
        origin: source.origin(at),
    };
    check_prefix(&rule, at, source)?;
    let examples: Vec<_> = table.matching.iter().chain(&table.not_match).collect();
    for (index, example) in examples.iter().enumerate() {
        let shown = example.get_ref().shown();
        if examples[..index].iter().any(|earlier| earlier.get_ref().shown() == shown) {
            let message = format!("the example `{shown}` is there twice; take one of them out");
            return Err(source.error(example.span().start, message));
        }
    }
    for example in &table.matching {
        check_example(&rule, example.get_ref(), true, example.span().start, source)?;
    }
    for example in &table.not_match {
        check_example(&rule, example.get_ref(), false, example.span().start, source)?;
    }
    Ok(rule)
}

pub(super) fn check_prefix(
    rule: &CommandRule,
    at: usize,
    source: &Source<'_>,
) -> Result<(), PolicyError> {
    sense::prefix(&rule.prefix).map_err(|message| source.error(at, message))
}

pub(super) fn check_example(
    rule: &CommandRule,
    example: &Example,
    expected: bool,
    at: usize,
    source: &Source<'_>,
) -> Result<(), PolicyError> {
    let commands = match example {
        Example::Line(line) => shell::analyze(line).commands,
        Example::Words(words) => {
            let words = words.iter().map(Word::plain).collect();
            vec![Command { words, ..Command::default() }]
        }
    };
    let fits = commands.iter().any(|command| {
        let Some(written) = command.program() else { return false };
        let program = Program { written, real: None };
        rule.fit(command, &program, &|written, name| written == name) == Fit::Yes
    });
    if fits == expected {
        return Ok(());
    }
    let shown = example.shown();
    let message = if expected {
        format!("the rule does not match its example `{shown}`; change the prefix or the example")
    } else {
        format!("the rule matches `{shown}`, which `not_match` says it must not")
    };
    Err(source.error(at, message))
}
