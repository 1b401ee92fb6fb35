//! The cut: messages before it are summarized, messages after it are kept verbatim.
//!
//! A tool result never begins the kept part, because models reject a result without its call. A
//! cut may split a turn (a request of the user with all the work it caused); then the beginning of
//! that turn is summarized on its own.

use std::ops::Range;

use pi_protocol::{AgentMessage, CustomMessage, EntryBody, Message};

use super::estimate::message_tokens;
use crate::ProjectedEntry;
use crate::roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage,
};

/// A cut, as indices of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The first entry that is kept.
    pub first_kept: usize,
    /// The first entry of the turn that the cut splits, if it splits one.
    pub turn_start: Option<usize>,
}

/// Finds the cut that keeps about `keep_recent_tokens` of the entries in `range`.
pub fn find_cut(entries: &[ProjectedEntry], range: Range<usize>, keep_recent_tokens: u64) -> Cut {
    let range = range.start..range.end.min(entries.len());
    let first_kept = match first_kept(entries, range.clone(), keep_recent_tokens) {
        Some(at) => back_over_invisible(entries, range.start, at),
        None => return Cut { first_kept: range.start, turn_start: None },
    };
    Cut { first_kept, turn_start: split_turn(entries, range, first_kept) }
}

/// Returns the first entry that may begin the kept part and keeps that no larger than required.
fn first_kept(
    entries: &[ProjectedEntry],
    range: Range<usize>,
    keep_recent_tokens: u64,
) -> Option<usize> {
    let mut kept = 0;
    // The nearest cut point at or after the current entry.
    let mut nearest = None;
    for at in range.clone().rev() {
        let entry = &entries[at];
        if may_begin(entry) {
            nearest = Some(at);
        }
        let tokens: u64 = entry.messages.iter().map(message_tokens).sum();
        kept += tokens;
        if tokens > 0 && kept >= keep_recent_tokens {
            // Results alone exceed the budget: their call stays with them.
            return nearest.or_else(|| (range.start..at).rfind(|at| may_begin(&entries[*at])));
        }
    }
    nearest
}

/// Moves the cut before state and labels, which belong to what follows them.
fn back_over_invisible(entries: &[ProjectedEntry], start: usize, mut at: usize) -> usize {
    while at > start {
        let before = &entries[at - 1];
        if !before.messages.is_empty() || matches!(before.entry.body, EntryBody::Compaction(_)) {
            break;
        }
        at -= 1;
    }
    at
}

/// Returns the beginning of the turn that a cut at `at` splits. The first kept message decides:
/// state before it does not split a turn.
pub(super) fn split_turn(
    entries: &[ProjectedEntry],
    range: Range<usize>,
    at: usize,
) -> Option<usize> {
    let mut kept = entries[at..range.end].iter();
    if kept.find(|entry| !entry.messages.is_empty()).is_some_and(begins_turn) {
        return None;
    }
    let turn = entries[range.start..at].iter().rposition(begins_turn);
    turn.map(|offset| range.start + offset)
}

/// Returns true if the kept part may begin with this entry.
fn may_begin(projected: &ProjectedEntry) -> bool {
    let assistant = |message: &AgentMessage| message.as_assistant().is_some();
    !is_compaction(projected)
        && projected.messages.iter().any(|message| assistant(message) || is_request(message))
}

/// Returns true if a turn begins with this entry.
fn begins_turn(projected: &ProjectedEntry) -> bool {
    !is_compaction(projected) && projected.messages.iter().any(is_request)
}

fn is_compaction(projected: &ProjectedEntry) -> bool {
    matches!(projected.entry.body, EntryBody::Compaction(_))
}

/// Returns true if a model reads the message as one of the user.
fn is_request(message: &AgentMessage) -> bool {
    match message {
        AgentMessage::Llm(message) => matches!(message, Message::User(_)),
        AgentMessage::Custom(_) => matches!(
            message.role(),
            BashExecution::ROLE
                | ExtensionMessage::ROLE
                | BranchSummaryMessage::ROLE
                | CompactionSummaryMessage::ROLE
        ),
    }
}
