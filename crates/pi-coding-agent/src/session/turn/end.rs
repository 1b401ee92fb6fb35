//! The end of a turn: one value, with its row in the table of outcomes.

use std::sync::Arc;

use pi_agent::{Limit, Outcome};
use pi_ai::{FailureKind, ProviderFailure};
use pi_protocol::{AssistantMessage, Outcome as Row, StopCause, StopReason};
use serde_json::Value;

use super::RunUsage;
use crate::session::{AgentSession, InvalidOutput, PromptError};

/// The end of a turn.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndedTurn {
    /// The row in the table of outcomes.
    pub outcome: Row,
    /// The outcome of the last run with its data, or the reason why a prompt was not accepted.
    pub run: Result<Outcome, PromptError>,
    /// The model was asked; false for a command that needed no model, or replaced the session.
    pub is_asked: bool,
    /// The last answer of the turn. An answer in a session that replaced this one does not count.
    pub answer: Option<Arc<AssistantMessage>>,
    /// The structured result, if one was collected.
    pub result: Option<Result<Arc<Value>, InvalidOutput>>,
    /// The session of the turn.
    pub session: AgentSession,
    /// The session that replaced it during the turn.
    pub replaced: Option<AgentSession>,
    pub(super) first_entry: usize,
}

impl EndedTurn {
    /// Returns the end of a turn whose prompt was not accepted.
    pub(super) fn refused(session: &AgentSession, error: PromptError) -> Self {
        Self {
            outcome: error.outcome(),
            run: Err(error),
            is_asked: false,
            answer: None,
            result: None,
            session: session.clone(),
            replaced: None,
            first_entry: session.entry_count(),
        }
    }

    /// Returns the usage of the turn, from the entries that it added to the log.
    pub fn usage(&self) -> RunUsage {
        self.session.usage_since(self.first_entry)
    }

    /// Returns the stop reason of the prompt; `None` if the turn ended in an error.
    pub fn stop(&self) -> Option<StopCause> {
        let is_cut =
            || self.answer.as_ref().is_some_and(|one| one.stop_reason == StopReason::Length);
        match &self.run {
            Ok(Outcome::Limit { limit: Limit::Turns }) => Some(StopCause::MaxTurnRequests),
            Ok(Outcome::Limit { limit: Limit::Tokens }) => Some(StopCause::MaxTokens),
            Ok(Outcome::Completed) if is_cut() => Some(StopCause::MaxTokens),
            _ => self.outcome.row().stop,
        }
    }

    /// Returns the reason why there is no complete answer, as a clause without a full stop.
    pub fn reason(&self) -> Option<String> {
        Some(match &self.run {
            Err(error) => error.to_string(),
            Ok(Outcome::Completed) => match (self.outcome, &self.result) {
                (_, Some(Err(invalid))) => {
                    format!(
                        "the result does not match the schema: {}",
                        invalid.problems().join("; ")
                    )
                }
                (Row::NoAnswer, _) => "the model gave no answer".to_owned(),
                (Row::Truncated, _) => {
                    "the answer was cut off at the model's output limit".to_owned()
                }
                _ => return None,
            },
            Ok(Outcome::Failed { error }) => error.clone(),
            Ok(Outcome::Aborted) => "the run was aborted".to_owned(),
            Ok(Outcome::Limit { limit }) => format!("the run ended at a limit: {limit}"),
            Ok(Outcome::Suspended) => "the run waits for an approval".to_owned(),
            Ok(Outcome::Stopped { by, reason }) => format!("the run was stopped by {by}: {reason}"),
            Ok(Outcome::Repetition { repetition }) => {
                format!("the run ended because the model repeated itself: {repetition}")
            }
            Ok(_) => "the run ended without an answer".to_owned(),
        })
    }
}

impl PromptError {
    /// Returns the row in the table of outcomes.
    pub fn outcome(&self) -> Row {
        match self {
            Self::NoModel | Self::Unusable(_) => Row::NoModel,
            Self::Blocked { .. } => Row::Blocked,
            Self::Cancelled => Row::Aborted,
            _ => Row::Failed,
        }
    }
}

/// Returns the row in the table of outcomes.
pub(super) fn outcome(
    run: &Result<Outcome, PromptError>,
    session: &AgentSession,
    is_asked: bool,
    result: Option<&Result<Arc<Value>, InvalidOutput>>,
) -> Row {
    let outcome = match run {
        Ok(outcome) => outcome,
        Err(error) => return error.outcome(),
    };
    let messages = session.messages();
    let last = messages.last().and_then(|message| message.as_assistant());
    match outcome {
        Outcome::Completed => match result {
            Some(Ok(_)) => Row::Completed,
            Some(Err(_)) => Row::InvalidOutput,
            // A command needs no answer.
            None if !is_asked => Row::Completed,
            None => match last.filter(|last| !last.text().trim().is_empty()) {
                None => Row::NoAnswer,
                Some(last) if last.stop_reason == StopReason::Length => Row::Truncated,
                Some(_) => Row::Completed,
            },
        },
        Outcome::Failed { error } => match last {
            // Only requests have a duration; other failures of a run do not concern the provider.
            Some(last) if last.duration_ms.is_some() => {
                failure_outcome(last.error_message.as_deref().unwrap_or(error))
            }
            _ => Row::Failed,
        },
        Outcome::Aborted => Row::Aborted,
        Outcome::Limit { .. } | Outcome::Repetition { .. } => Row::Limit,
        Outcome::Suspended => Row::NeedsApproval,
        Outcome::Stopped { .. } => Row::Guardrail,
        _ => Row::Failed,
    }
}

/// Returns the row for an error of a provider.
pub fn failure_outcome(error: &str) -> Row {
    match ProviderFailure::of(error).kind {
        FailureKind::NoCredential
        | FailureKind::RejectedCredential
        | FailureKind::ExpiredCredential
        | FailureKind::Forbidden
        | FailureKind::Unsupported => Row::NoModel,
        _ => Row::Failed,
    }
}
