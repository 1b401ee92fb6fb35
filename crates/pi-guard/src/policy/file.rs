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

use super::paths::{PathRule, Reach};
use super::rule::{CommandRule, Fit, Program};
use super::{HostRule, ToolRule, Unanalysable, codex};
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
    pub executables: Vec<(String, Vec<String>)>,
    /// What happens to what cannot be analysed.
    pub unanalysable: Option<Unanalysable>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unanalysable: Option<Spanned<Unanalysable>>,
    #[serde(default)]
    command: Vec<Spanned<CommandTable>>,
    #[serde(default)]
    path: Vec<Spanned<PathTable>>,
    #[serde(default)]
    host: Vec<Spanned<HostTable>>,
    #[serde(default)]
    tool: Vec<Spanned<ToolTable>>,
    #[serde(default)]
    executable: Vec<ExecutableTable>,
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
    access: Reach,
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
        let source = Source { file, text, layer };
        let read: File = toml::from_str(text).map_err(|error| {
            source.error(error.span().map_or(0, |span| span.start), error.message())
        })?;
        let mut rules = Self::default();
        if let Some(set) = read.unanalysable {
            if source.layer == Layer::Project && *set.get_ref() == Unanalysable::AllowConfined {
                let advice =
                    "a project may not allow what cannot be analysed; say it in your own rules";
                return Err(source.error(set.span().start, advice));
            }
            rules.unanalysable = Some(set.into_inner());
        }
        for table in read.command {
            let given = table.get_ref();
            rules.examples += given.matching.len() + given.not_match.len();
            rules.commands.push(command(table, &source)?);
        }
        for table in read.path {
            let origin = source.origin(table.span().start);
            let PathTable { paths, access, decision, justification } = table.into_inner();
            rules.paths.push(PathRule {
                patterns: paths,
                reach: access,
                decision,
                justification,
                origin,
            });
        }
        for table in read.host {
            let origin = source.origin(table.span().start);
            let HostTable { hosts, decision, justification } = table.into_inner();
            rules.hosts.push(HostRule { hosts, decision, justification, origin });
        }
        for table in read.tool {
            let origin = source.origin(table.span().start);
            let ToolTable { name, arguments, decision, justification } = table.into_inner();
            let arguments = arguments.into_iter().collect();
            rules.tools.push(ToolRule { name, arguments, decision, justification, origin });
        }
        rules.executables = read.executable.into_iter().map(|e| (e.name, e.paths)).collect();
        Ok(rules)
    }

    /// Reads a rule file of Codex: calls of `prefix_rule`, `network_rule` and `host_executable`.
    pub fn parse_codex(file: &str, text: &str, layer: Layer) -> Result<Self, PolicyError> {
        codex::parse(&Source { file, text, layer })
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
    let empty = rule.prefix.is_empty()
        || rule.prefix.iter().any(|token| token.is_empty() || token.iter().any(String::is_empty));
    if empty {
        return Err(source.error(at, "a prefix needs at least one word, and no word may be empty"));
    }
    Ok(())
}

pub(super) fn check_example(
    rule: &CommandRule,
    example: &Example,
    expected: bool,
    at: usize,
    source: &Source<'_>,
) -> Result<(), PolicyError> {
    let commands = match example {
        Example::Line(line) => shell::analyse(line).commands,
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
    let shown = match example {
        Example::Line(line) => line.clone(),
        Example::Words(words) => words.join(" "),
    };
    let message = if expected {
        format!("the rule does not match its example `{shown}`; change the prefix or the example")
    } else {
        format!("the rule matches `{shown}`, which `not_match` says it must not")
    };
    Err(source.error(at, message))
}
