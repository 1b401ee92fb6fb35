//! The session event: one owned value for every subscriber.
//!
//! Extensions, JSON mode, RPC mode, screens and web views receive the same [`SessionEvent`].
//! Serialized, an event is one record of JSON and RPC mode ([`SessionEvent::is_record`] tells which
//! events are records). [`SessionEvent::extension_event`] is the form that extension handlers of
//! the TypeScript pi expect. Deltas stay deltas and whole messages are shared, so an event costs
//! the same at any length of the transcript.

mod compaction;
mod delta;
mod intervention;
mod merge;
mod reasons;
mod serialize;

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{AgentEvent, EventContext, ToolOutput};
use pi_protocol::{
    AgentMessage, AssistantMessage, Entry, Message, Model, ThinkingLevel, ToolResultMessage, Usage,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use compaction::{CompactionReason, CompactionResult};
pub use delta::MessageDelta;
pub use intervention::{Intervention, InterventionAction, InterventionSource};
pub use reasons::{
    FallbackReason, ModelKey, ModelSource, ShutdownReason, StartReason, SummarySource,
};

use crate::guard_report::{GuardStatus, ToolDecision};
use crate::{Diagnostic, Severity};

/// A fact about a session, for every subscriber.
///
/// The grammar of the loop events: `agent_start`, turns, `agent_end`. A turn is `turn_start`,
/// messages, tool executions with their result messages, `turn_end`. `agent_settled` follows when
/// no retry, compaction or queued message is left.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are those of docs/rpc.md; comments only where a name is not enough.
pub enum SessionEvent {
    /// A session became the current one.
    SessionStart {
        reason: StartReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<PathBuf>,
    },
    /// The session ends or is replaced.
    SessionShutdown {
        reason: ShutdownReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        target_session_file: Option<PathBuf>,
    },
    /// The session was named or renamed.
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The current entry moved to another place in the session tree.
    SessionTree {
        new_leaf_id: Option<String>,
        old_leaf_id: Option<String>,
        /// Summary of the branch that was left.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary_entry: Option<Arc<Entry>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        from_extension: Option<bool>,
    },
    /// The list of MCP servers, or the state of one, changed.
    McpServersChange { servers: Vec<Value> },
    /// A run of the loop begins.
    AgentStart,
    /// A run of the loop ends.
    AgentEnd {
        /// The messages that the run added.
        messages: Arc<[AgentMessage]>,
        /// The failed request is made again.
        will_retry: bool,
    },
    /// No retry, compaction or queued message is left.
    AgentSettled { aborted: bool },
    /// A turn begins: one request to the model and the tool calls it leads to.
    TurnStart {
        #[serde(skip)]
        turn_index: u32,
        #[serde(skip)]
        timestamp: f64,
    },
    /// A turn ends.
    TurnEnd {
        #[serde(skip)]
        turn_index: u32,
        #[serde(serialize_with = "serialize::assistant")]
        message: Arc<AssistantMessage>,
        #[serde(serialize_with = "serialize::results")]
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// A message begins. All but those of the assistant are complete.
    MessageStart { message: AgentMessage },
    /// The message of the assistant grows.
    MessageUpdate {
        usage: Usage,
        assistant_message_event: MessageDelta,
        /// The message so far, for extensions that receive the event. A clone that outlives the
        /// handler makes the next delta copy the message.
        #[serde(skip)]
        message: Option<Arc<AssistantMessage>>,
    },
    /// A message is complete.
    MessageEnd { message: AgentMessage },
    /// A tool call begins.
    ToolExecutionStart {
        tool_call_id: String,
        tool_name: String,
        args: Arc<Map<String, Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    /// A tool reports progress.
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        args: Arc<Map<String, Value>>,
        partial_result: Arc<ToolOutput>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    /// A tool call is complete or was not run.
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: Arc<ToolOutput>,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    /// The guard decided about a tool call. Not sent for calls that run without restrictions.
    ToolDecision {
        #[serde(flatten)]
        decision: Arc<ToolDecision>,
    },
    /// The restrictions of this session, before its first run. Not sent if there are none.
    Guard {
        #[serde(flatten)]
        status: Arc<GuardStatus>,
    },
    /// A problem in the user's files, or something that the session does not use.
    Diagnostic {
        severity: Severity,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
        message: String,
        /// What the user can do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// A guardrail or hook changed or stopped something.
    Guardrail {
        #[serde(flatten)]
        intervention: Arc<Intervention>,
    },
    /// The queues of waiting messages changed.
    QueueUpdate { steering: Vec<String>, follow_up: Vec<String> },
    /// An entry that is not a message was appended to the log.
    EntryAppended { entry: Arc<Entry> },
    /// Another model was selected.
    ModelSelect {
        model: Arc<Model>,
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_model: Option<Arc<Model>>,
        source: ModelSource,
    },
    /// The thinking level changed.
    ThinkingLevelChanged {
        level: ThinkingLevel,
        #[serde(skip)]
        previous_level: ThinkingLevel,
    },
    /// A compaction begins.
    CompactionStart { reason: CompactionReason },
    /// A compaction succeeded, failed or was aborted.
    CompactionEnd {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Arc<CompactionResult>>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
        /// The entry that was appended.
        #[serde(skip)]
        entry: Option<Arc<Entry>>,
        #[serde(skip)]
        from_extension: bool,
    },
    /// A failed request is made again after a pause.
    AutoRetryStart { attempt: u32, max_attempts: u32, delay_ms: u64, error_message: String },
    /// The retries succeeded or are exhausted.
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// The model cannot answer now, and the run continues with its successor.
    ModelFallback {
        from: ModelKey,
        to: ModelKey,
        reason: FallbackReason,
        /// The error of the model that failed.
        error_message: String,
        /// The change and its price, for people.
        message: String,
    },
    /// A failed request for a summary is made again after a pause.
    SummarizationRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
    },
    /// The pause before a retry of a summary is over.
    SummarizationRetryAttemptStart {
        source: SummarySource,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<CompactionReason>,
    },
    /// The summary is written, or its retries are exhausted.
    SummarizationRetryFinished,
    /// A command of the user produced output.
    BashExecutionUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        delta: String,
    },
    /// A provider answered a request: status and headers.
    AfterProviderResponse { status: u16, headers: Map<String, Value> },
    /// A provider sent one chunk, before it is decoded.
    ProviderStreamEvent { provider: String, api: String, model: String, data: Value },
    /// An extension shows a dialog; emitted for the outermost dialog only.
    UiPromptStart {
        reason: &'static str,
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The dialog of an extension was answered or closed.
    UiPromptEnd {
        reason: &'static str,
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// An extension failed. Sent to subscribers, never to extensions.
    ExtensionError {
        /// Path of the extension.
        extension_path: String,
        /// Event or question during which it failed.
        event: String,
        error: String,
    },
}

impl SessionEvent {
    /// Returns the new text of the answer, if the event is a text delta.
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::MessageUpdate {
                assistant_message_event: MessageDelta::TextDelta { delta, .. },
                ..
            } => Some(delta),
            _ => None,
        }
    }

    /// Returns true if the event is a record of JSON and RPC mode. The others exist for
    /// extensions and for programs that embed the agent.
    pub fn is_record(&self) -> bool {
        !matches!(
            self,
            Self::SessionStart { .. }
                | Self::SessionShutdown { .. }
                | Self::SessionTree { .. }
                | Self::McpServersChange { .. }
                | Self::ModelSelect { .. }
                | Self::AfterProviderResponse { .. }
                | Self::ProviderStreamEvent { .. }
                | Self::UiPromptStart { .. }
                | Self::UiPromptEnd { .. }
                | Self::ExtensionError { .. }
        )
    }

    /// Creates the event for a diagnostic.
    pub fn from_diagnostic(diagnostic: &Diagnostic, hint: Option<String>) -> Self {
        let Diagnostic { severity, path, message, .. } = diagnostic.clone();
        Self::Diagnostic { severity, path, message, hint }
    }

    /// Returns true if the event occurs many times in a turn. Extensions receive these only if
    /// they ask for them.
    pub fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::MessageUpdate { .. }
                | Self::ToolExecutionUpdate { .. }
                | Self::ProviderStreamEvent { .. }
                | Self::BashExecutionUpdate { .. }
        )
    }

    /// Returns the name and payload under which extension handlers know the event; `None` for
    /// events that extensions have no name for.
    ///
    /// `turn_end` and `message_end` are questions
    /// ([`Question`](crate::extension::Question)) and not listed here.
    pub fn extension_event(&self) -> Option<(&'static str, Value)> {
        let mut payload = self.short_payload()?;
        if let Self::MessageUpdate { message, .. } = self {
            payload["message"] = json!(message.clone().map(Message::Assistant));
        }
        Some((self.extension_event_name(), payload))
    }

    /// Returns the payload of [`Self::extension_event`], of `message_update` with null in the place
    /// of the message, which grows.
    pub(crate) fn short_payload(&self) -> Option<Value> {
        let name = self.extension_event_name();
        if name.is_empty() {
            return None;
        }
        let mut payload = match self {
            Self::AgentEnd { messages, .. } => json!({ "messages": messages }),
            Self::MessageUpdate { assistant_message_event, .. } => {
                json!({ "message": null, "assistantMessageEvent": assistant_message_event })
            }
            Self::TurnStart { turn_index, timestamp } => {
                json!({ "turnIndex": turn_index, "timestamp": timestamp })
            }
            Self::ThinkingLevelChanged { level, previous_level } => {
                json!({ "level": level, "previousLevel": previous_level })
            }
            Self::CompactionEnd {
                reason,
                result,
                aborted,
                will_retry,
                error_message,
                entry,
                from_extension,
            } => {
                let mut payload = json!({
                    "fromExtension": from_extension,
                    "reason": reason,
                    "willRetry": will_retry,
                });
                if result.is_some() {
                    payload["compactionEntry"] = json!(entry);
                } else {
                    payload["aborted"] = json!(aborted);
                    if let Some(error) = error_message {
                        payload["errorMessage"] = json!(error);
                    }
                }
                payload
            }
            _ => serde_json::to_value(self).ok()?,
        };
        payload["type"] = name.into();
        Some(payload)
    }

    /// Drops the message of a delta: only extensions read it, and a subscriber that kept it would
    /// make the next delta copy it.
    pub(super) fn without_partial(mut self) -> Self {
        if let Self::MessageUpdate { message, .. } = &mut self {
            *message = None;
        }
        self
    }

    /// Returns the name under which extension handlers know the event; empty for events that they
    /// have no name for.
    pub fn extension_event_name(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "session_start",
            Self::SessionShutdown { .. } => "session_shutdown",
            Self::SessionInfoChanged { .. } => "session_info_changed",
            Self::SessionTree { .. } => "session_tree",
            Self::McpServersChange { .. } => "mcp_servers_change",
            Self::AgentStart => "agent_start",
            Self::AgentEnd { .. } => "agent_end",
            Self::AgentSettled { .. } => "agent_settled",
            Self::TurnStart { .. } => "turn_start",
            Self::MessageStart { .. } => "message_start",
            Self::MessageUpdate { .. } => "message_update",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
            Self::ModelSelect { .. } => "model_select",
            Self::ThinkingLevelChanged { .. } => "thinking_level_select",
            Self::AfterProviderResponse { .. } => "after_provider_response",
            Self::ProviderStreamEvent { .. } => "provider_stream_event",
            Self::UiPromptStart { .. } => "ui_prompt_start",
            Self::UiPromptEnd { .. } => "ui_prompt_end",
            Self::CompactionEnd { result: Some(_), .. } => "session_compact",
            Self::CompactionEnd { result: None, .. } => "session_compact_failed",
            Self::TurnEnd { .. }
            | Self::MessageEnd { .. }
            | Self::ToolDecision { .. }
            | Self::Guard { .. }
            | Self::Diagnostic { .. }
            | Self::Guardrail { .. }
            | Self::QueueUpdate { .. }
            | Self::EntryAppended { .. }
            | Self::CompactionStart { .. }
            | Self::AutoRetryStart { .. }
            | Self::AutoRetryEnd { .. }
            | Self::ModelFallback { .. }
            | Self::SummarizationRetryScheduled { .. }
            | Self::SummarizationRetryAttemptStart { .. }
            | Self::SummarizationRetryFinished
            | Self::BashExecutionUpdate { .. }
            | Self::ExtensionError { .. } => "",
        }
    }

    /// Converts an event of the loop; `None` for an event that this version does not know.
    pub(crate) fn from_loop(
        event: &AgentEvent,
        context: &EventContext<'_>,
        will_retry: bool,
        with_message: bool,
    ) -> Option<Self> {
        let (streaming, turn_index) = (context.streaming, context.turn_index);
        Some(match event {
            AgentEvent::AgentStart => Self::AgentStart,
            AgentEvent::AgentEnd { messages, .. } => {
                Self::AgentEnd { messages: messages.as_slice().into(), will_retry }
            }
            AgentEvent::TurnStart => Self::TurnStart { turn_index, timestamp: context.timestamp },
            AgentEvent::TurnEnd { message, tool_results } => Self::TurnEnd {
                turn_index,
                message: Arc::clone(message),
                tool_results: tool_results.clone(),
            },
            AgentEvent::MessageStart { message } => Self::MessageStart { message: message.clone() },
            AgentEvent::MessageUpdate { assistant_message_event } => Self::MessageUpdate {
                usage: streaming.map(|message| message.usage.clone()).unwrap_or_default(),
                assistant_message_event: MessageDelta::new(
                    assistant_message_event,
                    streaming.map(|message| &**message),
                )?,
                message: streaming.filter(|_| with_message).cloned(),
            },
            AgentEvent::MessageEnd { message } => Self::MessageEnd { message: message.clone() },
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                Self::ToolExecutionStart {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    args: Arc::clone(args),
                    parent_tool_call_id: None,
                }
            }
            AgentEvent::ToolExecutionUpdate { tool_call_id, tool_name, args, partial_result } => {
                Self::ToolExecutionUpdate {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    args: Arc::clone(args),
                    partial_result: Arc::clone(partial_result),
                    parent_tool_call_id: None,
                }
            }
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                tool_name,
                result,
                is_error,
                duration_ms,
            } => Self::ToolExecutionEnd {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
                result: Arc::clone(result),
                is_error: *is_error,
                duration_ms: *duration_ms,
                parent_tool_call_id: None,
            },
            _ => return None,
        })
    }
}
