//! How a run ended.

use serde::Serialize;

use crate::limits::Limit;
use crate::repetition::Repetition;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The model had nothing more to do.
    Completed,
    /// The last request failed, or something in the run did.
    Failed {
        /// What happened.
        error: String,
    },
    /// The run was aborted.
    Aborted,
    /// A limit was reached.
    Limit {
        /// Which one.
        limit: Limit,
    },
    /// The run went in circles.
    Repetition {
        /// Which kind.
        repetition: Repetition,
    },
}
