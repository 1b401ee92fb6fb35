//! The events of a run.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantEvent, AssistantMessage, Message, ToolResultMessage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::outcome::Outcome;
use crate::tool::ToolOutput;

/// An event of a run.
///
/// A run is `agent_start`, turns, `agent_end`. A turn is `turn_start`, messages, tool executions
/// with their result messages, `turn_end`. A message is `message_start`, any number of
/// `message_update` if it is an assistant's, `message_end`. Executions that overlap end in the
/// order in which they complete; their result messages come in the order of the calls.
///
/// The serialized form is the one of pi's JSON and RPC modes.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AgentEvent {
    /// A run begins.
    AgentStart,
    /// A run ends. No event of this run follows.
    AgentEnd {
        /// The messages that the run added.
        messages: Vec<AgentMessage>,
        /// The reason for the end.
        outcome: Outcome,
    },
    /// A turn begins: one request to the model and the execution of its tool calls.
    TurnStart,
    /// A turn ends.
    TurnEnd {
        /// The assistant's message of the turn.
        #[serde(serialize_with = "as_assistant")]
        message: Arc<AssistantMessage>,
        /// The results of the tool calls in the answer.
        #[serde(serialize_with = "as_results")]
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// A message begins. Only an assistant's message is incomplete at this point.
    MessageStart {
        /// The message so far.
        message: AgentMessage,
    },
    /// An assistant's message grows. The message so far is in
    /// [`EventContext::streaming`](crate::EventContext::streaming).
    MessageUpdate {
        /// The event of the model's stream.
        assistant_message_event: AssistantEvent,
    },
    /// A message is complete and part of the transcript.
    MessageEnd {
        /// The complete message.
        message: AgentMessage,
    },
    /// The execution of a tool call begins, with the checks that precede the tool itself.
    ToolExecutionStart {
        /// Id of the tool call.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// The arguments as the model gave them.
        args: Arc<Map<String, Value>>,
    },
    /// A tool reports progress.
    ToolExecutionUpdate {
        /// Id of the tool call.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// The arguments as the model gave them.
        args: Arc<Map<String, Value>>,
        /// The output so far.
        partial_result: Arc<ToolOutput>,
    },
    /// The execution of a tool call ends, also if the tool itself was not executed.
    ToolExecutionEnd {
        /// Id of the tool call.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// The output of the call.
        result: Arc<ToolOutput>,
        /// True if the call failed.
        is_error: bool,
        /// Run time of the tool; absent if it was not executed.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
}

impl AgentEvent {
    /// Returns the name of the event, which is the `type` of its serialized form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AgentStart => "agent_start",
            Self::AgentEnd { .. } => "agent_end",
            Self::TurnStart => "turn_start",
            Self::TurnEnd { .. } => "turn_end",
            Self::MessageStart { .. } => "message_start",
            Self::MessageUpdate { .. } => "message_update",
            Self::MessageEnd { .. } => "message_end",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
        }
    }
}

fn as_assistant<S: serde::Serializer>(
    message: &Arc<AssistantMessage>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Message::Assistant(Arc::clone(message)).serialize(serializer)
}

fn as_results<S: serde::Serializer>(
    results: &[Arc<ToolResultMessage>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(results.iter().map(|result| Message::ToolResult(Arc::clone(result))))
}
