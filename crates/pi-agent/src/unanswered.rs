//! Tool calls of the last answer that have no result: suspended, interrupted or never started.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantMessage, History, Message, ToolCall};

/// Calls of an answer that have no result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnansweredCalls {
    /// The answer.
    pub message: Arc<AssistantMessage>,
    /// The calls, in the order of the answer. At least one.
    pub calls: Vec<ToolCall>,
}

/// Returns the calls of the last answer that have no result. `None` if there are none, if the
/// answer failed, or if the user has sent a message since.
pub fn unanswered_calls(messages: &History<AgentMessage>) -> Option<UnansweredCalls> {
    let mut answered: Vec<&str> = Vec::new();
    for message in messages.iter().rev() {
        match message {
            AgentMessage::Llm(Message::ToolResult(result)) => answered.push(&result.tool_call_id),
            AgentMessage::Llm(Message::Assistant(answer)) => {
                if answer.stop_reason.is_failure() {
                    return None;
                }
                let calls: Vec<ToolCall> = answer
                    .tool_calls()
                    .filter(|call| !take(&mut answered, &call.id))
                    .cloned()
                    .collect();
                let message = Arc::clone(answer);
                return (!calls.is_empty()).then_some(UnansweredCalls { message, calls });
            }
            AgentMessage::Llm(Message::User(_)) => return None,
            AgentMessage::Llm(Message::System(_)) | AgentMessage::Custom(_) => {}
        }
    }
    None
}

/// Removes one occurrence of an id: several calls of an answer can have the same.
fn take(answered: &mut Vec<&str>, id: &str) -> bool {
    let found = answered.iter().rposition(|other| *other == id);
    found.map(|at| answered.remove(at)).is_some()
}
