//! A summary that no model wrote: what the log itself says, in the usual sections.
//!
//! The last resort. It knows what was asked, demanded, changed and broken, and nothing about why.

use pi_protocol::{AgentMessage, Message};

use super::restore::facts_as_markdown;
use super::verify::Facts;
use super::{CompactionPreparation, text_tokens};
use crate::projection::text_of;

/// A summary is never longer than this.
const MOST_TOKENS: u64 = 4000;

/// Writes the summary of a preparation from the log. As long as it may be, and shorter than what
/// it replaces by half.
pub(super) fn summarize(
    preparation: &CompactionPreparation,
    facts: &Facts,
    replaced_tokens: u64,
) -> String {
    let budget = MOST_TOKENS.min(replaced_tokens / 2);
    // From generous to terse: the first that fits.
    let lengths = [(3000, 20, 400), (1500, 10, 200), (600, 5, 120), (200, 0, 0)];
    let write =
        |(previous, requests, request)| write(preparation, facts, previous, requests, request);
    lengths
        .into_iter()
        .map(write)
        .find(|text| text_tokens(text) <= budget)
        .unwrap_or_else(|| write((0, 0, 0)))
}

/// `previous` and `request` are lengths in characters, `requests` is a number of messages.
fn write(
    preparation: &CompactionPreparation,
    facts: &Facts,
    previous: usize,
    requests: usize,
    request: usize,
) -> String {
    let messages = || preparation.to_summarize.iter().chain(&preparation.turn_prefix);
    let users: Vec<String> = messages().filter_map(user_text).collect();
    let modified = preparation.file_ops.lists().modified;
    let goal = match (&preparation.previous_summary, users.first()) {
        (Some(_), _) => "Stated in the earlier summary below.".to_owned(),
        (None, Some(first)) => cut(first, 600),
        (None, None) => "Not stated in this part of the conversation.".to_owned(),
    };
    let recent = users.iter().rev().take(requests).rev();
    let recent: Vec<String> = recent.map(|text| format!("- {}", cut(text, request))).collect();
    let last_answer = messages().rev().find_map(answer_text);
    let mut out = String::from(
        "(Written from the log by rule, not by a model. It states what was asked, demanded, \
         changed and broken; reasons are not recorded.)",
    );
    let mut section = |heading: &str, text: String| {
        let text = if text.trim().is_empty() { "(none)".to_owned() } else { text };
        out.push_str(&format!("\n\n{heading}\n{}", text.trim()));
    };
    section("## Goal", goal);
    section("## Constraints & Preferences", list(&facts.constraints));
    section("## Progress", format!("{} messages.", messages().count()));
    section(
        "### Done",
        modified.iter().map(|path| format!("- [x] changed {path}\n")).collect::<String>(),
    );
    section("### In Progress", list(&recent));
    let errors = facts.errors.iter().map(|e| format!("- `{}`: {}\n", e.action, e.message));
    section("### Blocked", errors.collect());
    section("## Key Decisions", String::new());
    let next = match facts.open_items.as_slice() {
        [] => "1. Go on with the user's latest instruction.".to_owned(),
        items => list(items),
    };
    section("## Next Steps", next);
    let mut context = last_answer
        .map(|answer| format!("- The agent last said: {}\n", cut(&answer, previous.min(1000))))
        .filter(|_| previous > 0)
        .unwrap_or_default();
    if let Some(earlier) = preparation.previous_summary.as_deref().filter(|_| previous > 0) {
        context.push_str(&format!(
            "\n<earlier-summary>\n{}\n</earlier-summary>",
            cut(earlier, previous)
        ));
    }
    section("## Critical Context", context);
    if let Some(instruction) = &facts.instruction {
        let only = Facts { instruction: Some(instruction.clone()), ..Facts::default() };
        out.push_str(&facts_as_markdown(&only));
    }
    out
}

fn list(items: &[String]) -> String {
    let items = items.iter().map(|item| match item.strip_prefix("- ") {
        Some(_) => format!("{item}\n"),
        None => format!("- {item}\n"),
    });
    items.collect()
}

/// The beginning of a text, on one line if it is short.
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
