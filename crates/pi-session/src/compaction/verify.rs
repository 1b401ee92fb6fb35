//! Checking a summary before it takes the place of history: by rule, not by hope.
//!
//! A summary is the only thing a model will know about what it replaces. The checks find what a
//! rule can find: a shape that is wrong, and [facts](Facts) of the log that are missing or turned
//! into their opposite. What is missing can be put back word for word; what has the wrong shape
//! cannot be used.

mod facts;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};

use words::{Carried, Statement, Text};

pub use facts::{FactSources, Facts, OpenError};

/// Something wrong with a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Finding {
    /// There is no text.
    Empty,
    /// It asks for a tool instead of summarising.
    ToolCall,
    /// It breaks off.
    Truncated {
        /// How that shows.
        sign: String,
    },
    /// It is not smaller than what it replaces.
    TooLong {
        /// Its size, in tokens.
        tokens: u64,
        /// The size of what it replaces.
        replaced: u64,
    },
    /// Sections are missing.
    MissingSections {
        /// Their headings.
        sections: Vec<String>,
    },
    /// A modified file is not named.
    MissingFile {
        /// Its path.
        path: String,
    },
    /// A constraint of the user is not carried over.
    MissingConstraint {
        /// In the user's words.
        text: String,
    },
    /// A constraint of the user became its opposite.
    ContradictedConstraint {
        /// In the user's words.
        text: String,
    },
    /// What the user last asked for is not carried over.
    MissingInstruction {
        /// In the user's words.
        text: String,
    },
    /// A failure that was not put right is not mentioned.
    MissingError {
        /// The failure.
        error: OpenError,
    },
    /// A planned step is not mentioned.
    MissingStep {
        /// The step.
        text: String,
    },
}

impl Finding {
    /// The summary cannot be used, whatever is added to it.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Empty | Self::ToolCall | Self::Truncated { .. } | Self::TooLong { .. } => true,
            // A missing heading is untidy. Without most of them it is not a summary.
            Self::MissingSections { sections } => sections.len() * 2 > SECTIONS.len(),
            _ => false,
        }
    }
}

/// What the model is told that it has to put right.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("There was no text."),
            Self::ToolCall => f.write_str("It called a tool. Write text and nothing else."),
            Self::Truncated { sign } => write!(f, "It is not complete: {sign}."),
            Self::TooLong { tokens, replaced } => write!(
                f,
                "It is too long: about {tokens} tokens for a record of {replaced}. Stay below {}.",
                replaced / 2
            ),
            Self::MissingSections { sections } => {
                write!(f, "These sections are missing: {}.", sections.join(", "))
            }
            Self::MissingFile { path } => write!(f, "This changed file is not named: {path}"),
            Self::MissingConstraint { text } => {
                write!(f, "This demand of the user is not carried over: {text}")
            }
            Self::ContradictedConstraint { text } => {
                write!(f, "This demand of the user is turned into its opposite: {text}")
            }
            Self::MissingInstruction { text } => {
                write!(f, "What the user asked for last is not carried over: {text}")
            }
            Self::MissingError { error } => write!(
                f,
                "This failure was not put right and is not mentioned: {}: {}",
                error.action, error.message
            ),
            Self::MissingStep { text } => write!(f, "This open step is not mentioned: {text}"),
        }
    }
}

/// The sections of a summary.
pub const SECTIONS: &[&str] = &[
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Done",
    "In Progress",
    "Blocked",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
];

/// The sections of the summary of the beginning of a turn.
pub const PREFIX_SECTIONS: &[&str] =
    &["Original Request", "Progress So Far", "Context Needed to Continue"];

/// What a summary is checked against.
#[derive(Debug, Clone)]
pub struct Expectations<'a> {
    /// What it has to carry over.
    pub facts: &'a Facts,
    /// The headings it has to have.
    pub sections: &'a [&'a str],
    /// The size of what it replaces, in tokens.
    pub replaced_tokens: u64,
    /// Counts the tokens of a text, as the rest of compaction does.
    pub count: fn(&str) -> u64,
}

/// Checks a summary. No findings means that it can be used as it is.
pub fn check(summary: &str, expected: &Expectations<'_>) -> Vec<Finding> {
    if summary.trim().is_empty() {
        return vec![Finding::Empty];
    }
    let mut findings = Vec::new();
    findings.extend(is_tool_call(summary).then_some(Finding::ToolCall));
    findings.extend(truncation(summary).map(|sign| Finding::Truncated { sign: sign.to_owned() }));
    let tokens = (expected.count)(summary);
    if tokens >= expected.replaced_tokens {
        findings.push(Finding::TooLong { tokens, replaced: expected.replaced_tokens });
    }
    let sections = missing_sections(summary, expected.sections);
    if !sections.is_empty() {
        findings.push(Finding::MissingSections { sections });
    }
    findings.extend(lost_facts(summary, expected.facts));
    findings
}

/// The facts that a summary does not carry over.
pub fn lost_facts(summary: &str, facts: &Facts) -> Vec<Finding> {
    let text = Text::new(summary);
    let mut findings = Vec::new();
    for path in facts.modified_files.iter().filter(|path| !names_file(summary, path, facts)) {
        findings.push(Finding::MissingFile { path: path.clone() });
    }
    for constraint in &facts.constraints {
        match text.carries(&Statement::new(constraint)) {
            Carried::Yes => {}
            Carried::No => {
                findings.push(Finding::MissingConstraint { text: constraint.clone() });
            }
            Carried::Contradicted => {
                findings.push(Finding::ContradictedConstraint { text: constraint.clone() });
            }
        }
    }
    if let Some(instruction) = &facts.instruction
        && !carries_instruction(&text, instruction)
    {
        findings.push(Finding::MissingInstruction { text: instruction.clone() });
    }
    for error in facts.errors.iter().filter(|error| !carries_error(&text, error)) {
        findings.push(Finding::MissingError { error: error.clone() });
    }
    for item in &facts.open_items {
        let statement = Statement::new(item);
        if !statement.is_empty() && text.carries(&statement) == Carried::No {
            findings.push(Finding::MissingStep { text: item.clone() });
        }
    }
    findings
}

/// Whether a path is named: in full, or by as much of its end as tells it from the others.
fn names_file(summary: &str, path: &str, facts: &Facts) -> bool {
    let mut start = path.len();
    while let Some(at) = path[..start].rfind(['/', '\\']) {
        start = at;
        let end = &path[at + 1..];
        let same_end = facts.modified_files.iter().filter(|other| {
            other
                .strip_suffix(end)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
        });
        if same_end.count() < 2 {
            return contains_name(summary, end);
        }
    }
    contains_name(summary, path)
}

/// Whether `name` occurs, and not as a part of a longer name.
fn contains_name(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !name.is_empty() && !before.is_some_and(in_name) && !after.is_some_and(in_name)
    })
}

/// An instruction may be rephrased freely. Its names have to be there, and half of its words.
fn carries_instruction(text: &Text, instruction: &str) -> bool {
    let statement = Statement::new(instruction);
    let least = if instruction.len() > 600 { 0.35 } else { 0.5 };
    statement.is_empty() || text.covers(&statement, least)
}

fn carries_error(text: &Text, error: &OpenError) -> bool {
    let message = Statement::new(&error.message);
    let action = Statement::new(&error.action);
    let failed = Statement::new(&format!("{} failed", error.action));
    (!message.is_empty() && text.carries(&message) != Carried::No)
        || (!action.is_empty() && text.carries(&failed) != Carried::No)
}

/// A call for a tool, written out as text.
fn is_tool_call(summary: &str) -> bool {
    const TAGS: &[&str] = &["<tool_call", "<function_call", "<invoke ", "<tool_use", "<|tool"];
    let start = summary.trim_start();
    let bare = start.trim_start_matches("```json").trim_start();
    TAGS.iter().any(|tag| start.starts_with(tag))
        || bare.starts_with('{')
        || TAGS.iter().any(|tag| summary.lines().any(|line| line.trim_start().starts_with(tag)))
}

/// The sign of a text that breaks off.
fn truncation(summary: &str) -> Option<&'static str> {
    let fences = summary.lines().filter(|line| line.trim_start().starts_with("```")).count();
    if fences % 2 == 1 {
        return Some("a code block is not closed");
    }
    let last = summary.lines().rev().find(|line| !line.trim().is_empty())?.trim();
    let bare = words::strip_marker(last);
    if last.starts_with('#') {
        Some("it ends with a heading")
    } else if bare.is_empty() || matches!(bare, "-" | "*") {
        Some("it ends with an empty item")
    } else if last.ends_with([',', '(', '[', '{', ':', '…']) || last.ends_with("...") {
        Some("it ends in the middle of a sentence")
    } else if last.matches("**").count() % 2 == 1 || last.matches('`').count() % 2 == 1 {
        Some("it ends in the middle of a word")
    } else {
        None
    }
}

/// The headings that are not there.
fn missing_sections(summary: &str, expected: &[&str]) -> Vec<String> {
    let bare = |text: &str| {
        let text = text.to_lowercase().replace(" and ", " & ");
        text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
    };
    let headings: Vec<String> = summary
        .lines()
        .filter(|line| line.starts_with('#') || line.starts_with("**"))
        .map(bare)
        .collect();
    let missing = expected.iter().filter(|section| !headings.contains(&bare(section)));
    missing.map(|section| (*section).to_owned()).collect()
}
