//! The preparation of a compaction: what it would summarize and what it would keep.

use std::collections::HashSet;
use std::ops::Range;

use pi_protocol::{AgentMessage, EntryBody};

use super::cut::{Cut, find_cut, split_turn};
use super::{CompactionSettings, Facts, FileOps, boundary, message_tokens, projected_tokens};
use crate::{EffectsResolver, ProjectedEntry};

/// A compaction, ready to be summarized.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactionPreparation {
    /// The id of the first entry that is kept.
    pub first_kept: String,
    /// Messages that the summary replaces.
    pub to_summarize: Vec<AgentMessage>,
    /// The beginning of a split turn, which is summarized on its own.
    pub turn_prefix: Vec<AgentMessage>,
    /// Messages that are kept verbatim.
    pub kept: Vec<AgentMessage>,
    /// The cut splits a turn.
    pub is_split_turn: bool,
    /// Size of the context before the compaction, in tokens.
    pub tokens_before: u64,
    /// The summary of the previous compaction, which the new summary continues.
    pub previous_summary: Option<String>,
    /// The facts stored with the previous compaction.
    pub previous_facts: Option<Facts>,
    /// The files that the summarized part read and modified.
    pub file_ops: FileOps,
    /// The settings of this preparation.
    pub settings: CompactionSettings,
}

/// Prepares a compaction of the context of these entries; `None` if nothing can be summarized.
pub fn prepare(
    entries: &[ProjectedEntry],
    settings: &CompactionSettings,
    effects: &EffectsResolver,
) -> Option<CompactionPreparation> {
    let previous = boundary::previous(entries);
    if previous.is_some() && boundary::newer_than_compaction(entries) == entries.len() {
        return None; // already compacted
    }
    let range = usize::from(previous.is_some())..entries.len();
    let keep = settings.keep_recent_tokens;
    let cut = find_cut(entries, range.clone(), keep);
    let cut = past_omitted_attempt(entries, range.clone(), keep, cut);
    let first_kept = entries.get(cut.first_kept)?.entry.id.clone();
    let history_end = cut.turn_start.unwrap_or(cut.first_kept);
    let to_summarize = messages(&entries[range.start..history_end]);
    let turn_prefix = messages(&entries[history_end..cut.first_kept]);
    if first_kept.is_empty() || (to_summarize.is_empty() && turn_prefix.is_empty()) {
        return None;
    }
    let mut file_ops = FileOps::default();
    if let Some((_, compaction)) = previous
        && compaction.from_hook != Some(true)
        && let Some(details) = &compaction.details
    {
        file_ops.add_details(details);
    }
    to_summarize
        .iter()
        .chain(&turn_prefix)
        .for_each(|message| file_ops.add_message(message, effects));
    Some(CompactionPreparation {
        first_kept,
        to_summarize,
        turn_prefix,
        kept: messages(&entries[cut.first_kept..]),
        is_split_turn: cut.turn_start.is_some(),
        tokens_before: projected_tokens(entries).tokens,
        previous_summary: previous.map(|(_, compaction)| compaction.summary.clone()),
        previous_facts: previous.and_then(|(_, compaction)| Facts::stored_with(compaction)),
        file_ops,
        settings: settings.clone(),
    })
}

/// Returns the messages of entries. System messages are left out: a compaction stores their sum.
fn messages(entries: &[ProjectedEntry]) -> Vec<AgentMessage> {
    let messages = entries.iter().flat_map(|projected| &projected.messages);
    messages.filter(|message| message.role() != "system").cloned().collect()
}

/// Moves the cut past a message whose answer was removed from the context, if nothing else would be
/// kept: the message alone was too large. An edit that replaced content since then prevents that.
fn past_omitted_attempt(
    entries: &[ProjectedEntry],
    range: Range<usize>,
    keep: u64,
    cut: Cut,
) -> Cut {
    let visible = |projected: &ProjectedEntry| !projected.messages.is_empty();
    let Some(input) = (cut.first_kept..range.end).find(|at| visible(&entries[*at])) else {
        return cut;
    };
    let suffix = &entries[input + 1..range.end];
    let is_answer = |projected: &ProjectedEntry| {
        projected.entry.message().is_some_and(|message| message.as_assistant().is_some())
    };
    if suffix.iter().any(visible) || !suffix.iter().any(is_answer) {
        return cut;
    }
    if has_replacement(suffix) {
        return cut;
    }
    let all = entries[range.clone()].iter().flat_map(|projected| &projected.messages);
    if all.map(message_tokens).sum::<u64>() < keep {
        return cut; // everything fits
    }
    let first_kept = input + 1;
    Cut { first_kept, turn_start: split_turn(entries, range, first_kept) }
}

/// Returns true if one of these entries replaces the content of another one.
fn has_replacement(entries: &[ProjectedEntry]) -> bool {
    let mut replaced = HashSet::new();
    for projected in entries {
        if let EntryBody::ContextEdit(edit) = &projected.entry.body {
            match edit.replacement {
                Some(_) => replaced.insert(edit.target_id.as_str()),
                None => replaced.remove(edit.target_id.as_str()),
            };
        }
    }
    !replaced.is_empty()
}
