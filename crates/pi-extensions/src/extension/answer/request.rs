//! Answers about one request to a provider. Most are given by changing the event.

use std::sync::Arc;

use pi_coding_agent::extension::{
    BeforeProviderHeaders, BeforeProviderRequest, CacheWarmingAction, ContextMessages, HeaderMap,
    Headers, Payload, Warming,
};
use pi_protocol::{AgentMessage, History};
use serde_json::Value;

use super::field;

/// Reads `{ messages? }`, or the messages that the handler changed.
pub(super) fn messages(
    asked: &History<AgentMessage>,
    result: &Value,
    event: &Value,
) -> Result<ContextMessages, String> {
    if let Some(messages) = field::<Vec<AgentMessage>>(result, "messages")? {
        return Ok(messages.into());
    }
    let before = serde_json::to_value(asked).unwrap_or_default();
    if event["messages"].is_null() || event["messages"] == before {
        return Ok(ContextMessages::default());
    }
    let messages = field::<Vec<AgentMessage>>(event, "messages")?;
    Ok(messages.map(Into::into).unwrap_or_default())
}

/// Returns the headers as the handler left them; `null` removes one.
pub(super) fn headers(asked: &BeforeProviderHeaders, event: &Value) -> Result<Headers, String> {
    let headers = field::<HeaderMap>(event, "headers")?;
    Ok(Headers(headers.filter(|headers| *headers != asked.headers)))
}

/// Returns the body that the handler returned, or the one that it changed.
pub(super) fn payload(asked: &BeforeProviderRequest, result: &Value, event: &Value) -> Payload {
    if !result.is_null() {
        return result.clone().into();
    }
    let changed = &event["payload"];
    if changed.is_null() || *changed == *asked.payload {
        return Payload::default();
    }
    Payload(Some(Arc::new(changed.clone())))
}

/// Reads `{ action? }`.
pub(super) fn warming(result: &Value) -> CacheWarmingAction {
    CacheWarmingAction(match result["action"].as_str() {
        Some("warm") => Some(Warming::Warm),
        Some("stop") => Some(Warming::Stop),
        _ => None,
    })
}
