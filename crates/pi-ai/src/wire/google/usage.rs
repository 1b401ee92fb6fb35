//! Token counts.
//!
//! Every chunk may carry counts, each a running total. A count that is left out has not changed:
//! Vertex sends chunks with an empty `usageMetadata` before the one that counts.

use pi_protocol::{ModelCost, Usage, json};
use serde::Deserialize;

/// The counts reported so far.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Counts {
    #[serde(deserialize_with = "json::lenient")]
    prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    cached_content_token_count: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    candidates_token_count: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    thoughts_token_count: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    total_token_count: Option<u64>,
}

impl Counts {
    /// Takes in the counts of a chunk; says whether there were any.
    pub(super) fn update(&mut self, usage_metadata: &str) -> bool {
        // Usage is nice to have: what cannot be read does not cost the answer.
        let Ok(new) = serde_json::from_str::<Self>(usage_metadata) else { return false };
        let mut changed = false;
        let mut take = |old: &mut Option<u64>, new: Option<u64>| {
            changed |= new.is_some();
            *old = new.or(*old);
        };
        take(&mut self.prompt_token_count, new.prompt_token_count);
        take(&mut self.cached_content_token_count, new.cached_content_token_count);
        take(&mut self.candidates_token_count, new.candidates_token_count);
        take(&mut self.thoughts_token_count, new.thoughts_token_count);
        take(&mut self.tool_use_prompt_token_count, new.tool_use_prompt_token_count);
        take(&mut self.total_token_count, new.total_token_count);
        changed
    }

    /// The counts as usage, priced.
    pub(super) fn usage(&self, prices: &ModelCost) -> Usage {
        let cache_read = self.cached_content_token_count.unwrap_or(0);
        let prompt = self.prompt_token_count.unwrap_or(0).saturating_sub(cache_read);
        // What Google's own tools (search, code execution) fed back to the model is input that
        // `promptTokenCount` leaves out and the total counts.
        let fed_back = self.tool_use_prompt_token_count.unwrap_or(0);
        let reasoning = self.thoughts_token_count.unwrap_or(0);
        let mut usage = Usage {
            input: prompt.saturating_add(fed_back),
            output: self.candidates_token_count.unwrap_or(0).saturating_add(reasoning),
            cache_read,
            reasoning: Some(reasoning),
            ..Usage::default()
        };
        usage.sum_total();
        if let Some(total) = self.total_token_count {
            usage.total_tokens = total;
        }
        usage.price(prices);
        usage
    }
}
