//! Handoffs: another spec takes over the session, with a part of the conversation.
//!
//! The tool `handoff` checks the request. At the end of the turn the prompt, the tools and the model
//! of the session become those of the other spec, and entries of the log record the takeover and
//! the messages that the other agent does not read. A resumed session reads them again.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolError, ToolOutput};
use pi_coding_agent::extension::BoundaryState;
use pi_coding_agent::session::AgentSession;
use pi_coding_agent::{AgentOptions, initial_session_model};
use pi_protocol::{
    AgentMessage, Compaction, ContextEdit, Effects, EntryBody, Message, Model, Replacement, Tool,
};
use pi_session::{ProjectedEntry, Session};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::extension::State;
use super::file::HandoffContext;
use super::spec::{AgentSet, AgentSpec, HANDOFF_TOOL, Handoff};
use pi_coding_agent::session::OutputContract;

/// Type of the entry that records a takeover.
const ENTRY: &str = "agent_handoff";
/// Text in the place of results that the other agent does not read.
const LEFT_OUT: &str = "[Result left out at the handoff.]";

/// A handoff that takes place at the end of the turn.
#[derive(Debug, Clone)]
pub(super) struct PendingHandoff {
    pub(super) from: String,
    pub(super) handoff: Handoff,
    pub(super) summary: Option<String>,
    /// The model of the other spec, if it is another one.
    pub(super) model: Option<Arc<Model>>,
}

/// The record of a takeover.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Takeover {
    pub(super) from: String,
    pub(super) agent: String,
    file: PathBuf,
    /// Number of the handoff in the session, from 1.
    pub(super) number: u32,
    /// The spec, for sessions that are resumed where the file does not exist.
    spec: AgentSpec,
}

impl Takeover {
    pub(super) fn new(pending: &PendingHandoff, spec: &AgentSpec, number: u32) -> Self {
        Self {
            from: pending.from.clone(),
            agent: spec.name.clone(),
            file: spec.file.clone(),
            number,
            spec: spec.clone(),
        }
    }

    /// Returns the spec that took over, as it is now.
    pub(super) fn spec(&self, set: &AgentSet) -> Option<Arc<AgentSpec>> {
        let current = set.spec(&self.file).cloned();
        Some(current.unwrap_or_else(|| Arc::new(self.spec.clone())))
    }
}

/// Returns the last takeover on the branch of a session.
pub(super) fn last_takeover(log: &Session) -> Option<Takeover> {
    let data = log.last_custom(ENTRY, |_| true).ok()??;
    serde_json::from_value(data).ok()
}

/// Returns the model of a spec, if the session has to change to it. A model of the user stays.
async fn model_of(
    session: &AgentSession,
    spec: &AgentSpec,
    base: &AgentOptions,
) -> Result<Option<Arc<Model>>, ToolError> {
    let Some(wanted) = &spec.model else { return Ok(None) };
    if base.model.requested.is_some() || base.model.custom.is_some() || session.models().is_none() {
        return Ok(None);
    }
    let mut options = base.clone();
    (options.model.requested, options.model.provider) = (Some(wanted.clone()), None);
    let selected = Box::pin(initial_session_model(&options)).await;
    selected.map(|(model, _)| model).map_err(|error| {
        ToolError::new(format!("The model of the agent {} cannot be used: {error}", spec.name))
    })
}

/// Returns the entries that record a takeover and limit what the other agent reads.
pub(super) fn entries(
    session: &AgentSession,
    state: &BoundaryState,
    pending: &PendingHandoff,
    takeover: &Takeover,
) -> Vec<EntryBody> {
    let data = serde_json::to_value(takeover).ok();
    let mut entries = vec![EntryBody::Custom { custom_type: ENTRY.to_owned(), data }];
    let Some(current) = &state.message_entry_id else { return entries };
    let projected = session.with_log(|log| log.projection()).unwrap_or_default();
    let before: Vec<&ProjectedEntry> =
        projected.iter().take_while(|one| one.entry.id != *current).collect();
    let handoff = &pending.handoff;
    match handoff.context {
        HandoffContext::All => {}
        HandoffContext::WithoutToolResults => {
            let results = before.iter().filter(|one| is_tool_result(one));
            entries.extend(results.map(|one| {
                EntryBody::ContextEdit(ContextEdit {
                    target_id: one.entry.id.clone(),
                    replacement: Some(replacement()),
                })
            }));
        }
        HandoffContext::Summary => {
            let summary = pending.summary.clone().unwrap_or_default();
            entries.push(compaction(summary, current.clone()));
        }
        HandoffContext::Last => {
            if let Some(first) = first_kept(&before, handoff.last as usize) {
                let summary = format!(
                    "{} handed this conversation to {}. Earlier messages were left out.",
                    takeover.from, takeover.agent
                );
                entries.push(compaction(summary, first.unwrap_or_else(|| current.clone())));
            }
        }
    }
    entries
}

/// Returns the entry of the first message to keep, or `Some(None)` if none of these is kept. `None`
/// if all are. Results are kept with the message that made the calls.
fn first_kept(before: &[&ProjectedEntry], last: usize) -> Option<Option<String>> {
    let messages: Vec<&&ProjectedEntry> =
        before.iter().filter(|one| one.messages.iter().any(is_conversation)).collect();
    let mut at = messages.len().saturating_sub(last);
    while at > 0 && messages.get(at).is_some_and(|one| is_tool_result(one)) {
        at -= 1;
    }
    if at == 0 { None } else { Some(messages.get(at).map(|one| one.entry.id.clone())) }
}

fn is_conversation(message: &AgentMessage) -> bool {
    !matches!(message, AgentMessage::Llm(Message::System(_)))
}

fn is_tool_result(entry: &ProjectedEntry) -> bool {
    entry.messages.iter().any(|one| matches!(one, AgentMessage::Llm(Message::ToolResult(_))))
}

fn replacement() -> Replacement {
    Replacement { content: json!(LEFT_OUT), extra: Map::new().into() }
}

fn compaction(summary: String, first_kept_entry_id: String) -> EntryBody {
    EntryBody::Compaction(Box::new(Compaction {
        summary,
        first_kept_entry_id,
        from_hook: Some(true),
        ..Compaction::default()
    }))
}

/// The tool `handoff`.
pub(super) struct HandoffTool {
    declaration: Tool,
    state: Arc<State>,
}

impl HandoffTool {
    pub(super) fn new(state: Arc<State>, spec: &AgentSpec) -> Self {
        let mut description =
            "Hand this conversation to another agent, which continues it in your \
             place. Do this when the rest of the work belongs to the other agent. You do not get \
             the conversation back unless the other agent hands it back.\n\nAgents:"
                .to_owned();
        for (name, handoff) in &spec.handoffs {
            // Writing to a string cannot fail.
            let _ = write!(description, "\n- {name}: {}", handoff.description.trim());
            if handoff.context == HandoffContext::Summary {
                description.push_str(" (reads only your summary)");
            }
            if let Some(schema) = &handoff.input {
                let _ = write!(description, " (input: {schema})");
            }
        }
        let names: Vec<&String> = spec.handoffs.keys().collect();
        let mut properties = json!({
            "agent": { "type": "string", "enum": names, "description": "Name of the agent." },
            "message": { "type": "string", "description": "What the other agent has to do." },
        });
        if spec.handoffs.values().any(|one| one.context == HandoffContext::Summary) {
            properties["summary"] = json!({
                "type": "string",
                "description": "Summary of the conversation for agents that read only a summary: \
                                the goal, decisions, changed files, and what is left to do.",
            });
        }
        if spec.handoffs.values().any(|one| one.input.is_some()) {
            properties["input"] = json!({ "description": "Input that the agent requires." });
        }
        let parameters =
            json!({ "type": "object", "properties": properties, "required": ["agent", "message"] });
        Self { declaration: Tool::new(HANDOFF_TOOL, description, parameters), state }
    }

    async fn call(&self, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let arguments = invocation.arguments;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let (name, message, summary) = (text("agent"), text("message"), text("summary").trim());
        let ended = || ToolError::new("The session has ended.");
        let session = self.state.session().ok_or_else(ended)?;
        let active = self.state.active().ok_or_else(ended)?;
        let Some(handoff) = active.handoffs.get(name).cloned() else {
            let names: Vec<&str> = active.handoffs.keys().map(String::as_str).collect();
            let message = format!("There is no agent {name:?}. Agents: {}.", names.join(", "));
            return Err(ToolError::new(message));
        };
        if message.trim().is_empty() {
            return Err(ToolError::new(
                "The message is empty. Say what the other agent has to do.",
            ));
        }
        if handoff.context == HandoffContext::Summary && summary.is_empty() {
            return Err(ToolError::new(format!(
                "{name} reads only a summary of this conversation. Call {HANDOFF_TOOL} again with a \
                 summary."
            )));
        }
        let input = arguments.get("input").filter(|input| !input.is_null()).cloned();
        check_input(&handoff, input.as_ref()).await?;
        let target = self.state.set.spec(&handoff.file).cloned().ok_or_else(ended)?;
        let model = model_of(&session, &target, &self.state.base).await?;
        let pending = PendingHandoff {
            from: active.name.clone(),
            handoff,
            summary: Some(summary.to_owned()),
            model,
        };
        self.state.request_handoff(pending).map_err(|reason| {
            ToolError::new(format!("No handoff took place: {reason}. Finish the work yourself."))
        })?;
        let mut text = format!(
            "{} handed this conversation to {}. You are now {}.\nTask: {}",
            active.name,
            target.name,
            target.name,
            message.trim()
        );
        if let Some(input) = input {
            // Writing to a string cannot fail.
            let _ = write!(text, "\nInput: {input}");
        }
        let details = json!({ "from": active.name, "agent": target.name });
        Ok(ToolOutput::text(text).with_details(details))
    }
}

/// Checks the input of a handoff against its schema.
async fn check_input(handoff: &Handoff, input: Option<&Value>) -> Result<(), ToolError> {
    let Some(schema) = &handoff.input else { return Ok(()) };
    let contract = OutputContract::compile(schema).map_err(|error| {
        ToolError::new(format!("The input schema of the handoff cannot be used: {error}"))
    })?;
    let Some(input) = input else {
        return Err(ToolError::new(format!("`input` is required. It must match: {schema}")));
    };
    let violations = contract.check(&Arc::new(input.clone())).await;
    if violations.is_empty() {
        return Ok(());
    }
    let problems: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(ToolError::new(format!("`input` is invalid:\n{}", problems.join("\n"))))
}

impl AgentTool for HandoffTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        Cow::Borrowed(HANDOFF_TOOL)
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Hand the conversation to another agent")
    }

    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Sequential
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let agent = arguments.get("agent").and_then(Value::as_str).unwrap_or_default();
        Effects::none().summary(format!("to {agent}"), false)
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(invocation))
    }
}
