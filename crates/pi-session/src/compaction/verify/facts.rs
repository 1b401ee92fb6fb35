//! What a rule can know about a part of a conversation: what was changed, demanded, broken and
//! left to do.
//!
//! Rules see less than a model does, but what they see they never forget. They err on the side
//! of seeing too much: a fact that did not matter costs a line.

use pi_protocol::{
    AgentMessage, Compaction, Extent, Message, ToolCall, ToolResultMessage, UserBlock,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use super::words::{Statement, sentences, strip_marker};
use crate::EffectsResolver;
use crate::projection::text_of;
use crate::roles::BashExecution;

/// Longer sentences are data that somebody pasted.
const LONGEST_CONSTRAINT: usize = 300;
/// More than this from one message is a document, not a demand.
const MOST_PER_MESSAGE: usize = 12;
/// What is carried on from compaction to compaction; the newest count.
const MOST_CONSTRAINTS: usize = 60;
const MOST_ERRORS: usize = 5;
const MOST_OPEN_ITEMS: usize = 20;
const LONGEST_INSTRUCTION: usize = 4000;

/// The facts of a part of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// Files that were written or edited.
    pub modified_files: Vec<String>,
    /// What the user demanded or ruled out, in the user's words.
    pub constraints: Vec<String>,
    /// The user's last message, if it is not among what is kept.
    pub instruction: Option<String>,
    /// Failures that nothing later has put right.
    pub errors: Vec<OpenError>,
    /// Steps that were planned and not ticked off.
    pub open_items: Vec<String>,
}

/// A failure that nothing later has put right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenError {
    /// The tool and what it was asked to do.
    pub action: String,
    /// The line of its output that says what is wrong.
    pub message: String,
}

/// Where facts are looked for.
#[derive(Debug, Clone, Copy)]
pub struct FactSources<'a> {
    /// The messages that the summary stands for.
    pub replaced: &'a [AgentMessage],
    /// The messages that stay.
    pub kept: &'a [AgentMessage],
    /// Files written or edited in the range or before it.
    pub modified_files: &'a [String],
    /// The summary of what came before.
    pub previous_summary: Option<&'a str>,
    /// The facts of what came before.
    pub previous: Option<&'a Facts>,
    /// The effects of tool calls.
    pub effects: &'a EffectsResolver,
}

impl Facts {
    /// Extracts the facts of a range.
    pub fn extract(range: &FactSources<'_>) -> Self {
        Self {
            modified_files: range.modified_files.to_vec(),
            constraints: constraints(range),
            instruction: instruction(range),
            errors: open_errors(range),
            open_items: open_items(range),
        }
    }

    /// The facts stored with an earlier compaction.
    pub(crate) fn stored_with(compaction: &Compaction) -> Option<Self> {
        let facts = compaction.details.as_ref()?.pointer("/verification/facts")?;
        Self::deserialize(facts).ok()
    }
}

fn constraints(range: &FactSources<'_>) -> Vec<String> {
    let mut found: Vec<(String, Statement)> = Vec::new();
    let before = range.previous.iter().flat_map(|facts| facts.constraints.iter().cloned());
    let said = range.replaced.iter().filter_map(user_text).flat_map(|text| {
        let text = without_code(&text);
        let demands = sentences(&text).filter(|sentence| is_demand(sentence));
        demands.take(MOST_PER_MESSAGE).map(str::to_owned).collect::<Vec<_>>()
    });
    for text in before.chain(said) {
        let statement = Statement::new(&text);
        if statement.is_empty() {
            continue;
        }
        // Who changes their mind means the later word.
        found.retain(|(_, earlier)| !statement.opposes(earlier) && !earlier.repeats(&statement));
        found.push((text, statement));
    }
    // What is kept can overrule as well; it need not be carried over itself.
    for text in range.kept.iter().filter_map(user_text) {
        let text = without_code(&text);
        for later in sentences(&text).map(Statement::new).filter(|later| !later.is_empty()) {
            found.retain(|(_, earlier)| !later.opposes(earlier));
        }
    }
    let surplus = found.len().saturating_sub(MOST_CONSTRAINTS);
    found.drain(..surplus);
    found.into_iter().map(|(text, _)| text).collect()
}

/// Words with which one demands something or rules it out.
const DEMANDS: &str = "\
    must never always only ensure avoid prefer should shouldn't require required requires \
    requirement without forbidden don't dont cannot can't mustn't needs instead exactly muss \
    müssen nie immer nur darf nicht doit jamais toujours debe nunca siempre";

/// Imperatives: they demand if the sentence begins with them.
const IMPERATIVES: &str = "leave keep use stop stay follow";

const DEMANDING_PHRASES: &[&str] = &[
    "do not",
    "make sure",
    "at most",
    "at least",
    "no more than",
    "no less than",
    "has to",
    "have to",
    "not allowed",
    "必须",
    "不要",
    "不能",
    "禁止",
    "务必",
    "只能",
    "一定",
    "必ず",
    "しないで",
    "だけ",
    "반드시",
];

/// Whether a sentence of the user demands something or rules something out.
fn is_demand(sentence: &str) -> bool {
    if sentence.len() > LONGEST_CONSTRAINT || sentence.ends_with(['?', '？']) {
        return false;
    }
    let lower = sentence.to_lowercase().replace('’', "'");
    let is_one_of = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let first = lower.split_whitespace().next().unwrap_or_default();
    is_one_of(IMPERATIVES, first)
        || words.any(|word| is_one_of(DEMANDS, word))
        || DEMANDING_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

/// A text without its fenced code.
fn without_code(text: &str) -> String {
    let mut inside = false;
    text.lines()
        .filter(|line| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            !inside && !fence
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn instruction(range: &FactSources<'_>) -> Option<String> {
    if range.kept.iter().any(|message| user_text(message).is_some()) {
        return None;
    }
    let last = range.replaced.iter().rev().find_map(user_text)?;
    Some(shorten(last.trim(), LONGEST_INSTRUCTION))
}

/// Beginning and end of a text that is too long.
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

/// The failures that nothing later has put right, the newest last.
fn open_errors(range: &FactSources<'_>) -> Vec<OpenError> {
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut open: Vec<(Subject, OpenError)> = Vec::new();
    for message in range.replaced.iter().chain(range.kept) {
        match message {
            AgentMessage::Llm(Message::Assistant(assistant)) => {
                calls.extend(assistant.tool_calls().map(|call| (call.id.as_str(), call)));
            }
            AgentMessage::Llm(Message::ToolResult(result)) => {
                let Some(call) = calls.get(result.tool_call_id.as_str()) else { continue };
                let subject = Subject::of(call, range.effects);
                open.retain(|(failed, _)| !failed.is_settled_by(&subject));
                if result.is_error && !subject.failure_is_an_answer() {
                    let message = telling_line(&result_text(result));
                    open.push((subject.clone(), OpenError { action: subject.action(), message }));
                }
            }
            AgentMessage::Custom(_) => {
                let Some(run) = message.as_custom::<BashExecution>() else { continue };
                let subject = Subject::command(&run.command);
                open.retain(|(failed, _)| !failed.is_settled_by(&subject));
                if run.exit_code.is_some_and(|code| code != 0) && !subject.failure_is_an_answer() {
                    let message = telling_line(&run.output);
                    open.push((subject.clone(), OpenError { action: subject.action(), message }));
                }
            }
            AgentMessage::Llm(_) => {}
        }
    }
    let surplus = open.len().saturating_sub(MOST_ERRORS);
    open.into_iter().skip(surplus).map(|(_, error)| error).collect()
}

/// What a tool call was about: a later call about the same settles it, well or badly.
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
            Self::File(path) => path.clone(),
            Self::Command(command) => shorten(command, 200),
            Self::Other(what) => what.clone(),
        }
    }

    /// The program and its subcommand.
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

    /// Commands whose failure is an answer: nothing found, files differ, no such thing.
    fn failure_is_an_answer(&self) -> bool {
        const ANSWERS: &[&str] = &[
            "grep", "rg", "test", "[", "diff", "cmp", "which", "command", "ls", "cat", "find",
            "stat", "false", "pgrep", "type",
        ];
        match self {
            Self::Command(command) => {
                Self::program(command).first().is_some_and(|program| ANSWERS.contains(program))
            }
            Self::File(_) | Self::Other(_) => false,
        }
    }
}

fn result_text(result: &ToolResultMessage) -> String {
    let texts = result.content.iter().filter_map(UserBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// The line of an output that says what is wrong.
fn telling_line(output: &str) -> String {
    const SIGNS: &[&str] = &["error", "fail", "panic", "exception", "fatal", "not found", "denied"];
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = lines().find(|line| {
        let lower = line.to_lowercase();
        SIGNS.iter().any(|sign| lower.contains(sign))
    });
    shorten(telling.or_else(|| lines().next_back()).unwrap_or("(no output)"), 240)
}

/// The steps of the latest plan that are not ticked off.
fn open_items(range: &FactSources<'_>) -> Vec<String> {
    let plans = range.replaced.iter().rev().filter_map(|message| match message {
        AgentMessage::Llm(Message::Assistant(assistant)) => plan(&assistant.text()),
        _ => None,
    });
    let previous = range.previous_summary.and_then(plan);
    let mut items = plans.chain(previous).next().unwrap_or_default();
    items.truncate(MOST_OPEN_ITEMS);
    items
}

/// The open items of a list with boxes to tick, or of a list that calls itself what is to come.
fn plan(text: &str) -> Option<Vec<String>> {
    let boxed = |line: &str| {
        let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
        line.starts_with("[ ]") || line.starts_with("[x]") || line.starts_with("[X]")
    };
    if text.lines().any(boxed) {
        let open = text.lines().filter(|line| boxed(line) && line.contains("[ ]"));
        return Some(open.map(|line| strip_marker(line).to_owned()).collect());
    }
    let mut lines = text.lines().skip_while(|line| !announces_steps(line)).skip(1);
    let is_item = |line: &&str| strip_marker(line).len() < line.trim().len();
    let items: Vec<String> = lines
        .by_ref()
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| is_item(line))
        .map(|line| strip_marker(line).to_owned())
        .collect();
    (!items.is_empty()).then_some(items)
}

fn announces_steps(line: &str) -> bool {
    const HEADINGS: &[&str] =
        &["next steps", "remaining", "still to do", "to do", "todo", "open items", "left to do"];
    let lower = line.to_lowercase();
    let bare = lower.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches([':', '*', ' ']);
    HEADINGS.iter().any(|heading| bare.starts_with(heading)) && bare.len() < 60
}
