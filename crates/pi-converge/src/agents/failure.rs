//! Failures of sub-agents, as structured results for the model that started them.

use std::path::PathBuf;

use pi_agent::{Limit, ToolOutput};
use serde::Serialize;
use serde_json::{Value, json};

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FailureKind {
    /// There is no sub-agent of this name.
    UnknownAgent,
    /// The sub-agent cannot be started.
    Configuration,
    /// The sub-agent reached a limit, its own or one of the run.
    Limit,
    /// The provider failed.
    Provider,
    /// The model declined the task.
    Refused,
    /// The sub-agent repeated itself.
    Stuck,
    /// The result was empty or too short, also when asked for again.
    EmptyResult,
    /// The result did not match the schema, also when asked for again.
    InvalidResult,
    /// A guardrail or hook stopped the sub-agent.
    Guardrail,
    /// The sub-agent was aborted.
    Aborted,
}

/// The failure of a sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChildFailure {
    kind: FailureKind,
    message: String,
    limit: Option<Limit>,
    /// The last text of the sub-agent, which may be of use.
    pub(super) text: Option<String>,
    pub(super) session: Option<PathBuf>,
}

impl ChildFailure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), limit: None, text: None, session: None }
    }

    pub(super) fn at_limit(limit: Limit) -> Self {
        let message = format!("The sub-agent reached its limit: {limit}.");
        Self { limit: Some(limit), ..Self::new(FailureKind::Limit, message) }
    }

    /// Returns the result of the call.
    pub(super) fn output(&self, agent: &str) -> ToolOutput {
        let mut error = json!({
            "kind": self.kind, "agent": agent, "message": self.message,
        });
        if let Some(limit) = self.limit {
            error["limit"] = json!(limit);
        }
        if let Some(text) = self.text.as_ref().filter(|text| !text.trim().is_empty()) {
            error["lastText"] = json!(text);
        }
        if let Some(session) = &self.session {
            error["session"] = json!(session);
        }
        let result = json!({ "error": error });
        ToolOutput::text(pretty(&result)).with_structured_content(result).with_is_error(true)
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
