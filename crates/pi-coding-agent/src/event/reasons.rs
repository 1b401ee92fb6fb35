//! The reasons and kinds in session events.

use std::fmt;

use pi_protocol::Model;
use serde::Serialize;

/// Reason why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum StartReason {
    Startup,
    Reload,
    New,
    Resume,
    Fork,
}

/// Reason why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum ShutdownReason {
    Quit,
    Reload,
    New,
    Resume,
    Fork,
}

/// The way in which a model was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ModelSource {
    /// Selected by name.
    Set,
    /// Selected as the next one in the list.
    Cycle,
    /// Selected as the successor of a model that cannot answer.
    Fallback,
}

/// The name of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelKey {
    /// Id of the provider.
    pub provider: String,
    /// Id of the model.
    pub id: String,
}

impl From<&Model> for ModelKey {
    fn from(model: &Model) -> Self {
        Self { provider: model.provider.clone(), id: model.id.clone() }
    }
}

impl fmt::Display for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

/// The reason why a run continues with another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FallbackReason {
    /// The provider is overloaded, limits the rate of requests, or cannot be reached.
    Outage,
    /// The quota, credit or budget of the account is used up.
    Quota,
}

/// The kind of summary that is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SummarySource {
    /// The summary of a compaction.
    Compaction,
    /// The summary of a branch that is left.
    BranchSummary,
}
