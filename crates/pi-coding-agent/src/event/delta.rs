//! A step of an answer that grows, with everything that a client needs to build the message.
//!
//! The end of a block carries its content, since a provider may correct itself there. Each byte of
//! an answer is copied once as a delta and once at the end of its block.

use pi_protocol::{AssistantBlock, AssistantEvent, AssistantMessage, StopReason};
use serde::Serialize;

/// A step of an answer that grows. `content_index` is the place of the block in the message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are those of docs/rpc.md.
pub enum MessageDelta {
    Start,
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call: Option<Box<AssistantBlock>>,
    },
    Done {
        reason: StopReason,
    },
    Error {
        reason: StopReason,
    },
}

impl MessageDelta {
    /// Converts an event of an assistant stream; `message` is the answer so far.
    pub(super) fn new(event: &AssistantEvent, message: Option<&AssistantMessage>) -> Option<Self> {
        let block = |index: usize| message.and_then(|message| message.content.get(index));
        Some(match event {
            AssistantEvent::Start => Self::Start,
            AssistantEvent::TextStart { content_index } => {
                Self::TextStart { content_index: *content_index }
            }
            AssistantEvent::TextDelta { content_index, delta } => {
                Self::TextDelta { content_index: *content_index, delta: delta.clone() }
            }
            AssistantEvent::TextEnd { content_index } => {
                let content = match block(*content_index) {
                    Some(AssistantBlock::Text(text)) => Some(text.text.clone()),
                    _ => None,
                };
                Self::TextEnd { content_index: *content_index, content }
            }
            AssistantEvent::ThinkingStart { content_index } => {
                Self::ThinkingStart { content_index: *content_index }
            }
            AssistantEvent::ThinkingDelta { content_index, delta } => {
                Self::ThinkingDelta { content_index: *content_index, delta: delta.clone() }
            }
            AssistantEvent::ThinkingEnd { content_index } => {
                let content = match block(*content_index) {
                    Some(AssistantBlock::Thinking(thinking)) => Some(thinking.thinking.clone()),
                    _ => None,
                };
                Self::ThinkingEnd { content_index: *content_index, content }
            }
            AssistantEvent::ToolCallStart { content_index } => {
                let (id, tool_name) = match block(*content_index) {
                    Some(AssistantBlock::ToolCall(call)) => {
                        (Some(call.id.clone()), Some(call.name.clone()))
                    }
                    _ => (None, None),
                };
                Self::ToolCallStart { content_index: *content_index, id, tool_name }
            }
            AssistantEvent::ToolCallDelta { content_index, delta } => {
                Self::ToolCallDelta { content_index: *content_index, delta: delta.clone() }
            }
            AssistantEvent::ToolCallEnd { content_index } => {
                let call = block(*content_index)
                    .filter(|block| matches!(block, AssistantBlock::ToolCall(_)));
                Self::ToolCallEnd {
                    content_index: *content_index,
                    tool_call: call.cloned().map(Box::new),
                }
            }
            AssistantEvent::Done { reason } => Self::Done { reason: reason.clone() },
            AssistantEvent::Error { reason } => Self::Error { reason: reason.clone() },
            // A later kind of event that this version cannot describe.
            _ => return None,
        })
    }
}
