//! Prompt caching: keys, Anthropic's markers, and the headers that keep a session on one server.
//!
//! If caching is off, nothing of this is sent, so that requests cannot be linked to each other.

use pi_protocol::CacheRetention;
use serde_json::{Map, Value, json};

use super::compat::{Compat, SessionAffinity};
use crate::wire::{Call, Headers};

/// Adds the cache key and the requested retention.
pub(super) fn add_key(call: &Call, compat: &Compat, body: &mut Map<String, Value>) {
    let long = call.cache == CacheRetention::Long && compat.long_cache;
    let of_openai = call.model.base_url.to_ascii_lowercase().contains("api.openai.com");
    if (long || of_openai)
        && let Some(key) = call.cache_key()
    {
        body.insert("prompt_cache_key".to_owned(), key.into());
    }
    if long {
        body.insert("prompt_cache_retention".to_owned(), "24h".into());
    }
}

/// Adds the headers that carry the session id.
pub(super) fn add_headers(call: &Call, compat: &Compat, headers: &mut Headers) {
    let (Some(affinity), Some(id)) = (compat.session_affinity, call.session_header()) else {
        return;
    };
    let names: &[&str] = match affinity {
        SessionAffinity::OpenAi => &["session_id", "x-client-request-id", "x-session-affinity"],
        SessionAffinity::WithoutSession => &["x-client-request-id", "x-session-affinity"],
        SessionAffinity::OpenRouter => &["x-session-id"],
    };
    for name in names {
        headers.set(*name, id);
    }
}

/// Adds cache markers to the prompt, the tools and the end of the conversation.
pub(super) fn add_markers(
    call: &Call,
    compat: &Compat,
    messages: &mut [Value],
    tools: &mut [Value],
) {
    if !compat.cache_control || call.cache == CacheRetention::None {
        return;
    }
    let marker = if call.cache == CacheRetention::Long && compat.long_cache {
        json!({"type": "ephemeral", "ttl": "1h"})
    } else {
        json!({"type": "ephemeral"})
    };
    let is_prompt = |message: &Value| matches!(role(message), "system" | "developer");
    if let Some(prompt) = messages.iter_mut().find(|message| is_prompt(message)) {
        mark_text(prompt, &marker);
    }
    if let Some(Value::Object(tool)) = tools.last_mut() {
        tool.insert("cache_control".to_owned(), marker.clone());
    }
    for message in messages.iter_mut().rev().filter(|message| !is_prompt(message)) {
        if mark_text(message, &marker) {
            break;
        }
    }
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Puts `marker` on the last text of a message. Returns false if there is none.
fn mark_text(message: &mut Value, marker: &Value) -> bool {
    match message.get_mut("content") {
        Some(Value::String(text)) if !text.is_empty() => {
            let text = std::mem::take(text);
            message["content"] = json!([{"type": "text", "text": text, "cache_control": marker}]);
            true
        }
        Some(Value::Array(parts)) => {
            let is_text = |part: &&mut Value| part.get("type").is_some_and(|kind| kind == "text");
            let last = parts.iter_mut().rev().find(is_text).and_then(Value::as_object_mut);
            last.map(|part| part.insert("cache_control".to_owned(), marker.clone())).is_some()
        }
        _ => false,
    }
}
