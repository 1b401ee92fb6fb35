//! The model record: what is known of a model before it is asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Extra;
use crate::{ThinkingLevel, number};

/// A chat model of a provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The id that is sent to the provider.
    pub id: String,
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// The wire format, for example `openai-completions`.
    pub api: String,
    /// The provider's id.
    pub provider: String,
    /// Where requests go.
    #[serde(default)]
    pub base_url: String,
    /// The model can think before it answers.
    #[serde(default)]
    pub reasoning: bool,
    /// What the level names of this model are; `None` marks a level as unsupported.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
    /// What the model takes as input.
    #[serde(default)]
    pub input: Vec<InputKind>,
    /// Limits on what a request may carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limits: Option<InputLimits>,
    /// Prices in US dollars per million tokens.
    #[serde(default)]
    pub cost: ModelCost,
    /// How long the provider keeps a cached prompt, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache: Option<PromptCache>,
    /// Tokens of input and output together.
    #[serde(default)]
    pub context_window: u64,
    /// Tokens of output at most.
    #[serde(default)]
    pub max_tokens: u64,
    /// Fields merged into the body of every request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub sampling_params: Map<String, Value>,
    /// Fields merged into the body at a given thinking level.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sampling_params_by_thinking_level: BTreeMap<ThinkingLevel, Map<String, Value>>,
    /// Headers sent with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Where the endpoint differs from its wire format's norm. Each wire format reads its own keys.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub compat: Map<String, Value>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InputKind {
    /// Text.
    Text,
    /// Images.
    Image,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// Fresh input.
    #[serde(default, with = "number::js")]
    pub input: f64,
    /// Output.
    #[serde(default, with = "number::js")]
    pub output: f64,
    /// Input read from the cache.
    #[serde(default, with = "number::js")]
    pub cache_read: f64,
    /// Input written to the cache.
    #[serde(default, with = "number::js")]
    pub cache_write: f64,
    /// Prices that apply to the whole request once its input passes a threshold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<CostTier>,
}

/// The prices of a request with much input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostTier {
    /// Applies when the total input is larger than this.
    pub input_tokens_above: u64,
    /// Fresh input.
    #[serde(default, with = "number::js")]
    pub input: f64,
    /// Output.
    #[serde(default, with = "number::js")]
    pub output: f64,
    /// Input read from the cache.
    #[serde(default, with = "number::js")]
    pub cache_read: f64,
    /// Input written to the cache.
    #[serde(default, with = "number::js")]
    pub cache_write: f64,
}

/// Limits on what a request may carry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputLimits {
    /// The size of the whole request body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    /// Limits on images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageLimits>,
}

/// Limits on images.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageLimits {
    /// To what size an image is scaled down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<ImageResize>,
    /// Images in one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_message: Option<u64>,
    /// Images in one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_request: Option<u64>,
}

/// To what size an image is scaled down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageResize {
    /// Pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_width: Option<u64>,
    /// Pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u64>,
    /// Bytes after base64 encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jpeg_quality: Option<u64>,
}

/// How long the provider keeps a cached prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptCache {
    /// Seconds with the ordinary retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// Seconds with the long retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<u64>,
}

impl Model {
    /// The model takes images.
    pub fn accepts_images(&self) -> bool {
        self.input.contains(&InputKind::Image)
    }
}

impl ModelCost {
    /// The rates of a request with this much input: those of the highest tier it passes, for the
    /// whole request.
    pub fn rate_for(&self, total_input: u64) -> CostTier {
        self.tiers
            .iter()
            .filter(|tier| total_input > tier.input_tokens_above)
            .max_by_key(|tier| tier.input_tokens_above)
            .cloned()
            .unwrap_or(CostTier {
                input_tokens_above: 0,
                input: self.input,
                output: self.output,
                cache_read: self.cache_read,
                cache_write: self.cache_write,
            })
    }
}
