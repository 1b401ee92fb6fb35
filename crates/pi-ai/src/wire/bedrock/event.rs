//! The JSON of stream events. Text is borrowed from the event where possible.

use serde::Deserialize;

use crate::wire::text::Text;

/// The payload of every event; each kind uses some of the members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(default)]
    pub(super) content_block_index: u64,
    #[serde(borrow)]
    pub(super) start: Option<Start<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<Tokens>,
}

/// The beginning of a block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Start<'a> {
    #[serde(borrow)]
    pub(super) tool_use: Option<ToolStart<'a>>,
}

/// The beginning of a tool call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolStart<'a> {
    #[serde(borrow)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    /// `server_tool_use` for tools that the provider runs.
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
}

/// A part of a block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_use: Option<ToolDelta<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Reasoning<'a>>,
}

/// A part of the input of a call.
#[derive(Debug, Deserialize)]
pub(super) struct ToolDelta<'a> {
    #[serde(borrow)]
    pub(super) input: Option<Text<'a>>,
}

/// A part of the reasoning.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reasoning<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    /// Encrypted reasoning in base64.
    #[serde(borrow)]
    pub(super) redacted_content: Option<Text<'a>>,
}

/// Token counts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_write_input_tokens: Option<u64>,
    pub(super) cache_details: Option<Vec<CacheDetail>>,
}

/// Tokens that were written to the cache, by their lifetime.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CacheDetail {
    pub(super) ttl: Option<String>,
    pub(super) input_tokens: Option<u64>,
}
