//! Rule files: TOML with examples that are checked when the file is loaded.
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

use pi_base::text::without_mark;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::paths::{PathAccess, PathRule};
use super::rule::{CommandRule, Match, Program};
use super::{ArgumentPattern, ExecutableRule, HostRule, ToolRule, UnknownEffects, validate};
use crate::Decision;
use crate::shell::{self, Command};
use crate::word::Word;

/// The origin of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layer {
    /// Rules of the machine.
    System,
    /// Rules of the user.
    User,
    /// Rules of a trusted project.
    Project,
    /// Rules of one run.
    Run,
    /// Rules of the administrator, which no other layer overrides.
    Administrator,
}

/// The rules of one or several files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleFile {
    /// Rules on commands.
    pub commands: Vec<CommandRule>,
    /// Rules on files.
    pub paths: Vec<PathRule>,
    /// Rules on hosts.
    pub hosts: Vec<HostRule>,
    /// Rules on tool calls.
    pub tools: Vec<ToolRule>,
    /// The paths that rules accept for bare names of programs.
    pub executables: Vec<ExecutableRule>,
    /// The decision about commands whose effects cannot be determined.
    pub unknown_effects: Option<UnknownEffects>,
    /// The number of examples, all of which hold.
    pub examples: usize,
}

/// An error in a rule file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{file}:{line}: {message}")]
pub struct PolicyError {
    /// The name of the file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The error and a hint.
    pub message: String,
}

/// An example of a rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Example {
    Line(String),
    Words(Vec<String>),
}

impl Example {
    fn text(&self) -> String {
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

/// The file that is read.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    layer: Layer,
}

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
    }

    fn error(&self, at: usize, message: impl Into<String>) -> PolicyError {
        PolicyError { file: self.file.to_owned(), line: self.line(at), message: message.into() }
    }

    fn origin(&self, at: usize) -> String {
        format!("{}:{}", self.file, self.line(at))
    }
}

impl RuleFile {
    /// Parses a rule file and checks its examples. Messages contain the name `file`.
    pub fn parse(file: &str, text: &str, layer: Layer) -> Result<Self, PolicyError> {
        // Some editors write a byte order mark.
        let text = without_mark(text);
        let source = Source { file, text, layer };
        let read: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, validate::with_hint(error.message()))
        })?;
        let mut rules = Self::default();
        if let Some(set) = read.unanalysable {
            if source.layer == Layer::Project && *set.get_ref() == UnknownEffects::AllowSandboxed {
                let message = "a project cannot allow commands with unknown effects; set this in \
                               your own rules";
                return Err(source.error(set.span().start, message));
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
            validate::paths(&paths).map_err(|message| source.error(at, message))?;
            rules.paths.push(PathRule { patterns: paths, access, decision, justification, origin });
        }
        for table in read.host {
            let at = table.span().start;
            let origin = source.origin(at);
            let HostTable { hosts, decision, justification } = table.into_inner();
            validate::hosts(&hosts).map_err(|message| source.error(at, message))?;
            rules.hosts.push(HostRule { hosts, decision, justification, origin });
        }
        for table in read.tool {
            let at = table.span().start;
            let origin = source.origin(at);
            let ToolTable { name, arguments, decision, justification } = table.into_inner();
            validate::tool(&name).map_err(|message| source.error(at, message))?;
            let patterns = arguments.into_iter();
            let arguments =
                patterns.map(|(name, pattern)| ArgumentPattern { name, pattern }).collect();
            rules.tools.push(ToolRule { name, arguments, decision, justification, origin });
        }
        for table in read.executable {
            let at = table.span().start;
            let ExecutableTable { name, paths } = table.into_inner();
            validate::executable(&name, &paths).map_err(|message| source.error(at, message))?;
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
    validate::prefix(&rule.prefix).map_err(|message| source.error(at, message))?;
    let examples: Vec<_> = table.matching.iter().chain(&table.not_match).collect();
    for (index, example) in examples.iter().enumerate() {
        let text = example.get_ref().text();
        if examples[..index].iter().any(|earlier| earlier.get_ref().text() == text) {
            let message = format!("the example `{text}` is listed twice; remove one");
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

fn check_example(
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
    let is_match = commands.iter().any(|command| {
        let Some(written) = command.program() else { return false };
        let program = Program { written, real: None };
        let is_outside = |text: &str| {
            text.starts_with(['/', '~']) || text.split('/').any(|component| component == "..")
        };
        rule.matches(command, &program, &|written, name| written == name, &is_outside) == Match::Yes
    });
    if is_match == expected {
        return Ok(());
    }
    let text = example.text();
    let message = if expected {
        format!("the rule does not match its example `{text}`; change the prefix or the example")
    } else {
        format!("the rule matches `{text}`, which is listed in `not_match`")
    };
    Err(source.error(at, message))
}
