//! The response to a command.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The response to a command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Value>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
}

impl Response {
    /// Creates the response to the command `command` of the request `id`.
    pub fn new(
        id: Option<Value>,
        command: Option<Value>,
        result: Result<Option<Box<RawValue>>, String>,
    ) -> Self {
        let (success, data, error) = match result {
            Ok(data) => (true, data, None),
            Err(error) => (false, None, Some(error)),
        };
        Self { id, kind: "response", command, success, data, error, session_id: None }
    }

    /// Names the session to which the command applied, for servers of several sessions.
    #[must_use]
    pub fn of_session(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Returns true if the command was executed.
    pub fn is_success(&self) -> bool {
        self.success
    }
}
