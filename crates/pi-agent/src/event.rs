//! What an agent tells its listeners.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantEvent, AssistantMessage, Message, ToolResultMessage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::outcome::Outcome;
use crate::tool::ToolOutput;

/// One thing that happened in a run.
///
/// The grammar: `agent_start`, turns, `agent_end`. A turn is `turn_start`, messages, tool
/// executions with their result messages, `turn_end`. A message is `message_start`, for an
/// assistant's any number of `message_update`, `message_end`. Executions that overlap end in the
/// order they complete; their result messages come in the order of the calls.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A run begins.
    AgentStart,
    /// A run ends; nothing follows but the listeners' own work.
    AgentEnd {
        /// The messages that the run added.
        messages: Vec<AgentMessage>,
        /// How it ended.
        outcome: Outcome,
    },
    /// A turn begins: one request to the model and what it leads to.
    TurnStart,
    /// A turn ends.
    TurnEnd {
        /// The model's answer.
        #[serde(serialize_with = "as_assistant")]
        message: Arc<AssistantMessage>,
        /// The results of the calls in it.
        #[serde(serialize_with = "as_results")]
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// A message begins. All but an assistant's are complete.
    MessageStart {
        /// The message so far.
        message: AgentMessage,
    },
    /// An assistant's message grows. The message itself is lent to listeners.
    MessageUpdate {
        /// What is new.
        assistant_message_event: AssistantEvent,
    },
    /// A message is complete and part of the transcript.
    MessageEnd {
        /// The message.
        message: AgentMessage,
    },
    /// A tool is about to be run.
    ToolExecutionStart {
        /// The call's id.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model gave them.
        args: Arc<Map<String, Value>>,
    },
    /// A tool reports progress.
    ToolExecutionUpdate {
        /// The call's id.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model gave them.
        args: Arc<Map<String, Value>>,
        /// What there is so far.
        partial_result: Arc<ToolOutput>,
    },
    /// A tool is done, or was never run.
    ToolExecutionEnd {
        /// The call's id.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
        /// What came of it.
        result: Arc<ToolOutput>,
        /// It failed.
        is_error: bool,
        /// How long it ran; absent if it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
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
