//! Encodes the request: the conversation and the options, unchanged.

use pi_protocol::CacheRetention;
use serde_json::{Map, Value, json};

use crate::wire::{Call, EncodeError, Headers, HttpRequest};

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let mut headers = Headers::new();
    if let Some(key) = call.require_key(&["authorization"])? {
        headers.set("Authorization", format!("Bearer {key}"));
    }
    let base = call.model.base_url.trim_end_matches('/');
    if base.is_empty() {
        let id = &call.model.id;
        return Err(EncodeError::BadModel(format!("Model \"{id}\" has no base URL")));
    }
    let messages = serde_json::to_value(&call.messages)
        .map_err(|error| EncodeError::BadModel(format!("Cannot encode the messages: {error}")))?;
    let body = json!({
        "model": call.model.id,
        "context": {"messages": messages},
        "options": options(call),
    });
    Ok(HttpRequest::new(format!("{base}/messages"), headers, body))
}

fn options(call: &Call) -> Map<String, Value> {
    let requested = &call.options;
    // Without a wish of the user, the gateway decides.
    let cache = requested
        .cache_retention
        .or((call.cache == CacheRetention::Long).then_some(CacheRetention::Long));
    let members = [
        ("temperature", requested.temperature.map(Value::from)),
        ("maxTokens", requested.max_tokens.map(Value::from)),
        ("reasoning", requested.reasoning.map(|level| level.as_str().into())),
        ("cacheRetention", cache.and_then(|cache| serde_json::to_value(cache).ok())),
        ("sessionId", requested.session_id.as_deref().map(Value::from)),
        ("toolChoice", requested.tool_choice.and_then(|choice| serde_json::to_value(choice).ok())),
    ];
    let set = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    set.collect()
}
