//! What a compaction would summarise and what it would keep, worked out before anything happens.

use std::collections::HashSet;
use std::ops::Range;

use pi_protocol::{AgentMessage, EntryBody};

use super::cut::{Cut, find_cut, split_turn};
use super::{CompactionSettings, Facts, FileOps, boundary, message_tokens, projected_tokens};
use crate::{EffectsResolver, ProjectedEntry};

/// A compaction, ready to be summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPreparation {
    /// The id of the first entry that is kept.
    pub first_kept: String,
    /// What is replaced by the summary.
    pub to_summarize: Vec<AgentMessage>,
    /// The beginning of a split turn, which is summarised on its own.
    pub turn_prefix: Vec<AgentMessage>,
    /// What is kept word for word.
    pub kept: Vec<AgentMessage>,
    /// The cut falls inside a turn.
    pub is_split_turn: bool,
    /// The size of the context before.
    pub tokens_before: u64,
    /// The summary of the previous compaction, to be carried on.
    pub previous_summary: Option<String>,
    /// What the previous compaction had to carry over.
    pub previous_facts: Option<Facts>,
    /// The files that the summarised part read and changed.
    pub file_ops: FileOps,
    /// The settings it was prepared with.
    pub settings: CompactionSettings,
}

/// Prepares a compaction of the current context; `None` if there is nothing to summarise.
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

/// System messages are left out: a compaction stores what they add up to.
fn messages(entries: &[ProjectedEntry]) -> Vec<AgentMessage> {
    let messages = entries.iter().flat_map(|projected| &projected.messages);
    messages.filter(|message| message.role() != "system").cloned().collect()
}

/// If all that would be kept is one message and an answer to it that was taken out of the
/// context, that message alone was too much: it is summarised too. Not if what the answer was
/// given to has been replaced since.
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

/// Whether these entries leave another one with other content.
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
