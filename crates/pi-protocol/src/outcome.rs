//! The table of outcomes: how a turn, a checked run, or the process that performs it ends.
//!
//! Each outcome has one row with its name, exit code, stop reason and sentence as columns. No other
//! file knows the numbers. The data of an outcome, such as the limit that was reached, belongs to
//! the code that reports it.

use std::process::ExitCode;

use StopCause::{Cancelled, EndTurn, MaxTokens, Refusal};

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

/// Writes the enum and its rows from one table.
macro_rules! outcomes {
    ($($outcome:ident, $name:literal, $exit_code:literal, $stop:expr, $sentence:literal;)*) => {
        /// An outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Outcome {
            $(#[doc = concat!($sentence, ".")] $outcome,)*
        }

        impl Outcome {
            /// Returns the row of the outcome.
            pub const fn row(self) -> OutcomeRow {
                let (name, exit_code, stop, sentence) = match self {
                    $(Self::$outcome => ($name, $exit_code, $stop, $sentence),)*
                };
                OutcomeRow { name, exit_code, stop, sentence }
            }
        }
    };
}

outcomes! {
    Completed, "completed", 0, Some(EndTurn), "Success; the answer is complete";
    Converged, "converged", 0, None, "All checks passed after the last change";
    Failed, "failed", 1, None, "Failure, for example an error of the provider or an unknown session";
    NoAnswer, "failed", 1, Some(EndTurn), "The model gave no answer";
    ProviderFailed, "provider-failed", 1, None, "The provider failed, and a retry would not help";
    Usage, "usage", 2, None, "Invalid command line";
    InvalidTask, "invalid-task", 2, None, "The task or the command line is invalid";
    Truncated, "truncated", 3, Some(MaxTokens), "The answer was cut off at the model's output limit";
    Limit, "limit", 4, None, "A limit of the run was reached before the work was done";
    NoModel, "no-model", 5, None, "No model that can be used, or no valid credentials for it";
    Configuration, "configuration", 6, None, "A configuration file cannot be used";
    Unavailable, "unavailable", 7, None, "Not available in this version";
    SandboxUnavailable, "sandbox-unavailable", 8, None, "Commands cannot be sandboxed as required";
    FailedVerification, "failed-verification", 10, None, "A check failed, and no round or attempt is left";
    Stuck, "stuck", 11, None, "The agent repeats itself or makes no progress";
    InvalidOutput, "invalid-output", 12, None, "The result does not match the schema after the last repair";
    Refused, "refused", 13, None, "The model declined the task";
    Forbidden, "forbidden", 14, None, "The work needs an action that the policy forbids";
    NeedsApproval, "needs-approval", 15, None, "An action waits for approval; resume with --approve";
    Guardrail, "guardrail", 16, None, "A guardrail or hook blocked the prompt or stopped the run";
    Blocked, "guardrail", 16, Some(Refusal), "A guardrail or hook blocked the prompt";
    NeedsReview, "needs-review", 17, None, "The checks pass, but a person should look at the named files";
    ProviderUnavailable, "provider-unavailable", 75, None, "The provider is unavailable; retry later";
    // The exit code of Rust programs after a panic.
    Crashed, "crashed", 101, None, "Crash; a report was written";
    // The codes that shells report after SIGHUP, SIGINT, SIGPIPE and SIGTERM.
    HungUp, "hung-up", 129, None, "The terminal was closed";
    Aborted, "aborted", 130, Some(Cancelled), "Interrupted";
    Interrupted, "interrupted", 130, None, "Interrupted; the run can be resumed";
    BrokenPipe, "broken-pipe", 141, None, "Standard output was closed";
    Terminated, "terminated", 143, None, "Terminated by a signal";
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

    /// Returns the name, as protocols and reports contain it.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the exit code.
    pub const fn exit_code(self) -> u8 {
        self.row().exit_code
    }
}

impl OutcomeRow {
    /// Returns the row with another sentence, for a table that documents one kind of run.
    #[must_use]
    pub const fn with_sentence(self, sentence: &'static str) -> Self {
        Self { sentence, ..self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.exit_code())
    }
}
