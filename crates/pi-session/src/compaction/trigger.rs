//! The decision to compact. Pure: depends on its arguments only.
//!
//! The caller classifies the answer, since recognizing an overflow requires knowledge of providers.

use pi_protocol::{AgentMessage, AssistantMessage, EntryBody, Message, Model, StopReason};

use super::estimate::{context_tokens, projected_tokens, usage_tokens};
use super::{CompactionSettings, boundary};
use crate::{ProjectedEntry, time};

/// The time of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckTime {
    /// After a run.
    AfterRun,
    /// Before a prompt of the user is sent.
    BeforePrompt,
}

/// The relation of the last answer to the size of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// The answer shows no overflow.
    No,
    /// The conversation did not fit, by the error or the counts of the provider.
    Exceeded,
    /// The answer was cut off below the output limit of the model, for lack of room.
    Truncated,
}

/// The facts on which [`decide`] decides.
#[derive(Debug, Clone)]
pub struct CompactionCheck<'a> {
    /// The time of the check.
    pub when: CheckTime,
    /// The last answer of the model.
    pub answer: &'a AssistantMessage,
    /// The relation of the answer to the size of the context.
    pub overflow: Overflow,
    /// The model currently in use.
    pub model: &'a Model,
    /// The model to which the current one routes requests, if it is an alias.
    pub routed: Option<&'a Model>,
    /// Time of the last compaction of the branch, in milliseconds since the epoch.
    pub compacted_at: Option<f64>,
    /// A compaction with retry was attempted since the last message of the user.
    pub recovery_attempted: bool,
    /// The context was edited after the answer, so the count of the provider does not apply.
    pub edited: bool,
}

/// The result of [`decide`]. Exhaustive: a caller has to act on every decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionDecision {
    /// Do not compact.
    Nothing,
    /// Compact, since the context is nearly full.
    Threshold,
    /// Compact, since the conversation did not fit.
    Overflow {
        /// Retry afterwards without the failed attempt; see
        /// [`plan_recovery`](super::plan_recovery).
        retry: bool,
    },
    /// Do not compact, since that did not help before. The text is for the user.
    GiveUp(&'static str),
}

const STILL_TOO_LARGE: &str = "Context overflow recovery failed after one compact-and-retry \
    attempt. Continue with a model that has a larger context window, or go back to an earlier \
    point of the conversation.";
const STILL_TRUNCATED: &str =
    "Truncated response recovery failed after one compact-and-retry attempt.";

/// Returns true if a context of this size leaves less room than is reserved.
pub fn should_compact(tokens: u64, context_window: u64, settings: &CompactionSettings) -> bool {
    // A window of 0 is unknown.
    settings.enabled
        && context_window > 0
        && tokens.saturating_add(settings.reserve_tokens) > context_window
}

/// Decides whether to compact. `estimate` is called only if the count of the last answer does not
/// apply; [`estimated_tokens`] implements it.
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
    // An answer from before the compaction says nothing about the current context.
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
    /// Returns true if the current model gave the answer. An overflow of another model does not
    /// count: the user may have switched models because of it.
    fn is_from_current_model(&self) -> bool {
        let is =
            |model: &Model| model.provider == self.answer.provider && model.id == self.answer.model;
        is(self.model) || self.routed.is_some_and(is)
    }

    fn recover(&self) -> CompactionDecision {
        // The answer is complete; only the next one would not fit.
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

/// Estimates the size of the context if the count of the last answer does not apply; `None` if no
/// provider has counted since the last compaction.
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
