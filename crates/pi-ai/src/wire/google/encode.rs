//! Encodes the request: URL, headers and body.

use serde_json::{Map, Value, json};

use super::family::Family;
use super::{contents, thinking, tools};
use crate::wire::output::Bounds;
use crate::wire::{Call, EncodeError, Headers, HttpRequest, OutputSupport};
use pi_protocol::{Declarations, Model};

/// The base URL of records without one.
const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Encodes the request of a call.
pub(super) fn request(call: &Call) -> Result<HttpRequest, EncodeError> {
    let mut headers = Headers::new();
    if let Some(key) = call.require_key(&["x-goog-api-key"])? {
        headers.set("x-goog-api-key", key);
    }
    Ok(HttpRequest::new(url(call)?, headers, body(call)?))
}

fn url(call: &Call) -> Result<String, EncodeError> {
    let base = match call.model.base_url.trim_end_matches('/') {
        "" => DEFAULT_BASE_URL,
        base => base,
    };
    let id = &call.model.id;
    if id.is_empty() || id.contains(['?', '&', '#']) || id.contains("..") {
        return Err(EncodeError::BadModel("invalid model parameter".to_owned()));
    }
    let folder = match id.split_once('/') {
        Some(("models" | "tunedModels", _)) => "",
        _ => "models/",
    };
    Ok(format!("{base}/{folder}{id}:streamGenerateContent?alt=sse"))
}

/// Encodes the body of a call.
pub(super) fn body(call: &Call) -> Result<Value, EncodeError> {
    let declarations = Declarations::replay(&call.messages);
    let contents = contents::write(call);
    if contents.is_empty() {
        return Err(EncodeError::NoContents);
    }
    let mut body = Map::new();
    body.insert("contents".to_owned(), Value::Array(contents));
    let prompt = declarations.prompt();
    if !prompt.is_empty() {
        let instruction = json!({"role": "user", "parts": [{"text": prompt}]});
        body.insert("systemInstruction".to_owned(), instruction);
    }
    if let Some((tools, config)) = tools::declare(call, &declarations.tools)? {
        body.insert("tools".to_owned(), tools);
        if let Some(config) = config {
            body.insert("toolConfig".to_owned(), config);
        }
    }
    let mut generation = Map::new();
    if let Some(temperature) = call.options.temperature {
        generation.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(max_tokens) = call.max_tokens() {
        generation.insert("maxOutputTokens".to_owned(), json!(max_tokens));
    }
    if let Some(thinking) = thinking::config(call)? {
        generation.insert("thinkingConfig".to_owned(), thinking);
    }
    if let Some((_, mut schema)) = call.output_schema(output_support(&call.model), Bounds::Enforced)
    {
        tools::const_to_enum(&mut schema);
        generation.insert("responseMimeType".to_owned(), json!("application/json"));
        generation.insert("responseJsonSchema".to_owned(), schema);
    }
    body.insert("generationConfig".to_owned(), Value::Object(generation));
    Ok(Value::Object(body))
}

/// Returns the support for schemas of the final answer.
pub(super) fn output_support(model: &Model) -> OutputSupport {
    OutputSupport::of(model, Family::of(&model.id).output_support())
}
