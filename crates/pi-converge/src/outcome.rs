//! The outcomes of a run: one table for exit codes, reports, help and documentation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// All checks passed, run by the runtime after the last change.
    Converged,
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

    /// Returns the exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Converged => 0,
            Self::ProviderFailed | Self::Failed => 1,
            Self::InvalidTask => 2,
            Self::Limit => 4,
            Self::NoModel => 5,
            Self::Configuration => 6,
            Self::SandboxUnavailable => 8,
            Self::FailedVerification => 10,
            Self::Stuck => 11,
            Self::InvalidOutput => 12,
            Self::Refused => 13,
            Self::Forbidden => 14,
            Self::NeedsApproval => 15,
            Self::Guardrail => 16,
            Self::ProviderUnavailable => 75,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns the name, as reports contain it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::FailedVerification => "failed-verification",
            Self::Stuck => "stuck",
            Self::InvalidOutput => "invalid-output",
            Self::Refused => "refused",
            Self::Limit => "limit",
            Self::Forbidden => "forbidden",
            Self::NeedsApproval => "needs-approval",
            Self::Guardrail => "guardrail",
            Self::ProviderFailed => "provider-failed",
            Self::ProviderUnavailable => "provider-unavailable",
            Self::InvalidTask => "invalid-task",
            Self::NoModel => "no-model",
            Self::Configuration => "configuration",
            Self::SandboxUnavailable => "sandbox-unavailable",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }

    /// Returns the description for the help and the documentation.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Converged => "All checks passed after the last change",
            Self::FailedVerification => "A check failed, and no round or attempt is left",
            Self::Stuck => "The agent repeats itself or makes no progress",
            Self::InvalidOutput => "The result does not match the output contract",
            Self::Refused => "The model declined the task",
            Self::Limit => "A limit was reached; the report names it",
            Self::Forbidden => "The work needs an action that the policy forbids",
            Self::NeedsApproval => "An action waits for approval; resume with --approve",
            Self::Guardrail => "A guardrail or hook stopped the run",
            Self::ProviderFailed => "The provider failed, and a retry would not help",
            Self::ProviderUnavailable => "The provider is unavailable; retry later",
            Self::InvalidTask => "The task or the command line is invalid",
            Self::NoModel => "No model that can be used, or no valid credentials for it",
            Self::Configuration => "A configuration file cannot be used",
            Self::SandboxUnavailable => "Commands cannot be sandboxed as required",
            Self::Failed => "The run itself failed, for example because the disk is full",
            Self::Interrupted => "Interrupted; the run can be resumed",
            Self::Terminated => "Terminated by a signal; the run can be resumed",
        }
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
