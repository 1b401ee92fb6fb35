//! Token counts and their cost.

use serde::{Deserialize, Serialize};

use crate::Extra;
use crate::model::ModelCost;
use crate::number;

/// Token counts of one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the prompt cache.
    #[serde(default, deserialize_with = "number::count")]
    pub input: u64,
    /// Output tokens, reasoning included.
    #[serde(default, deserialize_with = "number::count")]
    pub output: u64,
    /// Input tokens read from the prompt cache.
    #[serde(default, deserialize_with = "number::count")]
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    #[serde(default, deserialize_with = "number::count")]
    pub cache_write: u64,
    /// The part of `cache_write` with a lifetime of an hour, which costs more.
    #[serde(
        default,
        rename = "cacheWrite1h",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "number::count_option"
    )]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "number::count_option"
    )]
    pub reasoning: Option<u64>,
    /// The sum, as computed or as reported by the provider.
    #[serde(default, deserialize_with = "number::count")]
    pub total_tokens: u64,
    /// Cost of the request.
    #[serde(default)]
    pub cost: Cost,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The cost of a request in US dollars, by the token counts of [`Usage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The first four fields are named after the counts that they price.
pub struct Cost {
    #[serde(default, with = "number::js")]
    pub input: f64,
    #[serde(default, with = "number::js")]
    pub output: f64,
    #[serde(default, with = "number::js")]
    pub cache_read: f64,
    #[serde(default, with = "number::js")]
    pub cache_write: f64,
    /// The sum, as computed or as charged by the provider.
    #[serde(default, with = "number::js")]
    pub total: f64,
    /// True if `total` is the charge reported by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Usage {
    /// Returns all input tokens: uncached, read from the cache and written to the cache.
    pub fn total_input(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Sets `total_tokens` to the sum of its parts.
    pub fn sum_total(&mut self) {
        self.total_tokens = self.total_input().saturating_add(self.output);
    }

    /// Computes `cost` from the model's prices.
    pub fn price(&mut self, prices: &ModelCost) {
        let rate = prices.rate_for(self.total_input());
        let one_hour = self.cache_write_1h.unwrap_or(0).min(self.cache_write);
        let five_minutes = self.cache_write - one_hour;
        let cost = Cost {
            input: per_million(rate.input, self.input),
            output: per_million(rate.output, self.output),
            cache_read: per_million(rate.cache_read, self.cache_read),
            cache_write: per_million(rate.cache_write, five_minutes)
                + per_million(rate.cache_write_one_hour(), one_hour),
            ..Cost::default()
        };
        self.cost = Cost {
            total: cost.input + cost.output + cost.cache_read + cost.cache_write,
            total_from_provider: Some(false),
            ..cost
        };
    }
}

impl std::ops::AddAssign<&Usage> for Usage {
    /// Adds the usage of another request. The sum is the charge of the provider only if both
    /// totals are.
    fn add_assign(&mut self, other: &Usage) {
        let either = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = either(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = either(self.reasoning, other.reasoning);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost += &other.cost;
    }
}

impl std::ops::AddAssign<&Cost> for Cost {
    /// Adds the cost of another request.
    fn add_assign(&mut self, other: &Cost) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total += other.total;
        self.total_from_provider = match (self.total_from_provider, other.total_from_provider) {
            (Some(a), Some(b)) => Some(a && b),
            (a, b) => a.or(b),
        };
    }
}

fn per_million(rate: f64, tokens: u64) -> f64 {
    // Token counts stay far below 2^53.
    let tokens = tokens as f64;
    rate / 1e6 * tokens
}
