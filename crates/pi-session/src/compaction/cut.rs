//! Where to cut: what comes before is summarised, what comes after is kept word for word.
//!
//! A tool result never begins the kept part, because models refuse a result without its call. A
//! cut may fall inside a turn (one request of the user with all the work it caused); then the
//! beginning of that turn is summarised on its own.

use std::ops::Range;

use pi_protocol::{AgentMessage, CustomMessage, EntryBody, Message};

use super::estimate::message_tokens;
use crate::ProjectedEntry;
use crate::roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage,
};

/// Where the kept part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first entry that is kept.
    pub first_kept: usize,
    /// Where the turn begins that the cut splits, if it splits one.
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

/// The first entry that may begin the kept part and leaves it no larger than needed.
fn first_kept(
    entries: &[ProjectedEntry],
    range: Range<usize>,
    keep_recent_tokens: u64,
) -> Option<usize> {
    let mut kept = 0;
    // The cut point nearest after the entry looked at; walking backwards finds it on the way.
    let mut nearest = None;
    for at in range.clone().rev() {
        let entry = &entries[at];
        if may_begin(entry) {
            nearest = Some(at);
        }
        let tokens: u64 = entry.messages.iter().map(message_tokens).sum();
        kept += tokens;
        if tokens > 0 && kept >= keep_recent_tokens {
            // Results alone are more than the budget: their call stays with them.
            return nearest.or_else(|| (range.start..at).rfind(|at| may_begin(&entries[*at])));
        }
    }
    nearest
}

/// State and bookmarks directly before the cut belong to what follows them.
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

/// Where the turn begins that a cut at `at` splits. What counts is the first message that is
/// kept: state in front of it does not make a whole turn half a one.
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

/// Whether the kept part may begin with this entry.
fn may_begin(projected: &ProjectedEntry) -> bool {
    let assistant = |message: &AgentMessage| message.as_assistant().is_some();
    !is_compaction(projected)
        && projected.messages.iter().any(|message| assistant(message) || is_request(message))
}

/// Whether a turn begins with this entry.
fn begins_turn(projected: &ProjectedEntry) -> bool {
    !is_compaction(projected) && projected.messages.iter().any(is_request)
}

fn is_compaction(projected: &ProjectedEntry) -> bool {
    matches!(projected.entry.body, EntryBody::Compaction(_))
}

/// What a model reads as said by the user.
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
