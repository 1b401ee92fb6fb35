//! The request of the proxy protocol: model, conversation, and the options that may travel.
//!
//! Keys, environment, time-outs and hooks stay where they are: the server has its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pi_protocol::{
    CacheRetention, Context, Model, Request, RetryOptions, StreamOptions, ThinkingBudgets,
    ThinkingLevel, ToolChoice, json,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Serialize, Deserialize)]
struct WireRequest<M> {
    model: M,
    context: Context,
    #[serde(default)]
    options: WireOptions,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    sampling_params: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ThinkingLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_retention: Option<CacheRetention>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, Option<String>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budgets: Option<ThinkingBudgets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retry_delay_ms: Option<u64>,
}

/// The body is not a request of this protocol.
#[derive(Debug, thiserror::Error)]
#[error("The request is not one of the proxy protocol: {0}")]
pub struct BadProxyRequest(#[from] serde_json::Error);

/// Reads the body of a `POST /api/stream`.
///
/// The model record comes from the client. A server that spends its own keys should look the
/// model up by provider and id instead of trusting the record's base URL.
pub fn read_request(body: &[u8]) -> Result<Request, BadProxyRequest> {
    let text = String::from_utf8_lossy(body);
    let wire: WireRequest<Model> = json::from_str_repairing(&text)?;
    let options = wire.options;
    Ok(Request {
        model: Arc::new(wire.model),
        context: wire.context,
        options: StreamOptions {
            temperature: options.temperature,
            sampling_params: options.sampling_params,
            max_tokens: options.max_tokens,
            reasoning: options.reasoning,
            cache_retention: options.cache_retention,
            session_id: options.session_id,
            headers: options.headers,
            metadata: options.metadata,
            tool_choice: options.tool_choice,
            thinking_budgets: options.thinking_budgets.unwrap_or_default(),
            retry: options.max_retry_delay_ms.map_or_else(RetryOptions::default, |millis| {
                RetryOptions { max_delay: Duration::from_millis(millis), ..RetryOptions::default() }
            }),
            ..StreamOptions::default()
        },
    })
}

/// Writes the body of a `POST /api/stream`.
pub fn write_request(request: &Request) -> Value {
    let options = &request.options;
    let budgets = Some(options.thinking_budgets.clone());
    let max_delay = options.retry.max_delay;
    let changed = max_delay != RetryOptions::default().max_delay;
    let wire = WireRequest {
        model: &*request.model,
        context: request.context.clone(),
        options: WireOptions {
            temperature: options.temperature,
            sampling_params: options.sampling_params.clone(),
            max_tokens: options.max_tokens,
            reasoning: options.reasoning.filter(|level| *level != ThinkingLevel::Off),
            cache_retention: options.cache_retention,
            session_id: options.session_id.clone(),
            headers: options.headers.clone(),
            metadata: options.metadata.clone(),
            tool_choice: options.tool_choice,
            thinking_budgets: budgets.filter(|budgets| *budgets != ThinkingBudgets::default()),
            max_retry_delay_ms: changed.then_some(max_delay.as_millis() as u64),
        },
    };
    // Maps with string keys and plain values: this cannot fail.
    serde_json::to_value(wire).unwrap_or_default()
}
