//! An event of the gateway.

use pi_protocol::{StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::text::Text;

/// The fields of all events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    /// Index of the block, as sent: an invalid one is quoted in an error.
    #[serde(default, borrow)]
    pub(super) content_index: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) delta: Option<Text<'a>>,
    /// The complete text of a block.
    #[serde(default, borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(default)]
    pub(super) content_signature: Option<String>,
    #[serde(default)]
    pub(super) redacted: Option<bool>,
    /// Id of a call.
    #[serde(default, borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(default, borrow, alias = "name")]
    pub(super) tool_name: Option<Text<'a>>,
    /// The complete call.
    #[serde(default)]
    pub(super) tool_call: Option<ToolCall>,
    #[serde(default)]
    pub(super) reason: Option<StopReason>,
    #[serde(default)]
    pub(super) error_message: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) response_id: Option<String>,
    #[serde(default)]
    pub(super) response_model: Option<String>,
    #[serde(default)]
    pub(super) provider_thinking_level: Option<String>,
    /// A report of the gateway on changes to the conversation.
    #[serde(default)]
    pub(super) rewrite: Option<Value>,
}

impl Event<'_> {
    /// Returns the index of the block, if it is valid at all.
    pub(super) fn index(&self) -> Option<usize> {
        self.content_index?.get().parse().ok()
    }
}
