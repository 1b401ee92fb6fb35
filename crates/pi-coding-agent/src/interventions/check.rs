//! One check of either format, and its subject.

use pi_config::guardrails::{Guardrail, GuardrailPosition};
use pi_config::hooks::{Hook, HookEvent};
use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};

use crate::session::{AgentSession, InterventionSource};

/// A check of a session.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    Hook(Hook),
    Guardrail(Box<Guardrail>),
}

impl Check {
    /// Returns the name in reports.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Hook(hook) => &hook.name,
            Self::Guardrail(guardrail) => &guardrail.plan().name,
        }
    }

    /// Returns the event at which the check runs; `None` for guardrails of final answers.
    pub(super) fn event(&self) -> Option<HookEvent> {
        match self {
            Self::Hook(hook) => Some(hook.event),
            Self::Guardrail(guardrail) => match guardrail.plan().on {
                GuardrailPosition::Input => Some(HookEvent::BeforePrompt),
                GuardrailPosition::ToolCall => Some(HookEvent::BeforeTool),
                GuardrailPosition::ToolResult => Some(HookEvent::AfterTool),
                GuardrailPosition::Output => None,
            },
        }
    }

    /// Returns true if the matcher of the check accepts a text.
    pub(super) fn concerns(&self, matched: &str) -> bool {
        match self {
            Self::Hook(hook) => hook.matcher.matches(matched),
            Self::Guardrail(guardrail) => guardrail.concerns(matched),
        }
    }
}

/// Returns the name of a position in reports, which is that of the format.
pub(super) fn position(source: InterventionSource, event: HookEvent) -> &'static str {
    match (source, event) {
        (InterventionSource::Guardrail, HookEvent::BeforePrompt) => "input",
        (InterventionSource::Guardrail, HookEvent::BeforeTool) => "tool-call",
        (InterventionSource::Guardrail, HookEvent::AfterTool) => "tool-result",
        _ => event.name(),
    }
}

/// The subject of a check.
pub(crate) struct Subject<'a> {
    /// The session; `None` for hooks outside of one.
    pub(crate) session: Option<&'a AgentSession>,
    /// The text, or the arguments of a call. Hooks read `fields` instead.
    pub(crate) value: Value,
    /// Fields for commands.
    pub(crate) fields: Map<String, Value>,
    pub(crate) cancel: &'a CancelToken,
}

impl Subject<'_> {
    /// Replaces what is checked, for the checks that follow.
    pub(super) fn rewrite(&mut self, event: HookEvent, value: Value) {
        let field = match event {
            HookEvent::BeforeTool => "tool_input",
            HookEvent::AfterTool => "tool_response",
            _ => "prompt",
        };
        self.fields.insert(field.to_owned(), value.clone());
        self.value = value;
    }
}

/// Returns the fields of a tool call for commands.
pub(super) fn fields_of_call(tool: &str, id: &str, input: &Map<String, Value>) -> Value {
    json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input })
}
