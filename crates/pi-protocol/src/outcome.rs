//! The table of outcomes: how a turn, a checked run, or the process that performs it ends.
//!
//! Each outcome has one row with its name, exit code, stop reason and sentence as columns. No other
//! file knows the numbers. The data of an outcome, such as the limit that was reached, belongs to
//! the code that reports it.

use std::process::ExitCode;

/// An outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The answer is complete.
    Completed,
    /// The run ended in order, but without an answer.
    NoAnswer,
    /// The run or the command failed.
    Failed,
    /// The command line is invalid.
    Usage,
    /// The answer was cut off.
    Truncated,
    /// A limit was reached, or the model repeated itself.
    Limit,
    /// No model can be used.
    NoModel,
    /// A configuration file cannot be used.
    Configuration,
    /// This version does not have the feature.
    Unavailable,
    /// The required sandbox cannot be had.
    SandboxUnavailable,
    /// The result does not match its schema.
    InvalidOutput,
    /// A guardrail or hook stopped the run.
    Guardrail,
    /// A guardrail or hook blocked the prompt.
    Blocked,
    /// The process crashed.
    Crashed,
    /// The terminal was closed.
    HungUp,
    /// The run was aborted.
    Aborted,
    /// Standard output was closed.
    BrokenPipe,
    /// A signal ended the process.
    Terminated,
    /// All checks passed.
    Converged,
    /// A check failed.
    FailedVerification,
    /// The agent makes no progress.
    Stuck,
    /// The model declined the task.
    Refused,
    /// The policy forbids a required action.
    Forbidden,
    /// An action waits for approval.
    NeedsApproval,
    /// The provider failed for good.
    ProviderFailed,
    /// The provider failed for now.
    ProviderUnavailable,
    /// The contract cannot be run.
    InvalidTask,
    /// A checked run was interrupted and can be resumed.
    Interrupted,
}

/// The row of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutcomeRow {
    /// The name, as protocols and reports contain it. Rows of one name differ in their stop reason.
    pub name: &'static str,
    /// Exit code of a process that ends like this.
    pub exit_code: u8,
    /// Stop reason of a prompt in the Agent Client Protocol; `None` if the prompt is answered with
    /// an error.
    pub stop: Option<StopCause>,
    /// Sentence for help and documentation, without a full stop.
    pub sentence: &'static str,
}

/// The stop reasons of the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopCause {
    /// The model has ended its turn.
    EndTurn,
    /// The model, or the run, has no tokens left.
    MaxTokens,
    /// The run has no requests left.
    MaxTurnRequests,
    /// The prompt was not sent to the model.
    Refusal,
    /// The client cancelled the prompt.
    Cancelled,
}

impl StopCause {
    /// Returns the name in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
        }
    }
}

impl OutcomeRow {
    const fn stops(self, stop: StopCause) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Returns the row with another sentence, for a table that documents one kind of run.
    #[must_use]
    pub const fn with_sentence(self, sentence: &'static str) -> Self {
        Self { sentence, ..self }
    }
}

const fn row(name: &'static str, exit_code: u8, sentence: &'static str) -> OutcomeRow {
    OutcomeRow { name, exit_code, stop: None, sentence }
}

impl Outcome {
    /// The exit codes of the program, in the order of the documentation. Those of checked runs are
    /// documented with them.
    pub const EXITS: &[Self] = &[
        Self::Completed,
        Self::Failed,
        Self::Usage,
        Self::Truncated,
        Self::Limit,
        Self::NoModel,
        Self::Configuration,
        Self::Unavailable,
        Self::SandboxUnavailable,
        Self::InvalidOutput,
        Self::Guardrail,
        Self::Crashed,
        Self::HungUp,
        Self::Aborted,
        Self::BrokenPipe,
        Self::Terminated,
    ];

    /// Returns the row of the outcome.
    pub const fn row(self) -> OutcomeRow {
        use StopCause::{Cancelled, EndTurn, MaxTokens, Refusal};
        match self {
            Self::Completed => {
                row("completed", 0, "Success; the answer is complete").stops(EndTurn)
            }
            Self::Converged => row("converged", 0, "All checks passed after the last change"),
            Self::Failed => row(
                "failed",
                1,
                "Failure, for example an error of the provider or an unknown session",
            ),
            Self::NoAnswer => row("failed", 1, "The model gave no answer").stops(EndTurn),
            Self::ProviderFailed => {
                row("provider-failed", 1, "The provider failed, and a retry would not help")
            }
            Self::Usage => row("usage", 2, "Invalid command line"),
            Self::InvalidTask => row("invalid-task", 2, "The task or the command line is invalid"),
            Self::Truncated => {
                row("truncated", 3, "The answer was cut off at the model's output limit")
                    .stops(MaxTokens)
            }
            Self::Limit => {
                row("limit", 4, "A limit of the run was reached before the work was done")
            }
            Self::NoModel => {
                row("no-model", 5, "No model that can be used, or no valid credentials for it")
            }
            Self::Configuration => row("configuration", 6, "A configuration file cannot be used"),
            Self::Unavailable => row("unavailable", 7, "Not available in this version"),
            Self::SandboxUnavailable => {
                row("sandbox-unavailable", 8, "Commands cannot be sandboxed as required")
            }
            Self::FailedVerification => {
                row("failed-verification", 10, "A check failed, and no round or attempt is left")
            }
            Self::Stuck => row("stuck", 11, "The agent repeats itself or makes no progress"),
            Self::InvalidOutput => row(
                "invalid-output",
                12,
                "The result does not match the schema after the last repair",
            ),
            Self::Refused => row("refused", 13, "The model declined the task"),
            Self::Forbidden => {
                row("forbidden", 14, "The work needs an action that the policy forbids")
            }
            Self::NeedsApproval => {
                row("needs-approval", 15, "An action waits for approval; resume with --approve")
            }
            Self::Guardrail => {
                row("guardrail", 16, "A guardrail or hook blocked the prompt or stopped the run")
            }
            Self::Blocked => {
                row("guardrail", 16, "A guardrail or hook blocked the prompt").stops(Refusal)
            }
            Self::ProviderUnavailable => {
                row("provider-unavailable", 75, "The provider is unavailable; retry later")
            }
            // The exit code of Rust programs after a panic.
            Self::Crashed => row("crashed", 101, "Crash; a report was written"),
            // The codes that shells report after SIGHUP, SIGINT, SIGPIPE and SIGTERM.
            Self::HungUp => row("hung-up", 129, "The terminal was closed"),
            Self::Aborted => row("aborted", 130, "Interrupted").stops(Cancelled),
            Self::Interrupted => row("interrupted", 130, "Interrupted; the run can be resumed"),
            Self::BrokenPipe => row("broken-pipe", 141, "Standard output was closed"),
            Self::Terminated => row("terminated", 143, "Terminated by a signal"),
        }
    }

    /// Returns the name, as protocols and reports contain it.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the exit code.
    pub const fn exit_code(self) -> u8 {
        self.row().exit_code
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.exit_code())
    }
}
