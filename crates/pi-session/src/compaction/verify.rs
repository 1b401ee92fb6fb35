//! Checks of a summary before it replaces history.
//!
//! A summary is all that the model will know about what the summary replaces. The checks find what
//! rules can find: a wrong shape, and [facts](Facts) that are missing. Missing facts are added
//! verbatim; a summary of a wrong shape is not used.

mod facts;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text_tokens;
use words::Words;

pub use facts::{FactSources, Facts, OpenError};

/// A defect of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The fields repeat the variants; texts are quoted from the conversation.
pub enum Finding {
    /// The summary has no text.
    Empty,
    /// The summary is a tool call.
    ToolCall,
    /// The summary is incomplete; `sign` says how that shows.
    Truncated { sign: String },
    /// The summary is not smaller than what it replaces, in tokens.
    TooLong { tokens: u64, replaced: u64 },
    /// Headings are missing.
    MissingSections { sections: Vec<String> },
    /// A modified file is not named.
    MissingFile { path: String },
    /// A constraint of the user is missing.
    MissingConstraint { text: String },
    /// The latest instruction of the user is missing.
    MissingInstruction { text: String },
    /// An open error is missing.
    MissingError { error: OpenError },
    /// An open step is missing.
    MissingStep { text: String },
}

impl Finding {
    /// Returns true if the summary cannot be used, even with the missing facts added.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Empty | Self::ToolCall | Self::Truncated { .. } | Self::TooLong { .. } => true,
            // A missing heading is untidy. Without most of them the text is no summary.
            Self::MissingSections { sections } => sections.len() * 2 > SECTIONS.len(),
            _ => false,
        }
    }
}

/// Writes the defect as the model reads it in a request for repair.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("The summary has no text."),
            Self::ToolCall => f.write_str("The summary calls a tool. Write text only."),
            Self::Truncated { sign } => write!(f, "The summary is incomplete: {sign}."),
            Self::TooLong { tokens, replaced } => write!(
                f,
                "The summary is too long: about {tokens} tokens for a record of {replaced}. Use fewer than {}.",
                replaced / 2
            ),
            Self::MissingSections { sections } => {
                write!(f, "These sections are missing: {}.", sections.join(", "))
            }
            Self::MissingFile { path } => write!(f, "This modified file is missing: {path}"),
            Self::MissingConstraint { text } => {
                write!(f, "This constraint of the user is missing: {text}")
            }
            Self::MissingInstruction { text } => {
                write!(f, "The latest instruction of the user is missing: {text}")
            }
            Self::MissingError { error } => {
                write!(f, "This unresolved error is missing: {}: {}", error.action, error.message)
            }
            Self::MissingStep { text } => write!(f, "This open step is missing: {text}"),
        }
    }
}

/// The headings of a summary.
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

/// The headings of the summary of the beginning of a split turn.
pub(super) const PREFIX_SECTIONS: &[&str] =
    &["Original Request", "Progress So Far", "Context Needed to Continue"];

/// The expectations on a summary.
#[derive(Debug, Clone)]
pub struct Expectations<'a> {
    /// Facts that the summary has to contain.
    pub facts: &'a Facts,
    /// Headings that the summary has to have.
    pub sections: &'a [&'a str],
    /// Size of what the summary replaces, in tokens.
    pub replaced_tokens: u64,
}

/// Checks a summary. A summary without findings can be used as it is.
pub fn check(summary: &str, expected: &Expectations<'_>) -> Vec<Finding> {
    if summary.trim().is_empty() {
        return vec![Finding::Empty];
    }
    let mut findings = Vec::new();
    if is_tool_call(summary) {
        findings.push(Finding::ToolCall);
    }
    if let Some(sign) = truncation(summary) {
        findings.push(Finding::Truncated { sign: sign.to_owned() });
    }
    let tokens = text_tokens(summary);
    if tokens >= expected.replaced_tokens {
        findings.push(Finding::TooLong { tokens, replaced: expected.replaced_tokens });
    }
    let sections = missing_sections(summary, expected.sections);
    if !sections.is_empty() {
        findings.push(Finding::MissingSections { sections });
    }
    findings.extend(missing_facts(summary, expected.facts));
    findings
}

/// The part of the words of a constraint, error or step that one line has to repeat.
const ENOUGH: f64 = 0.6;

/// The part of the words of an instruction that the summary as a whole has to repeat.
const ENOUGH_OF_INSTRUCTION: f64 = 0.4;

/// Returns the facts that a summary does not contain.
fn missing_facts(summary: &str, facts: &Facts) -> Vec<Finding> {
    let lines: Vec<Words> = summary.lines().map(Words::of).collect();
    let is_missing = |text: &str| {
        let words = Words::of(text);
        !words.is_empty() && !lines.iter().any(|line| line.cover(&words, ENOUGH))
    };
    let mut findings = Vec::new();
    for path in facts.modified_files.iter().filter(|path| !names_file(summary, path, facts)) {
        findings.push(Finding::MissingFile { path: path.clone() });
    }
    for text in facts.constraints.iter().filter(|text| is_missing(text)) {
        findings.push(Finding::MissingConstraint { text: text.clone() });
    }
    if let Some(text) = &facts.instruction
        && !Words::of(summary).cover(&Words::of(text), ENOUGH_OF_INSTRUCTION)
    {
        findings.push(Finding::MissingInstruction { text: text.clone() });
    }
    for error in &facts.errors {
        if is_missing(&error.message) && is_missing(&format!("{} failed", error.action)) {
            findings.push(Finding::MissingError { error: error.clone() });
        }
    }
    for text in facts.open_items.iter().filter(|text| is_missing(text)) {
        findings.push(Finding::MissingStep { text: text.clone() });
    }
    findings
}

/// Returns true if a path is named: in full, or by as much of its end as distinguishes it from the
/// other files.
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

/// Returns true if `name` occurs, and not as a part of a longer name.
fn contains_name(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !name.is_empty() && !before.is_some_and(in_name) && !after.is_some_and(in_name)
    })
}

/// Returns true if the summary is or contains a tool call written as text.
fn is_tool_call(summary: &str) -> bool {
    const TAGS: &[&str] = &["<tool_call", "<function_call", "<invoke ", "<tool_use", "<|tool"];
    let start = summary.trim_start();
    let bare = start.trim_start_matches("```json").trim_start();
    TAGS.iter().any(|tag| start.starts_with(tag))
        || bare.starts_with('{')
        || TAGS.iter().any(|tag| summary.lines().any(|line| line.trim_start().starts_with(tag)))
}

/// Returns the sign by which a text is incomplete.
fn truncation(summary: &str) -> Option<&'static str> {
    let fences = summary.lines().filter(|line| line.trim_start().starts_with("```")).count();
    if fences % 2 == 1 {
        return Some("a code block is not closed");
    }
    let last = summary.lines().rev().find(|line| !line.trim().is_empty())?.trim();
    let bare = strip_marker(last);
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

/// Returns the expected headings that a summary lacks.
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

/// Returns a line without its list marker, checkbox and heading marks.
fn strip_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '>', ' ']);
    let line =
        line.strip_prefix(['-', '*', '+', '•']).filter(|l| l.starts_with(' ')).unwrap_or(line);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest,
        _ => line,
    };
    let line = line.trim();
    let boxes = ["[ ]", "[x]", "[X]"];
    boxes.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
}
