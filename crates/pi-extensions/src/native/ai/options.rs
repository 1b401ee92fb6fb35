//! Options of a request, as JavaScript gives them.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_ai::{CacheRetention, StreamOptions, ThinkingBudgets, ThinkingLevel, ToolChoice};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The options of `stream` and `streamSimple` that a client takes. Fields of another type are errors.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestOptions {
    api_key: Option<String>,
    env: BTreeMap<String, String>,
    headers: BTreeMap<String, Option<String>>,
    temperature: Option<f64>,
    sampling_params: Map<String, Value>,
    max_tokens: Option<u64>,
    cache_retention: Option<CacheRetention>,
    session_id: Option<String>,
    metadata: Map<String, Value>,
    tool_choice: Option<ToolChoice>,
    reasoning: Option<ThinkingLevel>,
    thinking_budgets: ThinkingBudgets,
    timeout_ms: Option<u64>,
    max_retries: Option<u32>,
    max_retry_delay_ms: Option<u64>,
}

impl RequestOptions {
    /// Converts the options for a client.
    pub(super) fn into_stream_options(self) -> StreamOptions {
        let mut options = StreamOptions::default();
        options.api_key = self.api_key.map(Into::into);
        options.env.extend(self.env);
        options.headers.extend(self.headers);
        options.temperature = self.temperature;
        options.sampling_params = self.sampling_params;
        options.max_tokens = self.max_tokens;
        options.cache_retention = self.cache_retention;
        options.session_id = self.session_id;
        options.metadata = self.metadata;
        options.tool_choice = self.tool_choice;
        options.reasoning = self.reasoning;
        options.thinking_budgets = self.thinking_budgets;
        if let Some(timeout) = self.timeout_ms {
            options.timeouts.first_byte = Some(Duration::from_millis(timeout));
        }
        if let Some(retries) = self.max_retries {
            options.retry.max_retries = retries;
        }
        if let Some(delay) = self.max_retry_delay_ms {
            options.retry.max_delay = Duration::from_millis(delay);
        }
        options
    }
}
