//! The fields of Anthropic's stream events that the decoder reads, borrowed from the event.

use pi_protocol::json;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::text::Text;

#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<Block<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Started<'a>>,
    pub(super) usage: Option<Tokens>,
}

#[derive(Deserialize)]
pub(super) struct Started<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) usage: Option<Tokens>,
    /// The content of a turn that was known beforehand and arrives as a whole.
    #[serde(borrow)]
    pub(super) content: Option<Vec<Block<'a>>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    pub(super) input: Option<Value>,
    /// The model that takes over, in a `fallback` block.
    #[serde(borrow)]
    pub(super) to: Option<ModelName<'a>>,
}

/// The name of a model.
#[derive(Deserialize)]
pub(super) struct ModelName<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
pub(super) struct StopDetails {
    pub(super) explanation: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Tokens {
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) cache_creation: Option<CacheCreation>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Option<u64>,
}
