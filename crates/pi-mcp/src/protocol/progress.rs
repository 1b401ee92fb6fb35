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
    /// How much is done.
    pub progress: f64,
    /// How much is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
