//! Encodes the request: URL, headers and body.

use pi_protocol::{Declarations, Message, ToolPlacement};
use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::tools::{self, GrammarTools};
use super::{cache, messages, thinking};
use crate::wire::output::Bounds;
use crate::wire::{
    Call, EncodeError, Headers, HttpRequest, azure, copilot, ids, sampling, transform_messages,
};

/// Headers of the user that replace a key.
const OWN_AUTH: &[&str] = &["authorization", "cf-aig-authorization"];

/// Path of the operation, after the base URL.
const OPERATION: &str = "/chat/completions";

/// Length of the longest call id that `openai` accepts.
const MAX_ID: usize = 40;

/// Length of the hash in a shortened id.
const HASH: usize = 8;

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let compat = Compat::of(&call.model);
    let mut headers = Headers::new();
    if let Some(key) = call.require_key(OWN_AUTH)? {
        headers.set("Authorization", format!("Bearer {key}"));
    }
    copilot::add_headers(call, &mut headers);
    cache::add_headers(call, &compat, &mut headers);
    if call.model.provider == "azure" {
        let url = azure::Endpoint::of(call)?.url(OPERATION, None);
        return Ok(HttpRequest::new(url, headers, body(call, &compat, &azure::deployment(call))?));
    }
    Ok(HttpRequest::new(url(call)?, headers, body(call, &compat, &call.model.id)?))
}

fn url(call: &Call) -> Result<String, EncodeError> {
    let base = call.model.base_url.trim_end_matches('/');
    if base.is_empty() {
        let id = &call.model.id;
        return Err(EncodeError::BadModel(format!("Model \"{id}\" has no base URL")));
    }
    Ok(format!("{base}{OPERATION}"))
}

/// Encodes the body, for a model that the endpoint knows as `name`.
fn body(call: &Call, compat: &Compat, name: &str) -> Result<Value, EncodeError> {
    let model = &call.model;
    let conversation = if compat.system_anywhere {
        call.messages.clone()
    } else {
        Declarations::collapse(&call.messages)
    };
    let normalize = |id: &str, _: &pi_protocol::AssistantMessage| normalize_id(id, &model.provider);
    let conversation = transform_messages(&conversation, model, &normalize);
    let placement =
        if compat.tools_anywhere { ToolPlacement::Additions } else { ToolPlacement::TopLevel };
    let placed = Declarations::place_tools(&conversation, placement);
    let grammar_tools = GrammarTools::among(&Declarations::replay(&conversation).tools, compat);

    let first_in_place = placed.in_place_from;
    let wire = messages::Wire { model, compat, grammar_tools: &grammar_tools, first_in_place };
    let mut messages = wire.messages(&conversation)?;
    let mut tools = tools::declare(&placed.top_level, compat)?;
    cache::add_markers(call, compat, &mut messages, &mut tools);

    let mut body = Map::new();
    let mut set = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    set("model", name.into());
    set("messages", messages.into());
    set("stream", true.into());
    if compat.usage_in_streaming {
        set("stream_options", json!({"include_usage": true}));
    }
    if compat.store {
        set("store", false.into());
    }
    let max_tokens = call.max_tokens();
    if let Some(max_tokens) = max_tokens {
        set(&compat.max_tokens_field, max_tokens.into());
    }
    if let Some(temperature) = call.options.temperature {
        set("temperature", temperature.into());
    }
    if !tools.is_empty() {
        set("tools", tools.into());
        if compat.tool_stream {
            set("tool_stream", true.into());
        }
    } else if conversation.iter().any(has_tool_content) {
        // Proxies in front of Anthropic reject calls in the history without a list of tools.
        set("tools", json!([]));
    }
    if let Some(choice) = call.options.tool_choice {
        set("tool_choice", serde_json::to_value(choice).unwrap_or_default());
    }
    if let Some(priority) = &compat.vllm_priority {
        set("priority", priority.clone());
    }
    if !compat.open_router_routing.is_empty() {
        set("provider", compat.open_router_routing.clone().into());
    }
    if !compat.vercel_gateway_routing.is_empty() {
        set("providerOptions", json!({"gateway": compat.vercel_gateway_routing}));
    }
    if let Some((name, schema)) = call.output_schema(compat.output, Bounds::Enforced) {
        let schema = json!({"name": name, "schema": schema, "strict": true});
        set("response_format", json!({"type": "json_schema", "json_schema": schema}));
    }
    cache::add_key(call, compat, &mut body);
    thinking::add(call, compat, max_tokens, &mut body);
    sampling::apply(call, &mut body);
    Ok(Value::Object(body))
}

fn has_tool_content(message: &Message) -> bool {
    match message {
        Message::Assistant(assistant) => assistant.tool_calls().next().is_some(),
        Message::ToolResult(_) => true,
        Message::System(_) | Message::User(_) => false,
    }
}

/// Rewrites the id of a call that another model made to an id that these endpoints accept.
///
/// Ids of the Responses API have two halves, `call|item`, and the second can be hundreds of
/// characters long. The first half alone is not unique, so a hash replaces the removed part.
fn normalize_id(id: &str, provider: &str) -> String {
    let Some((call, item)) = id.split_once('|') else {
        return match provider {
            "openai" => id.chars().take(MAX_ID).collect(),
            _ => id.to_owned(),
        };
    };
    let (call, item) = (ids::sanitize(call), ids::sanitize(item));
    let whole = if item.is_empty() { call.clone() } else { format!("{call}_{item}") };
    if whole.len() <= MAX_ID {
        return whole;
    }
    let hash: String = ids::short_hash(id).chars().take(HASH).collect();
    let head: String = call.chars().take(MAX_ID - 1 - HASH).collect();
    format!("{head}_{hash}")
}
