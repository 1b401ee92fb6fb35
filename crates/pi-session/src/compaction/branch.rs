//! Summaries of branches that are abandoned by moving elsewhere in the tree.

use std::collections::HashMap;

use pi_protocol::{AgentMessage, BranchSummary, ContextEdit, Entry, EntryBody, Message};

use super::summarize::record;
use super::{BranchSummarySettings, FileOps, Summarizer, SummaryError, message_tokens, prompts};
use crate::{EffectsResolver, projection};

/// The context window of a model that does not state it.
const DEFAULT_WINDOW: u64 = 128_000;

/// The summary of a branch without messages.
const NOTHING: &str = "No content to summarize";

/// The part of a branch that is summarized.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct BranchPreparation {
    /// The messages that fit, oldest first.
    pub messages: Vec<AgentMessage>,
    /// The files that the branch read and modified.
    pub file_ops: FileOps,
    /// Estimated size of the messages, in tokens.
    pub total_tokens: u64,
}

/// The instructions for a branch summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BranchInstructions<'a> {
    /// The standard instructions.
    #[default]
    Standard,
    /// The standard instructions with an additional focus.
    Focus(&'a str),
    /// Other instructions instead of the standard ones.
    Replace(&'a str),
}

/// Selects what to summarize of the entries of a branch, oldest first. The newest messages are
/// selected first, up to `token_budget`; 0 is no limit.
pub fn prepare_branch(
    entries: &[Entry],
    token_budget: u64,
    effects: &EffectsResolver,
) -> BranchPreparation {
    let mut prepared = BranchPreparation::default();
    let mut edits: HashMap<&str, &ContextEdit> = HashMap::new();
    for entry in entries {
        match &entry.body {
            EntryBody::BranchSummary(body) if body.from_hook != Some(true) => {
                // The files count even if the entry itself does not fit.
                body.details.iter().for_each(|details| prepared.file_ops.add_details(details));
            }
            EntryBody::ContextEdit(edit) => {
                edits.insert(&edit.target_id, edit);
            }
            _ => {}
        }
    }
    for entry in entries.iter().rev() {
        // Edits do not apply to summaries: nothing else is left of what they replaced.
        let is_summary =
            matches!(entry.body, EntryBody::Compaction(_) | EntryBody::BranchSummary(_));
        let edit = if is_summary { None } else { edits.get(entry.id.as_str()).copied() };
        let messages = projection::messages(entry, edit);
        let Some(message) = messages.into_iter().find(is_summarized) else {
            continue;
        };
        prepared.file_ops.add_message(&message, effects);
        let tokens = message_tokens(&message);
        let total = prepared.total_tokens.saturating_add(tokens);
        if token_budget > 0 && total > token_budget {
            // A summary represents many messages; it may exceed the budget a little.
            if is_summary && u128::from(prepared.total_tokens) * 10 < u128::from(token_budget) * 9 {
                prepared.messages.push(message);
                prepared.total_tokens = total;
            }
            break;
        }
        prepared.messages.push(message);
        prepared.total_tokens = total;
    }
    prepared.messages.reverse();
    prepared
}

/// Returns false for tool results, which are long and whose essence is in the answers that follow,
/// and for system messages.
fn is_summarized(message: &AgentMessage) -> bool {
    !matches!(message, AgentMessage::Llm(Message::ToolResult(_) | Message::System(_)))
}

/// Summarizes the entries of a branch, oldest first, as
/// [`Session::abandoned_entries`](crate::Session::abandoned_entries) returns them.
pub async fn summarize_branch(
    summarizer: &Summarizer<'_>,
    entries: &[Entry],
    settings: &BranchSummarySettings,
    instructions: BranchInstructions<'_>,
) -> Result<BranchSummary, SummaryError> {
    let window = match summarizer.model.context_window {
        0 => DEFAULT_WINDOW,
        window => window,
    };
    let budget = window.saturating_sub(settings.reserve_tokens).max(1);
    let prepared = prepare_branch(entries, budget, &summarizer.effects);
    if prepared.messages.is_empty() {
        return Ok(BranchSummary {
            summary: NOTHING.to_owned(),
            details: Some(prepared.file_ops.lists().to_details()),
            from_hook: Some(false),
            ..BranchSummary::default()
        });
    }
    let record = record(&prepared.messages);
    let question = match instructions {
        BranchInstructions::Standard => prompts::branch(&record, None),
        BranchInstructions::Focus(focus) => prompts::branch(&record, Some(focus)),
        BranchInstructions::Replace(text) => prompts::branch_with_instructions(&record, text),
    };
    let answer = summarizer.ask("Branch summarization", question).await?;
    let files = prepared.file_ops.lists();
    let summary = format!("{}{}{}", prompts::BRANCH_PREAMBLE, answer.text, files.to_tags());
    Ok(BranchSummary {
        summary,
        details: Some(files.to_details()),
        usage: Some(answer.usage),
        from_hook: Some(false),
        ..BranchSummary::default()
    })
}
