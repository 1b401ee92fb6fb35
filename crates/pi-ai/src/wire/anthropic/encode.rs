//! Encodes the request: URL, headers and body.

use pi_protocol::{CacheRetention, Declarations, Message, ToolChoice, ToolPlacement};
use pi_web::KeyScheme;
use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::{messages, thinking, tools};
use crate::wire::output::Bounds;
use crate::wire::{Call, EncodeError, Headers, HttpRequest, copilot, ids, transform_messages};

const VERSION: &str = "2023-06-01";

/// Headers of the user that replace a key.
const AUTH_HEADERS: &[&str] = &["authorization", "x-api-key", "cf-aig-authorization"];

pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let compat = Compat::of(&call.model);
    let conversation = if compat.supports_mid_convo_system_messages {
        call.messages.clone()
    } else {
        Declarations::collapse(&call.messages)
    };
    let conversation = transform_messages(&conversation, &call.model, &|id, _| {
        ids::shorten(ids::sanitize(id), 64)
    });
    let (tools, inline_tools) = place_tools(&conversation, &compat);
    let cache = cache_control(call, &compat);

    let mut body = Map::new();
    body.insert("model".into(), call.model.id.clone().into());
    let mut wire = messages::encode(
        &conversation,
        &messages::Options {
            call,
            compat: &compat,
            inline_tools,
            efforts: thinking::managed_effort(call).is_some(),
        },
    )?;
    if let Some(cache) = &cache {
        messages::mark_for_cache(&mut wire, cache);
    }
    if let Some(effort) = thinking::managed_effort(call) {
        wire.push(messages::effort_marker(effort));
    }
    body.insert("messages".into(), wire.into());
    body.insert("stream".into(), true.into());
    if let Some(system) = system_blocks(&conversation, cache.as_ref()) {
        body.insert("system".into(), system);
    }
    if !tools.is_empty() {
        let on_tools = if compat.supports_cache_control_on_tools { cache.as_ref() } else { None };
        body.insert("tools".into(), tools::encode(&tools, call, &compat, on_tools, inline_tools)?);
    }
    thinking::apply(call, &compat, &mut body);
    add_output_schema(call, &compat, &mut body);
    if let Some(Value::String(user)) = call.options.metadata.get("user_id") {
        body.insert("metadata".into(), json!({"user_id": user}));
    }
    if let Some(choice) = call.options.tool_choice {
        let kind = match choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
            ToolChoice::Required => "any",
        };
        body.insert("tool_choice".into(), json!({"type": kind}));
    }
    if !compat.allowed_fallback_models.is_empty() {
        let models = compat.allowed_fallback_models.iter().map(|m| json!({"model": m.model}));
        body.insert("fallbacks".into(), models.collect());
    }
    let betas = betas(call, &compat, !tools.is_empty(), inline_tools);
    Ok(HttpRequest::new(url(call), headers(call, &compat, &betas)?, body))
}

/// Adds the schema of the final answer beside the effort.
fn add_output_schema(call: &Call, compat: &Compat, body: &mut Map<String, Value>) {
    let support = compat.output_support(&call.model);
    let Some((_, schema)) = call.output_schema(support, Bounds::Described) else { return };
    let config = body.entry("output_config").or_insert_with(|| json!({}));
    if let Value::Object(config) = config {
        config.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
}

fn url(call: &Call) -> String {
    format!("{}/v1/messages?beta=true", call.model.base_url.trim_end_matches('/'))
}

fn headers(call: &Call, compat: &Compat, betas: &[&str]) -> Result<Headers, EncodeError> {
    let mut headers = Headers::new();
    headers.set("anthropic-version", VERSION);
    match call.require_key(AUTH_HEADERS)? {
        Some(key) if is_bearer(call, key) => headers.set("Authorization", format!("Bearer {key}")),
        Some(key) => headers.set("x-api-key", key),
        None => {}
    }
    if !betas.is_empty() {
        headers.set("anthropic-beta", betas.join(","));
    }
    if let Some(name) = compat.session_header(&call.model)
        && let Some(session) = call.session_header()
    {
        headers.set(name, session);
    }
    copilot::add_headers(call, &mut headers);
    Ok(headers)
}

fn is_bearer(call: &Call, key: &str) -> bool {
    is_oauth(call, key)
        || call.key_scheme == KeyScheme::Bearer
        || call.model.provider == "github-copilot"
}

fn is_oauth(call: &Call, key: &str) -> bool {
    call.key_scheme == KeyScheme::Oauth || key.contains("sk-ant-oat")
}

fn betas(call: &Call, compat: &Compat, has_tools: bool, inline_tools: bool) -> Vec<&'static str> {
    let oauth = call.require_key(AUTH_HEADERS).ok().flatten();
    let oauth = oauth.is_some_and(|key| is_oauth(call, key));
    [
        (oauth, "oauth-2025-04-20"),
        (
            has_tools && !compat.supports_eager_tool_input_streaming,
            "fine-grained-tool-streaming-2025-05-14",
        ),
        (thinking::is_budgeted(call, compat), "interleaved-thinking-2025-05-14"),
        (!compat.allowed_fallback_models.is_empty(), "server-side-fallback-2026-07-01"),
        (compat.supports_mid_convo_effort, "mid-conversation-output-config-2026-07-01"),
        (compat.supports_mid_convo_effort, "thinking-binding-controls-2026-08-01"),
        (inline_tools, "inline-tools-2026-09-15"),
    ]
    .into_iter()
    .filter_map(|(wanted, beta)| wanted.then_some(beta))
    .collect()
}

/// Returns the top-level tools, and true if later changes are declared in place. What the top level
/// needs for that is there from the first request on: a later change would invalidate the cache.
fn place_tools(conversation: &[Message], compat: &Compat) -> (Vec<pi_protocol::Tool>, bool) {
    let placed = Declarations::place_tools(conversation, ToolPlacement::Changes);
    let inline = compat.supports_mid_convo_system_messages
        && compat.supports_mid_convo_tool_changes
        && !placed.top_level.is_empty();
    if inline {
        (placed.top_level, true)
    } else {
        (Declarations::replay(conversation).tools, false)
    }
}

/// Encodes the prompt of the leading system message.
fn system_blocks(conversation: &[Message], cache: Option<&Value>) -> Option<Value> {
    let Some(Message::System(first)) = conversation.first() else { return None };
    let prompt = first.prompt();
    if prompt.is_empty() {
        return None;
    }
    let mut block = json!({"type": "text", "text": prompt});
    if let Some(cache) = cache {
        block["cache_control"] = cache.clone();
    }
    Some(json!([block]))
}

fn cache_control(call: &Call, compat: &Compat) -> Option<Value> {
    match call.cache {
        CacheRetention::None => None,
        CacheRetention::Long if compat.supports_long_cache_retention => {
            Some(json!({"type": "ephemeral", "ttl": "1h"}))
        }
        CacheRetention::Short | CacheRetention::Long => Some(json!({"type": "ephemeral"})),
    }
}
