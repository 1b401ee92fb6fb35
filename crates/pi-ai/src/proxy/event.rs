//! The events of the proxy protocol: the stream's own, without anything accumulated.

use std::borrow::Cow;

use pi_protocol::{StopReason, ToolCall, Usage};
use serde::{Deserialize, Serialize};

/// One event, as JSON on a `data: ` line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // Named as the fields of the events and messages they carry.
pub enum ProxyEvent<'a> {
    /// The provider has begun to answer.
    Start,
    /// A text block begins.
    TextStart { content_index: usize },
    /// More text.
    TextDelta {
        content_index: usize,
        #[serde(borrow)]
        delta: Cow<'a, str>,
    },
    /// The text block is complete.
    TextEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
    },
    /// A thinking block begins.
    ThinkingStart { content_index: usize },
    /// More thinking.
    ThinkingDelta {
        content_index: usize,
        #[serde(borrow)]
        delta: Cow<'a, str>,
    },
    /// The thinking block is complete. `redacted` is ours: older clients ignore it.
    ThinkingEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A tool call begins.
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize, id: String, tool_name: String },
    /// More of the argument text.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        #[serde(borrow)]
        delta: Cow<'a, str>,
    },
    /// The tool call is complete, with everything known of it.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call: Option<Box<ToolCall>>,
    },
    /// The answer is complete.
    Done {
        reason: StopReason,
        usage: Box<Usage>,
        #[serde(flatten)]
        facts: Box<Facts>,
    },
    /// The request failed or was aborted.
    Error {
        reason: StopReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
        usage: Box<Usage>,
        #[serde(flatten)]
        facts: Box<Facts>,
    },
}

/// What else is known at the end. Only the first belongs to the older protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // As in `AssistantMessage`.
pub struct Facts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
}
