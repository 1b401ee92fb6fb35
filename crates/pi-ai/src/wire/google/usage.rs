//! Token counts.
//!
//! Every chunk may have counts, each a running total. A count that is left out has not changed:
//! Vertex sends chunks with an empty `usageMetadata` before the one with the counts.

use pi_protocol::{ModelCost, Usage};
use serde::Deserialize;
use serde_json::Value;

/// The counts reported so far.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Counts {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl Counts {
    /// Reads the counts of a chunk. An invalid count is absent and does not fail the answer. Lenient
    /// parsing is slow, so it is only the fallback.
    fn read(usage_metadata: &str) -> Self {
        serde_json::from_str(usage_metadata).unwrap_or_else(|_| {
            let values: Value = serde_json::from_str(usage_metadata).unwrap_or_default();
            let count = |name: &str| values.get(name)?.as_u64();
            Self {
                prompt_token_count: count("promptTokenCount"),
                cached_content_token_count: count("cachedContentTokenCount"),
                candidates_token_count: count("candidatesTokenCount"),
                thoughts_token_count: count("thoughtsTokenCount"),
                tool_use_prompt_token_count: count("toolUsePromptTokenCount"),
                total_token_count: count("totalTokenCount"),
            }
        })
    }

    /// Adds the counts of a chunk; returns false if there are none.
    pub(super) fn update(&mut self, usage_metadata: &str) -> bool {
        let new = Self::read(usage_metadata);
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

    /// Returns the counts as usage with its cost.
    pub(super) fn usage(&self, prices: &ModelCost) -> Usage {
        let cache_read = self.cached_content_token_count.unwrap_or(0);
        let prompt = self.prompt_token_count.unwrap_or(0).saturating_sub(cache_read);
        // The results of Google's own tools (search, code execution) are input that
        // `promptTokenCount` leaves out and the total includes.
        let tool_results = self.tool_use_prompt_token_count.unwrap_or(0);
        let reasoning = self.thoughts_token_count.unwrap_or(0);
        let mut usage = Usage {
            input: prompt.saturating_add(tool_results),
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
