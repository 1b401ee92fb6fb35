//! Progress of a request.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The token of the request.
    #[serde(default)]
    pub progress_token: Value,
    /// Amount of work that is done.
    pub progress: f64,
    /// Total amount of work, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Description of the current step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
