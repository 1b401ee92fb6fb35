//! Tasks: requests whose result is fetched later.
//!
//! In 2025-11-25 the client asks for a task, polls `tasks/get` and fetches `tasks/result`. In the
//! modern extension the server decides, and `tasks/get` includes the result, the error or the
//! questions. The field names differ: `ttl` and `pollInterval` became `ttlMs` and `pollIntervalMs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Extra, InputRequest};

/// The value of `resultType` of a task (modern).
pub const RESULT_TYPE: &str = "task";

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The task runs.
    Working,
    /// The task waits for an answer.
    InputRequired,
    /// The task has a result.
    Completed,
    /// The task ended with an error.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Id of the task.
    pub task_id: String,
    /// State of the task.
    pub status: TaskStatus,
    /// More about the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// Time of creation (RFC 3339).
    #[serde(default)]
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    #[serde(default)]
    pub last_updated_at: String,
    /// Interval for polling, in milliseconds (modern).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// Interval for polling, in milliseconds (2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// The result of a completed task (modern).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error of a failed task (modern).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// Questions by key (modern).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<BTreeMap<String, InputRequest>>,
    /// Anything else: `ttlMs` or `ttl`, whose value may be null.
    #[serde(flatten)]
    pub extra: Extra,
}
