//! Interventions: what guardrails and hooks blocked, changed, noted or stopped.

use std::fmt;

use pi_agent::Outcome;
use serde::{Deserialize, Serialize};

/// A decision of a guardrail or hook that is not to let something pass as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Intervention {
    /// Origin of the decision.
    pub source: InterventionSource,
    /// Name of the guardrail, or name or command of the hook.
    pub name: String,
    /// Position: `input`, `output`, `tool-call` or `tool-result` for a guardrail, the event for a
    /// hook.
    pub position: String,
    /// The decision.
    pub action: InterventionAction,
    /// The reason.
    pub reason: String,
    /// Id of the tool call that is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Origin of an intervention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The names say it.
pub enum InterventionSource {
    Guardrail,
    Hook,
}

/// The decision of a guardrail or hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum InterventionAction {
    /// The prompt, answer, call or result does not pass.
    Block,
    /// The call needs approval.
    Ask,
    /// The prompt, answer, call or result passes with changes.
    Rewrite,
    /// The agent continues although it would stop.
    Continue,
    /// The run ends.
    Stop,
    /// Nothing changes; the finding is recorded.
    Note,
}

impl InterventionSource {
    /// Returns the name of the source.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guardrail => "guardrail",
            Self::Hook => "hook",
        }
    }
}

impl Intervention {
    /// Creates an intervention.
    pub fn new(
        source: InterventionSource,
        name: &str,
        position: &str,
        action: InterventionAction,
        reason: &str,
    ) -> Self {
        Self {
            source,
            name: name.to_owned(),
            position: position.to_owned(),
            action,
            reason: reason.to_owned(),
            tool_call_id: None,
        }
    }

    /// Sets the tool call that is concerned.
    #[must_use]
    pub fn of_call(mut self, tool_call_id: &str) -> Self {
        self.tool_call_id = Some(tool_call_id.to_owned());
        self
    }

    /// Describes the origin: `guardrail NAME` or `hook NAME`.
    pub fn by(&self) -> String {
        format!("{} {}", self.source.name(), self.name)
    }

    /// Returns the outcome of a run that the intervention stopped.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::Stopped { by: self.by(), reason: self.reason.clone() }
    }
}

impl fmt::Display for Intervention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.action {
            InterventionAction::Block => "blocked this",
            InterventionAction::Ask => "requires approval",
            InterventionAction::Rewrite => "changed this",
            InterventionAction::Continue => "made the agent continue",
            InterventionAction::Stop => "stopped the run",
            InterventionAction::Note => "noted",
        };
        write!(f, "{} ({}) {what}: {}", self.by(), self.position, self.reason)
    }
}
