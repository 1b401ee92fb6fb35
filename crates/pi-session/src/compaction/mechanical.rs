//! A summary written from the log, without a model: the last resort.
//!
//! It contains what was requested, required, modified and unresolved, but no reasons.

use pi_protocol::{AgentMessage, Message};

use super::restore::facts_as_markdown;
use super::verify::Facts;
use super::{CompactionPreparation, text_tokens};
use crate::projection::text_of;

/// The size that the summary does not exceed, in tokens.
const MOST_TOKENS: u64 = 4000;

/// Writes the summary of a preparation. It is as long as allowed, and at most half as long as what
/// it replaces, if facts and files leave room for that.
pub(super) fn summarize(
    preparation: &CompactionPreparation,
    facts: &Facts,
    replaced_tokens: u64,
) -> String {
    let budget = MOST_TOKENS.min(replaced_tokens / 2);
    let mut text = String::new();
    // From generous quotes to none.
    for divisor in [1, 2, 5, 25, usize::MAX] {
        text = write(preparation, facts, divisor);
        if text_tokens(&text) <= budget {
            break;
        }
    }
    text
}

/// Writes the summary; what is quoted is shorter by the factor `divisor`.
fn write(preparation: &CompactionPreparation, facts: &Facts, divisor: usize) -> String {
    let (requests_shown, request_length) = (20 / divisor, 600 / divisor);
    let (summary_length, answer_length) = (3000 / divisor, 1000 / divisor);
    let messages = || preparation.to_summarize.iter().chain(&preparation.turn_prefix);
    let requests: Vec<String> = messages().filter_map(user_text).collect();
    let goal = match (&preparation.previous_summary, requests.first()) {
        (Some(_), _) => "Stated in the earlier summary below.".to_owned(),
        (None, Some(first)) => cut(first, 600),
        (None, None) => "Not stated in this part of the conversation.".to_owned(),
    };
    let recent = requests.iter().skip(requests.len().saturating_sub(requests_shown));
    let modified = preparation.file_ops.lists().modified;
    let next = match facts.open_items.as_slice() {
        [] => "1. Continue with the latest instruction.".to_owned(),
        items => list(items.iter().map(|item| format!("- [ ] {item}"))),
    };
    let mut context = String::new();
    if summary_length > 0 {
        if let Some(answer) = messages().rev().find_map(answer_text) {
            let answer = cut(&answer, answer_length);
            context.push_str(&format!("- Last answer: {answer}\n"));
        }
        if let Some(earlier) = &preparation.previous_summary {
            let earlier = cut(earlier, summary_length);
            context.push_str(&format!("\n<earlier-summary>\n{earlier}\n</earlier-summary>"));
        }
    }
    let mut out = String::from(
        "(Extracted from the log without a model: requests, constraints, modified files and open \
         errors, but no reasons.)",
    );
    let mut section = |heading: &str, text: &str| {
        let text = if text.trim().is_empty() { "(none)" } else { text.trim() };
        out.push_str(&format!("\n\n{heading}\n{text}"));
    };
    section("## Goal", &goal);
    section(
        "## Constraints & Preferences",
        &list(facts.constraints.iter().map(|text| format!("- {text}"))),
    );
    section("## Progress", &format!("{} messages.", messages().count()));
    section("### Done", &list(modified.iter().map(|path| format!("- [x] modified {path}"))));
    section(
        "### In Progress",
        &list(recent.map(|text| format!("- {}", cut(text, request_length)))),
    );
    section(
        "### Blocked",
        &list(facts.errors.iter().map(|error| format!("- `{}`: {}", error.action, error.message))),
    );
    section("## Key Decisions", "");
    section("## Next Steps", &next);
    section("## Critical Context", &context);
    let instruction = Facts { instruction: facts.instruction.clone(), ..Facts::default() };
    out + &facts_as_markdown(&instruction)
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join("\n")
}

/// Returns the beginning of a text.
fn cut(text: &str, longest: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let head: String = text.chars().take(longest).collect();
    format!("{} […]", head.trim_end())
}

fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::Llm(Message::User(user)) => Some(text_of(&user.content)),
        _ => None,
    }
}

fn answer_text(message: &AgentMessage) -> Option<String> {
    let text = message.as_assistant()?.text();
    (!text.trim().is_empty()).then_some(text)
}
