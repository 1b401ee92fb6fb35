//! Encodes the request: URL, headers and body.

use std::cell::RefCell;

use pi_protocol::{AssistantMessage, Declarations, Model, ThinkingLevel, Tool};
use serde_json::{Map, Value, json};

use super::ids::CallIds;
use super::messages;
use crate::wire::output::Bounds;
use crate::wire::{
    Call, EncodeError, Headers, HttpRequest, OutputSupport, strict, transform_messages,
};

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let mut headers = Headers::new();
    if let Some(key) = call.require_key(&["authorization"])? {
        headers.set("Authorization", format!("Bearer {key}"));
    }
    if let Some(session) = call.session_header() {
        headers.set("x-affinity", session);
    }
    Ok(HttpRequest::new(url(call)?, headers, body(call)?))
}

fn url(call: &Call) -> Result<String, EncodeError> {
    let base = call.model.base_url.trim_end_matches('/');
    // The version is part of the path, and of many configured base URLs.
    let base = base.strip_suffix("/v1").unwrap_or(base);
    if base.is_empty() {
        let id = &call.model.id;
        return Err(EncodeError::BadModel(format!("Model \"{id}\" has no base URL")));
    }
    Ok(format!("{base}/v1/chat/completions"))
}

fn body(call: &Call) -> Result<Value, EncodeError> {
    let conversation = Declarations::collapse(&call.messages);
    let ids = RefCell::new(CallIds::default());
    let rewrite = |id: &str, _: &AssistantMessage| ids.borrow_mut().rewrite(id);
    let conversation = transform_messages(&conversation, &call.model, &rewrite);
    let tools = Declarations::replay(&conversation).tools;

    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", call.model.id.as_str().into());
    set("stream", true.into());
    set("messages", messages::encode(&conversation).into());
    if !tools.is_empty() {
        set("tools", tools.iter().map(declare).collect::<Result<Vec<_>, _>>()?.into());
    }
    if let Some(temperature) = call.options.temperature {
        set("temperature", temperature.into());
    }
    if let Some(max_tokens) = call.max_tokens() {
        set("max_tokens", max_tokens.into());
    }
    if let Some(choice) = call.options.tool_choice {
        set("tool_choice", serde_json::to_value(choice).unwrap_or_default());
    }
    if let Some((name, value)) = thinking(call) {
        set(name, value.into());
    }
    if let Some((name, schema)) = call.output_schema(output_support(&call.model), Bounds::Described)
    {
        let schema = json!({"name": name, "schema": schema, "strict": true});
        set("response_format", json!({"type": "json_schema", "json_schema": schema}));
    }
    if let Some(session) = call.session_id() {
        set("prompt_cache_key", session.into());
    }
    Ok(body.into())
}

/// Returns the support for schemas of the final answer. A schema together with tools is not
/// documented.
pub(super) fn output_support(model: &Model) -> OutputSupport {
    OutputSupport::of(model, OutputSupport::WithoutTools)
}

/// Returns the parameter that requests thinking. Models with named levels take one of them; older
/// models only know a mode.
fn thinking(call: &Call) -> Option<(&'static str, String)> {
    let model = &call.model;
    if !model.reasoning {
        return None;
    }
    let has_levels = !model.thinking_level_map.is_empty();
    match call.thinking() {
        Some(_) if !has_levels => Some(("prompt_mode", "reasoning".to_owned())),
        Some(level) => {
            let effort = model.mapped_thinking(level).unwrap_or("high");
            Some(("reasoning_effort", effort.to_owned()))
        }
        None => {
            let off = model.mapped_thinking(ThinkingLevel::Off)?;
            Some(("reasoning_effort", off.to_owned()))
        }
    }
}

fn declare(tool: &Tool) -> Result<Value, EncodeError> {
    let strict = strict::strict_parameters(tool, true)?;
    let is_strict = strict.is_some();
    let parameters = strict.unwrap_or_else(|| match &tool.parameters {
        Value::Null => json!({"type": "object", "properties": {}}),
        schema => schema.clone(),
    });
    Ok(json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
            "strict": is_strict,
        },
    }))
}
