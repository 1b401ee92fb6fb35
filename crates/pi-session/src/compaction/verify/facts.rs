//! Facts that a rule can take from a part of a conversation: files, constraints, the latest
//! instruction, open errors and open steps.
//!
//! Rules see less than a model, but they forget nothing. They rather extract too much: a fact that
//! does not matter costs one line.

use std::collections::HashMap;

use pi_protocol::{
    AgentMessage, Compaction, Extent, Message, ToolCall, ToolResultMessage, UserBlock,
};
use serde::{Deserialize, Serialize};

use super::strip_marker;
use crate::EffectsResolver;
use crate::projection::text_of;
use crate::roles::BashExecution;

/// Longer sentences are pasted data.
const LONGEST_CONSTRAINT: usize = 300;
/// Limits on what is carried from compaction to compaction; the newest facts are kept.
const MOST_CONSTRAINTS: usize = 40;
const MOST_ERRORS: usize = 5;
const MOST_STEPS: usize = 20;
const LONGEST_INSTRUCTION: usize = 4000;

/// The facts of a part of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Facts {
    /// Files that were modified.
    pub modified_files: Vec<String>,
    /// Sentences of the user that require or forbid something, oldest first.
    pub constraints: Vec<String>,
    /// The latest message of the user, unless a message of the user is kept.
    pub instruction: Option<String>,
    /// Failures after which the same thing was not tried again.
    pub errors: Vec<OpenError>,
    /// Unchecked items of the latest list with checkboxes.
    pub open_items: Vec<String>,
}

/// A failure after which the same thing was not tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct OpenError {
    /// The command that failed, or the file or tool whose call failed.
    pub action: String,
    /// The line of the output that names the error.
    pub message: String,
}

/// The parts of a conversation from which facts are extracted.
#[derive(Debug, Clone, Copy)]
pub struct FactSources<'a> {
    /// Messages that the summary replaces.
    pub replaced: &'a [AgentMessage],
    /// Messages that stay in the context.
    pub kept: &'a [AgentMessage],
    /// Files modified by the replaced messages or before them.
    pub modified_files: &'a [String],
    /// The previous summary.
    pub previous_summary: Option<&'a str>,
    /// The facts stored with the previous summary.
    pub previous: Option<&'a Facts>,
    /// The effects of tool calls.
    pub effects: &'a EffectsResolver,
}

impl Facts {
    /// Extracts the facts of a part of a conversation.
    pub fn extract(sources: &FactSources<'_>) -> Self {
        Self {
            modified_files: sources.modified_files.to_vec(),
            constraints: constraints(sources),
            instruction: instruction(sources),
            errors: open_errors(sources),
            open_items: open_items(sources),
        }
    }

    /// Returns the facts stored with an earlier compaction.
    pub(crate) fn stored_with(compaction: &Compaction) -> Option<Self> {
        let facts = compaction.details.as_ref()?.pointer("/verification/facts")?;
        Self::deserialize(facts).ok()
    }
}

fn constraints(sources: &FactSources<'_>) -> Vec<String> {
    let mut constraints = sources.previous.map_or(Vec::new(), |facts| facts.constraints.clone());
    for text in sources.replaced.iter().filter_map(user_text) {
        for sentence in prose_lines(&text).flat_map(|line| line.split_inclusive(". ")) {
            let sentence = sentence.trim();
            if is_constraint(sentence) {
                constraints.retain(|earlier| earlier != sentence);
                constraints.push(sentence.to_owned());
            }
        }
    }
    let surplus = constraints.len().saturating_sub(MOST_CONSTRAINTS);
    constraints.split_off(surplus)
}

/// Returns true if a sentence of the user requires or forbids something. Knows a few English words
/// only; for everything else there is the model that writes the summary.
fn is_constraint(sentence: &str) -> bool {
    const ANYWHERE: &[&str] = &["must", "never", "always", "only", "don't", "cannot"];
    const FIRST: &[&str] = &["use", "keep", "leave", "avoid", "prefer", "do", "stay"];
    if sentence.len() > LONGEST_CONSTRAINT || sentence.ends_with(['?', '？']) {
        return false;
    }
    let lower = sentence.to_lowercase().replace('’', "'");
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let first = words.clone().next().unwrap_or_default();
    FIRST.contains(&first) || words.any(|word| ANYWHERE.contains(&word))
}

/// Returns the lines of a text outside of fenced code, without list markers.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    lines.map(strip_marker)
}

fn instruction(sources: &FactSources<'_>) -> Option<String> {
    if sources.kept.iter().any(|message| user_text(message).is_some()) {
        return None;
    }
    let last = sources.replaced.iter().rev().find_map(user_text)?;
    Some(shorten(last.trim(), LONGEST_INSTRUCTION))
}

/// Returns the beginning and the end of a text that is too long.
fn shorten(text: &str, longest: usize) -> String {
    let length = text.chars().count();
    if length <= longest {
        return text.to_owned();
    }
    let head: String = text.chars().take(longest * 3 / 4).collect();
    let tail: String = text.chars().skip(length - longest / 4).collect();
    format!("{head}\n[…]\n{tail}")
}

fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::Llm(Message::User(user)) => {
            Some(text_of(&user.content)).filter(|text| !text.trim().is_empty())
        }
        _ => None,
    }
}

/// Returns the failures after which the same thing was not tried again, oldest first.
fn open_errors(sources: &FactSources<'_>) -> Vec<OpenError> {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut open: Vec<(Subject, OpenError)> = Vec::new();
    for message in sources.replaced.iter().chain(sources.kept) {
        let (subject, failure) = match message {
            AgentMessage::Llm(Message::Assistant(assistant)) => {
                calls.extend(assistant.tool_calls().map(|call| (call.id.as_str(), call)));
                continue;
            }
            AgentMessage::Llm(Message::ToolResult(result)) => {
                let Some(call) = calls.get(result.tool_call_id.as_str()) else { continue };
                let failure = result.is_error.then(|| result_text(result));
                (Subject::of(call, sources.effects), failure)
            }
            AgentMessage::Custom(_) => {
                let Some(run) = message.as_custom::<BashExecution>() else { continue };
                let failed = run.exit_code.is_some_and(|code| code != 0);
                (Subject::command(&run.command), failed.then_some(run.output))
            }
            AgentMessage::Llm(_) => continue,
        };
        open.retain(|(failed, _)| !failed.is_settled_by(&subject));
        if let Some(output) = failure
            && !subject.failure_is_an_answer()
        {
            let error = OpenError { action: subject.action(), message: error_line(&output) };
            open.push((subject, error));
        }
    }
    let surplus = open.len().saturating_sub(MOST_ERRORS);
    open.into_iter().skip(surplus).map(|(_, error)| error).collect()
}

/// The subject of a tool call. A later call with the same subject settles a failure, even if it
/// fails too.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    File(String),
    Command(String),
    Other(String),
}

impl Subject {
    fn of(call: &ToolCall, effects: &EffectsResolver) -> Self {
        let effects = effects.of_call(call);
        if let Some(script) = effects.runs.first() {
            return Self::command(script);
        }
        match effects.writes.first().or(effects.reads.first()) {
            Some(file) if file.extent == Extent::File => Self::File(file.path.clone()),
            Some(directory) => Self::Other(format!("{} {}", call.name, directory.path)),
            None => Self::Other(call.name.clone()),
        }
    }

    fn command(command: &str) -> Self {
        Self::Command(command.trim().to_owned())
    }

    fn action(&self) -> String {
        match self {
            Self::Command(command) => shorten(command, 200),
            Self::File(text) | Self::Other(text) => text.clone(),
        }
    }

    /// Returns the last program of a command and its subcommand.
    fn program(command: &str) -> Vec<&str> {
        let last = command.rsplit(['&', ';', '|', '\n']).find(|part| !part.trim().is_empty());
        let words = last.unwrap_or(command).split_whitespace();
        words.filter(|word| !word.starts_with('-') && !word.contains('=')).take(2).collect()
    }

    fn is_settled_by(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::Command(failed), Self::Command(later)) => {
                Self::program(failed) == Self::program(later)
            }
            (failed, later) => failed == later,
        }
    }

    /// Returns true for commands whose failure is an answer: nothing found, files differ.
    fn failure_is_an_answer(&self) -> bool {
        const PROGRAMS: &[&str] = &[
            "grep", "rg", "test", "[", "diff", "cmp", "which", "command", "ls", "cat", "find",
            "stat", "false", "pgrep", "type",
        ];
        let Self::Command(command) = self else { return false };
        Self::program(command).first().is_some_and(|program| PROGRAMS.contains(program))
    }
}

fn result_text(result: &ToolResultMessage) -> String {
    let texts = result.content.iter().filter_map(UserBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the first line of an output that looks like an error, or the last line.
fn error_line(output: &str) -> String {
    const SIGNS: &[&str] = &["error", "fail", "panic", "exception", "fatal", "not found", "denied"];
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        let lower = line.to_lowercase();
        SIGNS.iter().any(|sign| lower.contains(sign))
    };
    let line = lines().find(is_error).or_else(|| lines().next_back());
    shorten(line.unwrap_or("(no output)"), 240)
}

/// Returns the unchecked items of the latest list with checkboxes.
fn open_items(sources: &FactSources<'_>) -> Vec<String> {
    let lists = sources.replaced.iter().rev().filter_map(|message| match message {
        AgentMessage::Llm(Message::Assistant(assistant)) => unchecked_items(&assistant.text()),
        _ => None,
    });
    let previous = sources.previous_summary.and_then(unchecked_items);
    let mut items = lists.chain(previous).next().unwrap_or_default();
    items.truncate(MOST_STEPS);
    items
}

/// Returns the unchecked items of a text; `None` if it has no checkboxes.
fn unchecked_items(text: &str) -> Option<Vec<String>> {
    let checkbox = |line: &str| {
        let item = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
        let is_open = item.starts_with("[ ]");
        (is_open || item.starts_with("[x]") || item.starts_with("[X]")).then_some(is_open)
    };
    if !text.lines().any(|line| checkbox(line).is_some()) {
        return None;
    }
    let open = text.lines().filter(|line| checkbox(line) == Some(true));
    Some(open.map(|line| strip_marker(line).to_owned()).collect())
}
