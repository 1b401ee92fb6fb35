//! The model record: facts about a model that are known before a request.

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
    /// The display name.
    #[serde(default)]
    pub name: String,
    /// The wire format, for example `openai-completions`.
    pub api: String,
    /// The provider's id.
    pub provider: String,
    /// The URL to which requests are sent.
    #[serde(default)]
    pub base_url: String,
    /// True if the model can think before it answers.
    #[serde(default)]
    pub reasoning: bool,
    /// The model's own names of thinking levels; `None` marks a level as unsupported.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
    /// The kinds of input that the model accepts.
    #[serde(default)]
    pub input: Vec<InputKind>,
    /// Limits on the input of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limits: Option<InputLimits>,
    /// Prices in US dollars per million tokens.
    #[serde(default)]
    pub cost: ModelCost,
    /// Lifetime of a cached prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache: Option<PromptCache>,
    /// Largest number of input and output tokens together.
    #[serde(default)]
    pub context_window: u64,
    /// Largest number of output tokens.
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
    /// Differences of the endpoint from its wire format. Each wire format reads its own keys.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub compat: Map<String, Value>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A kind of input that a model can accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names say it.
pub enum InputKind {
    Text,
    Image,
}

/// Prices in US dollars per million tokens: uncached input, output, input read from the prompt
/// cache and input written to the prompt cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The four prices are explained above, once.
pub struct ModelCost {
    #[serde(default, with = "number::js")]
    pub input: f64,
    #[serde(default, with = "number::js")]
    pub output: f64,
    #[serde(default, with = "number::js")]
    pub cache_read: f64,
    #[serde(default, with = "number::js")]
    pub cache_write: f64,
    /// Prices that apply to the whole request if its input exceeds a threshold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<CostTier>,
}

/// The prices of a request with much input, in the units of [`ModelCost`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The four prices are explained at `ModelCost`.
pub struct CostTier {
    /// The tier applies if the total input is larger than this number of tokens.
    pub input_tokens_above: u64,
    #[serde(default, with = "number::js")]
    pub input: f64,
    #[serde(default, with = "number::js")]
    pub output: f64,
    #[serde(default, with = "number::js")]
    pub cache_read: f64,
    #[serde(default, with = "number::js")]
    pub cache_write: f64,
}

/// Limits on the input of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputLimits {
    /// Largest size of the whole request body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    /// Limits on the images of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageLimits>,
}

/// Limits on the images of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageLimits {
    /// The size to which a large image is scaled down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<ImageResize>,
    /// Largest number of images in one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_message: Option<u64>,
    /// Largest number of images in one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_request: Option<u64>,
}

/// The size to which a large image is scaled down. Width and height are in pixels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // Width and height are explained above, once.
pub struct ImageResize {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_width: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u64>,
    /// Largest size after base64 encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// JPEG quality, from 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jpeg_quality: Option<u64>,
}

/// Lifetime of a cached prompt, in seconds, by [`CacheRetention`](crate::CacheRetention).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // The fields are named after the variants of `CacheRetention`.
pub struct PromptCache {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<u64>,
}

impl Model {
    /// Returns true if the model accepts images.
    pub fn accepts_images(&self) -> bool {
        self.input.contains(&InputKind::Image)
    }

    /// Returns the levels that this model supports, lowest first.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        ThinkingLevel::ALL
            .into_iter()
            .filter(|level| match self.thinking_level_map.get(level) {
                Some(mapped) => mapped.is_some(),
                // The two highest levels exist only where the record names them.
                None => *level < ThinkingLevel::Xhigh,
            })
            .collect()
    }

    /// Returns the supported level closest to `requested`: the level itself or the next higher one,
    /// else the next lower one.
    pub fn clamp_thinking(&self, requested: ThinkingLevel) -> ThinkingLevel {
        let supported = self.thinking_levels();
        let above = supported.iter().find(|level| **level >= requested);
        above.or_else(|| supported.last()).copied().unwrap_or(ThinkingLevel::Off)
    }

    /// Returns the provider's name for a level, if the record has one.
    pub fn mapped_thinking(&self, level: ThinkingLevel) -> Option<&str> {
        self.thinking_level_map.get(&level)?.as_deref()
    }

    /// Returns true if the record marks this level as unsupported.
    pub fn lacks_thinking(&self, level: ThinkingLevel) -> bool {
        matches!(self.thinking_level_map.get(&level), Some(None))
    }
}

impl CostTier {
    /// Returns the price of input that is written to the prompt cache for an hour: twice that of
    /// uncached input.
    pub fn cache_write_one_hour(&self) -> f64 {
        2.0 * self.input
    }
}

impl ModelCost {
    /// Returns the prices of a request with this much input: those of the highest tier that the
    /// input exceeds, for the whole request.
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
