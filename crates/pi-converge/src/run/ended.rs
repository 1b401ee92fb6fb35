//! The end of a run or of the agent's part in it, with the reason.

use pi_agent::Limit;
use pi_coding_agent::guard::GuardError;
use pi_coding_agent::session::PromptError;
use pi_coding_agent::{CreateError, NotCreated};

use crate::outcome::Outcome;

/// An outcome with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, in one sentence or two.
    pub reason: String,
    /// The limit that was reached.
    pub limit: Option<Limit>,
}

impl Ended {
    /// Creates the end of a run.
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: reason.into(), limit: None }
    }

    /// Returns true if another attempt can have another outcome.
    pub(crate) fn may_be_retried(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::FailedVerification | Outcome::Stuck | Outcome::InvalidOutput
        )
    }

    pub(crate) fn at_limit(limit: Limit) -> Self {
        let reason = format!("The run reached its limit: {limit}.");
        Self { outcome: Outcome::Limit, reason, limit: Some(limit) }
    }
}

impl From<&NotCreated> for Ended {
    fn from(refused: &NotCreated) -> Self {
        Self::from(&refused.error)
    }
}

impl From<&CreateError> for Ended {
    fn from(error: &CreateError) -> Self {
        let outcome = match error {
            CreateError::Model(_) => Outcome::NoModel,
            CreateError::Guard(GuardError::Sandbox(_)) | CreateError::UnsandboxedExecutor(_) => {
                Outcome::SandboxUnavailable
            }
            CreateError::Guard(_) | CreateError::UnknownDefault(_) => Outcome::Configuration,
            CreateError::Tools(_)
            | CreateError::Resource(_)
            | CreateError::UnknownFlag(_)
            | CreateError::FlagValue(_) => Outcome::InvalidTask,
            _ => Outcome::Failed,
        };
        Self::new(outcome, error.to_string())
    }
}

impl From<PromptError> for Ended {
    fn from(error: PromptError) -> Self {
        let outcome = match &error {
            PromptError::NoModel | PromptError::Unusable(_) => Outcome::NoModel,
            PromptError::Blocked { .. } => Outcome::Guardrail,
            _ => Outcome::Failed,
        };
        Self::new(outcome, error.to_string())
    }
}
