//! Encodes the request: URL, headers and body.

use pi_protocol::{CacheRetention, ThinkingLevel, ToolChoice};
use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::input;
use crate::wire::{Call, EncodeError, Headers, HttpRequest, copilot, sampling};

/// The smallest output limit that the server accepts.
const MIN_OUTPUT_TOKENS: u64 = 16;

/// The effort in the body of requests that set the real one inside the conversation: always the
/// same, so that a change of effort does not change the cached prefix.
const FIXED_EFFORT: &str = "medium";

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let key = call.require_key(&["authorization", "cf-aig-authorization"])?;
    let compat = Compat::of(call);
    let url = format!("{}/responses", call.model.base_url.trim_end_matches('/'));
    let mut body = body(call, &compat, &call.model.id)?;
    super::add_output_schema(call, super::output_support(&call.model), &mut body);
    Ok(HttpRequest::new(url, headers(call, &compat, key), body))
}

fn headers(call: &Call, compat: &Compat, key: Option<&str>) -> Headers {
    let mut headers = Headers::new();
    if let Some(key) = key {
        headers.set("Authorization", format!("Bearer {key}"));
    }
    // A session id that is not valid in a header is still a cache key in the body.
    if let Some(session) = call.session_header() {
        for name in compat.session_headers {
            headers.set(*name, session);
        }
    }
    copilot::add_headers(call, &mut headers);
    headers
}

/// Encodes the body, for a model that the endpoint knows as `model`.
pub(super) fn body(
    call: &Call,
    compat: &Compat,
    model: &str,
) -> Result<Map<String, Value>, EncodeError> {
    let effort = Effort::with(call, compat);
    let input = input::build(call, compat, effort.in_conversation.as_deref())?;
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(model));
    set("input", Value::Array(input.items));
    set("stream", json!(true));
    set("store", json!(false));
    if let Some(key) = call.cache_key() {
        set("prompt_cache_key", json!(key));
    }
    match call.cache {
        CacheRetention::None if compat.explicit_cache => {
            set("prompt_cache_options", json!({"mode": "explicit"}));
        }
        CacheRetention::Long if compat.explicit_cache => {
            set("prompt_cache_options", json!({"ttl": "30m"}));
        }
        CacheRetention::Long if compat.long_cache => {
            set("prompt_cache_retention", json!("24h"));
        }
        _ => {}
    }
    if let Some(limit) = output_limit(call, compat) {
        set("max_output_tokens", json!(limit));
    }
    if let Some(temperature) = call.options.temperature {
        set("temperature", json!(temperature));
    }
    if !input.tools.is_empty() {
        set("tools", Value::Array(input.tools));
    }
    if let Some(choice) = call.options.tool_choice {
        set("tool_choice", json!(tool_choice(choice)));
    }
    if let Some(reasoning) = effort.request {
        set("reasoning", reasoning);
    }
    if effort.include_encrypted {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    sampling::apply(call, &mut body);
    body.retain(|name, _| !compat.rejected.contains(&name.as_str()));
    Ok(body)
}

/// Returns the output limit; `None` leaves it to the server.
fn output_limit(call: &Call, compat: &Compat) -> Option<u64> {
    if !compat.max_output_tokens {
        return None;
    }
    Some(call.max_tokens()?.max(MIN_OUTPUT_TOKENS))
}

/// Returns the name of a constraint on tool calls.
pub(in crate::wire) fn tool_choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
    }
}

/// The requested effort, in the body or inside the conversation.
#[derive(Debug, Default)]
pub(super) struct Effort {
    /// The `reasoning` object of the body.
    pub(super) request: Option<Value>,
    /// True if the request asks for the encrypted reasoning, to send it back with the next request.
    include_encrypted: bool,
    /// The effort, if it is set inside the conversation.
    pub(super) in_conversation: Option<String>,
}

impl Effort {
    /// Returns the effort that `call` requests.
    pub(super) fn of(call: &Call) -> Self {
        Self::with(call, &Compat::of(call))
    }

    /// Returns the effort that `call` requests from an endpoint with these capabilities.
    pub(super) fn with(call: &Call, compat: &Compat) -> Self {
        let model = &call.model;
        if !model.reasoning {
            return Self::default();
        }
        // xAI reasons even without a request to do so.
        let always_reasons = model.provider == "xai";
        let Some(level) = call.thinking() else {
            let cannot_say_off = model.provider == "github-copilot";
            let request = if cannot_say_off || model.lacks_thinking(ThinkingLevel::Off) {
                None
            } else {
                let off = model.mapped_thinking(ThinkingLevel::Off).unwrap_or("none");
                Some(json!({"effort": off}))
            };
            return Self { request, include_encrypted: always_reasons, in_conversation: None };
        };
        let effort = model.mapped_thinking(level).unwrap_or(level.as_str());
        let in_request = if compat.mid_effort { FIXED_EFFORT } else { effort };
        Self {
            request: Some(json!({"effort": in_request, "summary": "auto"})),
            include_encrypted: true,
            in_conversation: compat.mid_effort.then(|| effort.to_owned()),
        }
    }
}
