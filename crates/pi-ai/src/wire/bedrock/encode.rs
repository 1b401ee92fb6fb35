//! Encodes the request: URL, headers and body.

use pi_protocol::{CacheRetention, Declarations, Model, Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::family::Family;
use super::{messages, thinking};
use crate::wire::output::Bounds;
use crate::wire::{
    Call, EncodeError, Headers, HttpRequest, OutputSupport, ids, strict, transform_messages,
};

pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    if call.model.id.is_empty() {
        return Err(EncodeError::BadModel("The model has no id.".to_owned()));
    }
    let endpoint = Endpoint::of(call)?;
    let mut headers = Headers::new();
    headers.set("Accept", "application/vnd.amazon.eventstream, application/json");
    let signing = endpoint.authorize(call, &mut headers)?;
    let mut request =
        HttpRequest::new(endpoint.url(&call.model.id), headers, body(call, &endpoint)?);
    request.signing = signing;
    Ok(request)
}

fn body(call: &Call, endpoint: &Endpoint) -> Result<Map<String, Value>, EncodeError> {
    let family = Family::of(&call.model);
    let conversation = transform_messages(&call.messages, &call.model, &|id, _| {
        ids::shorten(ids::sanitize(id), 64)
    });
    let declarations = Declarations::replay(&call.messages);
    let cache_point = cache_point(call, family);

    let mut body = Map::new();
    let mut wire = messages::encode(&conversation, family)?;
    if let Some(cache_point) = &cache_point {
        messages::mark_for_cache(&mut wire, cache_point);
    }
    body.insert("messages".into(), wire.into());
    let prompt = declarations.prompt();
    if !prompt.trim().is_empty() {
        let system: Vec<Value> =
            std::iter::once(json!({"text": prompt})).chain(cache_point).collect();
        body.insert("system".into(), system.into());
    }
    let requested = thinking::requested(call, family, endpoint);
    let mut inference = Map::new();
    if let Some(max_tokens) = requested.max_tokens {
        inference.insert("maxTokens".into(), max_tokens.into());
    }
    // Claude rejects a temperature together with thinking.
    if let Some(temperature) = call.options.temperature
        && !requested.fields.contains_key("thinking")
    {
        inference.insert("temperature".into(), temperature.into());
    }
    body.insert("inferenceConfig".into(), inference.into());
    if let Some(tools) = tool_config(call, &declarations.tools)? {
        body.insert("toolConfig".into(), tools);
    }
    if let Some((name, schema)) = call.output_schema(output_support(&call.model), Bounds::Described)
    {
        // The schema is JSON inside of a string.
        let schema = json!({"name": name, "schema": schema.to_string()});
        let format = json!({"type": "json_schema", "structure": {"jsonSchema": schema}});
        body.insert("outputConfig".into(), json!({"textFormat": format}));
    }
    if !requested.fields.is_empty() {
        body.insert("additionalModelRequestFields".into(), requested.fields.into());
    }
    Ok(body)
}

/// Returns the cache point of a model that supports them. For models that the id does not tell, such
/// as inference profiles, a variable forces cache points.
fn cache_point(call: &Call, family: Family) -> Option<Value> {
    let is_forced = || call.variables.get("AWS_BEDROCK_FORCE_CACHE").as_deref() == Some("1");
    if !family.supports_cache_points(&call.model) && !is_forced() {
        return None;
    }
    match call.cache {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({"cachePoint": {"type": "default"}})),
        CacheRetention::Long => Some(json!({"cachePoint": {"type": "default", "ttl": "1h"}})),
    }
}

fn tool_config(call: &Call, tools: &[Tool]) -> Result<Option<Value>, EncodeError> {
    // The API has no choice "none".
    if tools.is_empty() || call.options.tool_choice == Some(ToolChoice::None) {
        return Ok(None);
    }
    let list = tools.iter().map(|tool| declaration(tool, call)).collect::<Result<Vec<_>, _>>()?;
    let mut config = json!({"tools": list});
    match call.options.tool_choice {
        Some(ToolChoice::Auto) => config["toolChoice"] = json!({"auto": {}}),
        Some(ToolChoice::Required) => config["toolChoice"] = json!({"any": {}}),
        Some(ToolChoice::None) | None => {}
    }
    Ok(Some(config))
}

fn declaration(tool: &Tool, call: &Call) -> Result<Value, EncodeError> {
    let strict = strict::strict_parameters(tool, supports_strict(&call.model))?;
    let is_strict = strict.is_some();
    let schema = strict.unwrap_or_else(|| tool.parameters.clone());
    let mut spec = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": schema},
    });
    if is_strict {
        spec["strict"] = true.into();
    }
    Ok(json!({"toolSpec": spec}))
}

fn supports_strict(model: &Model) -> bool {
    model.compat.get("supportsStrictMode") == Some(&Value::Bool(true))
}

/// Returns the support for schemas of the final answer: the models with strict tools have it.
pub(super) fn output_support(model: &Model) -> OutputSupport {
    OutputSupport::of(model, OutputSupport::if_true(supports_strict(model)))
}
