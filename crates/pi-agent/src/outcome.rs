//! The outcome of a run.

use serde::Serialize;

use crate::limits::Limit;
use crate::repetition::Repetition;

/// The reason why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The model called no more tools and no message was queued.
    Completed,
    /// The last request, a listener or a hook failed.
    Failed {
        /// The error message.
        error: String,
    },
    /// The run was aborted.
    Aborted,
    /// The run reached a limit.
    Limit {
        /// The limit that was reached.
        limit: Limit,
    },
    /// A tool call waits for a decision. [`Agent::resume_run`](crate::Agent::resume_run)
    /// continues with the calls that have no result.
    Suspended,
    /// The application stopped the run, for example because of a guardrail.
    Stopped {
        /// The part of the application that stopped the run.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The run repeated itself.
    Repetition {
        /// The kind of repetition.
        repetition: Repetition,
    },
}
