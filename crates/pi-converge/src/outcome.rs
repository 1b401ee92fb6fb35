//! The outcomes of a checked run, a part of the table of outcomes.

use pi_ai::{FailureKind, ProviderFailure};
use pi_protocol::{Outcome as Row, OutcomeRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// All checks passed, run by the runtime after the last change.
    Converged,
    /// The checks pass, but after a change that may have decided them, such as that of a test. A
    /// person should look at the files that the report names.
    NeedsReview,
    /// A check failed, and no round or attempt is left.
    FailedVerification,
    /// The agent repeats itself or makes no progress.
    Stuck,
    /// The result does not match the output contract after the last repair.
    InvalidOutput,
    /// The model declined the task.
    Refused,
    /// A limit was reached.
    Limit,
    /// The work needs an action that the policy forbids.
    Forbidden,
    /// An action waits for approval. The run can be resumed.
    NeedsApproval,
    /// A guardrail or hook stopped the run.
    Guardrail,
    /// The provider failed for good: an invalid request, an invalid key, no quota.
    ProviderFailed,
    /// The provider failed for now. A later run can succeed.
    ProviderUnavailable,
    /// The contract cannot be run as written.
    InvalidTask,
    /// No model that can be used, or no valid credentials for it.
    NoModel,
    /// A configuration file cannot be used.
    Configuration,
    /// Commands cannot be sandboxed as required.
    SandboxUnavailable,
    /// The runtime itself failed, such as a full disk.
    #[default]
    Failed,
    /// Interrupted by the user. The run can be resumed.
    Interrupted,
    /// Terminated by a signal. The run can be resumed.
    Terminated,
}

impl Outcome {
    /// All outcomes, in the order of the documentation.
    pub const ALL: &[Self] = &[
        Self::Converged,
        Self::NeedsReview,
        Self::FailedVerification,
        Self::Stuck,
        Self::InvalidOutput,
        Self::Refused,
        Self::Limit,
        Self::Forbidden,
        Self::NeedsApproval,
        Self::Guardrail,
        Self::ProviderFailed,
        Self::ProviderUnavailable,
        Self::InvalidTask,
        Self::NoModel,
        Self::Configuration,
        Self::SandboxUnavailable,
        Self::Failed,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns the row of the table of outcomes. Sentences speak of runs where the table speaks of
    /// the program.
    pub const fn row(self) -> OutcomeRow {
        match self {
            Self::Converged => Row::Converged.row(),
            Self::NeedsReview => Row::NeedsReview.row(),
            Self::FailedVerification => Row::FailedVerification.row(),
            Self::Stuck => Row::Stuck.row(),
            Self::InvalidOutput => Row::InvalidOutput
                .row()
                .with_sentence("The result does not match the output contract"),
            Self::Refused => Row::Refused.row(),
            Self::Limit => {
                Row::Limit.row().with_sentence("A limit was reached; the report names it")
            }
            Self::Forbidden => Row::Forbidden.row(),
            Self::NeedsApproval => Row::NeedsApproval.row(),
            Self::Guardrail => {
                Row::Guardrail.row().with_sentence("A guardrail or hook stopped the run")
            }
            Self::ProviderFailed => Row::ProviderFailed.row(),
            Self::ProviderUnavailable => Row::ProviderUnavailable.row(),
            Self::InvalidTask => Row::InvalidTask.row(),
            Self::NoModel => Row::NoModel.row(),
            Self::Configuration => Row::Configuration.row(),
            Self::SandboxUnavailable => Row::SandboxUnavailable.row(),
            Self::Failed => Row::Failed
                .row()
                .with_sentence("The run itself failed, for example because the disk is full"),
            Self::Interrupted => Row::Interrupted.row(),
            Self::Terminated => Row::Terminated
                .row()
                .with_sentence("Terminated by a signal; the run can be resumed"),
        }
    }

    /// Returns the outcome of a run whose last request failed with this error.
    pub(crate) fn of_provider_failure(error: &str) -> Self {
        match ProviderFailure::of(error).kind {
            FailureKind::NoCredential
            | FailureKind::RejectedCredential
            | FailureKind::ExpiredCredential => Self::NoModel,
            FailureKind::ContentFilter => Self::Refused,
            FailureKind::RateLimit
            | FailureKind::Overloaded
            | FailureKind::ServerError
            | FailureKind::Quota
            | FailureKind::PlanLimit
            | FailureKind::UnknownHost
            | FailureKind::ConnectionRefused
            | FailureKind::Connection
            | FailureKind::TimedOut
            | FailureKind::EndedEarly => Self::ProviderUnavailable,
            _ => Self::ProviderFailed,
        }
    }

    /// Returns the exit code.
    pub const fn exit_code(self) -> u8 {
        self.row().exit_code
    }

    /// Returns the name, as reports contain it.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns true if the checks pass with the result, which is therefore kept.
    pub const fn has_result(self) -> bool {
        matches!(self, Self::Converged | Self::NeedsReview)
    }

    /// Returns true if the run can be resumed at the point where it ended.
    pub fn is_resumable(self) -> bool {
        matches!(
            self,
            Self::NeedsApproval | Self::ProviderUnavailable | Self::Interrupted | Self::Terminated
        )
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
