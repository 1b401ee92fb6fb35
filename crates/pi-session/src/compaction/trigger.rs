//! Whether to compact now. Pure: everything it looks at is handed in.
//!
//! What an overflow looks like is the business of those who talk to providers; the caller
//! classifies the answer and this module decides what follows from it.

use pi_protocol::{AgentMessage, AssistantMessage, EntryBody, Message, Model, StopReason};

use super::estimate::{context_tokens, projected_tokens, usage_tokens};
use super::{CompactionSettings, boundary};
use crate::{ProjectedEntry, time};

/// When the question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckTime {
    /// A run has ended.
    AfterRun,
    /// The user is about to send something.
    BeforePrompt,
}

/// What the caller knows of the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is not a sign of a full context.
    No,
    /// The conversation did not fit: the provider said so, or its counts show it.
    Exceeded,
    /// It was cut off before the model's own limit, for lack of room.
    Truncated,
}

/// The facts that decide.
#[derive(Debug, Clone)]
pub struct CompactionCheck<'a> {
    /// When the question is asked.
    pub when: CheckTime,
    /// The last answer.
    pub answer: &'a AssistantMessage,
    /// What it says about the size of the conversation.
    pub overflow: Overflow,
    /// The current model.
    pub model: &'a Model,
    /// The model that the current one stands for, if it only stands for another.
    pub routed: Option<&'a Model>,
    /// When the branch was last compacted, in milliseconds since the epoch.
    pub compacted_at: Option<f64>,
    /// Compacting and asking again has been tried since the user last said something.
    pub recovery_attempted: bool,
    /// The context has been edited since, so that the provider's count is about another one.
    pub edited: bool,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionDecision {
    /// Go on.
    Nothing,
    /// Compact: the context is nearly full.
    Threshold,
    /// Compact: the conversation did not fit.
    Overflow {
        /// Ask again afterwards, without the failed attempt; see
        /// [`plan_recovery`](super::plan_recovery).
        retry: bool,
    },
    /// It has been tried, and was not enough. The text is for the user.
    GiveUp(&'static str),
}

const STILL_TOO_LARGE: &str = "Context overflow recovery failed after one compact-and-retry \
    attempt. Continue with a model that has a larger context window, or go back to an earlier \
    point of the conversation.";
const STILL_TRUNCATED: &str =
    "Truncated response recovery failed after one compact-and-retry attempt.";

/// Whether a context of this size leaves less free than is reserved.
pub fn should_compact(tokens: u64, context_window: u64, settings: &CompactionSettings) -> bool {
    // A window of 0 is one that nobody knows.
    settings.enabled
        && context_window > 0
        && tokens.saturating_add(settings.reserve_tokens) > context_window
}

/// Decides whether to compact. `estimate` is asked only if the last answer has no count of its
/// own that can be trusted; [`estimated_tokens`] answers it.
pub fn decide(
    check: &CompactionCheck<'_>,
    settings: &CompactionSettings,
    estimate: impl FnOnce() -> Option<u64>,
) -> CompactionDecision {
    let answer = check.answer;
    if !settings.enabled
        || (check.when == CheckTime::AfterRun && answer.stop_reason == StopReason::Aborted)
    {
        return CompactionDecision::Nothing;
    }
    // An answer from before the compaction, kept by it, says nothing about the context now.
    if check.compacted_at.is_some_and(|compacted| answer.timestamp <= compacted) {
        return CompactionDecision::Nothing;
    }
    if check.overflow != Overflow::No && check.is_from_current_model() {
        return check.recover();
    }
    let counted = usage_tokens(answer);
    let trusted = counted > 0 && answer.stop_reason != StopReason::Error && !check.edited;
    let tokens = if trusted { Some(counted) } else { estimate() };
    match tokens {
        Some(tokens) if should_compact(tokens, check.model.context_window, settings) => {
            CompactionDecision::Threshold
        }
        _ => CompactionDecision::Nothing,
    }
}

impl CompactionCheck<'_> {
    /// Another model's overflow is none of ours: the user may have switched because of it.
    fn is_from_current_model(&self) -> bool {
        let is =
            |model: &Model| model.provider == self.answer.provider && model.id == self.answer.model;
        is(self.model) || self.routed.is_some_and(is)
    }

    fn recover(&self) -> CompactionDecision {
        // The answer is whole; only the next one would suffer.
        if self.answer.stop_reason == StopReason::Stop {
            return CompactionDecision::Overflow { retry: false };
        }
        match (self.recovery_attempted, self.overflow) {
            (false, _) => CompactionDecision::Overflow { retry: true },
            (true, Overflow::Truncated) => CompactionDecision::GiveUp(STILL_TRUNCATED),
            (true, _) => CompactionDecision::GiveUp(STILL_TOO_LARGE),
        }
    }
}

/// The size of the context when the last answer has no count to be trusted; `None` if nothing
/// has been counted since the last compaction.
pub fn estimated_tokens(entries: &[ProjectedEntry]) -> Option<u64> {
    let is_edit =
        |projected: &ProjectedEntry| matches!(projected.entry.body, EntryBody::ContextEdit(_));
    if entries.iter().any(is_edit) {
        return Some(projected_tokens(entries).tokens);
    }
    let messages: Vec<&AgentMessage> =
        entries.iter().flat_map(|projected| &projected.messages).collect();
    let estimate = context_tokens(messages.iter().copied());
    let AgentMessage::Llm(Message::Assistant(counted)) = messages[estimate.last_usage_index?]
    else {
        return None;
    };
    let compacted = boundary::previous(entries)
        .and_then(|(entry, _)| time::parse_ms(&entry.timestamp))
        .map(|milliseconds| milliseconds as f64);
    if compacted.is_some_and(|compacted| counted.timestamp <= compacted) {
        return None;
    }
    Some(estimate.tokens)
}
