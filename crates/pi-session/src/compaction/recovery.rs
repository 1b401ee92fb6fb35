//! Recovery from an answer that failed because the conversation did not fit: remove the failed
//! attempt from the context, compact, retry.
//!
//! The three steps are planned together: the answer is hidden only if there is something to
//! compact, since otherwise a retry would fail again.

use std::collections::HashSet;

use pi_protocol::{AgentMessage, ContextEdit, Entry, EntryBody, Extra, Message};

use super::{CompactionPlan, CompactionSettings, boundary, prepare};
use crate::{EffectsResolver, ProjectedEntry};

/// Plans the recovery from the last answer; `None` if nothing can be compacted, and then the answer
/// has to stay in the context.
pub fn plan_recovery(
    mut entries: Vec<ProjectedEntry>,
    settings: &CompactionSettings,
    effects: &EffectsResolver,
) -> Option<CompactionPlan> {
    let newer = boundary::newer_than_compaction(&entries);
    let attempt = newer + entries[newer..].iter().rposition(is_answer)?;
    let calls: HashSet<String> = answer(&entries[attempt])
        .into_iter()
        .flat_map(|answer| answer.tool_calls())
        .map(|call| call.id.clone())
        .collect();
    let mut omit = Vec::new();
    for projected in &mut entries[attempt..] {
        let of_attempt = match projected.entry.message() {
            Some(AgentMessage::Llm(Message::Assistant(_))) => true,
            Some(AgentMessage::Llm(Message::ToolResult(result))) => {
                calls.contains(&result.tool_call_id)
            }
            _ => false,
        };
        if of_attempt && !projected.messages.is_empty() {
            projected.messages.clear();
            omit.push(projected.entry.id.clone());
        }
    }
    // With these edits, token counts from before them no longer apply.
    entries.extend(omit.iter().map(|id| future_edit(id)));
    Some(CompactionPlan {
        preparation: prepare(&entries, settings, effects)?,
        fallback: None,
        omit,
    })
}

fn answer(projected: &ProjectedEntry) -> Option<&pi_protocol::AssistantMessage> {
    projected.messages.iter().find_map(|message| message.as_assistant().map(AsRef::as_ref))
}

fn is_answer(projected: &ProjectedEntry) -> bool {
    answer(projected).is_some()
}

fn future_edit(target: &str) -> ProjectedEntry {
    let entry = Entry {
        id: String::new(),
        parent_id: None,
        timestamp: String::new(),
        body: EntryBody::ContextEdit(ContextEdit::new(target, None)),
        extra: Extra::new(),
    };
    ProjectedEntry { entry, messages: Vec::new() }
}
