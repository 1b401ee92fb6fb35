//! `openai-responses`: OpenAI's Responses API and compatible endpoints (xAI, Meta, GitHub Copilot,
//! OpenCode, OpenRouter, llama-server). `azure-openai-responses` has the same bodies and streams.
//!
//! The conversation becomes a flat list of input items; nothing is stored on the server
//! (`store: false`), so reasoning travels back and forth encrypted, inside thinking signatures.
//! The stream is a list of output items that may interleave; each becomes one content block.
//!
//! `openai-codex-responses` has the same stream and the same input items, but another body.

mod compat;
mod custom;
mod decode;
mod encode;
mod error;
mod event;
mod ids;
mod input;
mod item;
mod slots;
mod terminal;
mod tools;
mod usage;

#[cfg(test)]
mod tests;

pub(super) use decode::complete_text;
use pi_protocol::Model;
use serde_json::{Map, Value, json};

pub(super) use decode::ResponsesDecoder;
pub(super) use encode::tool_choice;

use crate::wire::call::MAX_CACHE_KEY;
use crate::wire::output::Bounds;
use crate::wire::{Call, Decoder, EncodeError, OutputSupport, SseDecoder, WireFormat};

/// The wire format `openai-responses`.
pub(super) static FORMAT: WireFormat = WireFormat {
    thinking_level: |call| encode::Effort::of(call).in_conversation,
    output_support,
    ..WireFormat::new("openai-responses", encode::request, decoder, error::text)
};

/// Returns the support of an endpoint for schemas. Endpoints with strict tools have both.
fn output_support(model: &Model) -> OutputSupport {
    let strict = model.compat.get("supportsStrictMode") == Some(&Value::Bool(true));
    OutputSupport::of(model, OutputSupport::if_true(strict))
}

/// Returns the support of Azure and of ChatGPT's backend, which serve models of OpenAI only.
pub(super) fn openai_output_support(model: &Model) -> OutputSupport {
    let loose = model.compat.get("supportsStrictMode") == Some(&Value::Bool(false));
    OutputSupport::of(model, OutputSupport::if_true(!loose))
}

/// Adds the schema of the final answer to a body, beside the other options of its text.
pub(super) fn add_output_schema(
    call: &Call,
    support: OutputSupport,
    body: &mut Map<String, Value>,
) {
    let Some((name, schema)) = call.output_schema(support, Bounds::Enforced) else { return };
    let format = json!({"type": "json_schema", "name": name, "schema": schema, "strict": true});
    let text = body.entry("text").or_insert_with(|| json!({}));
    if let Value::Object(text) = text {
        text.insert("format".to_owned(), format);
    }
}

/// Creates a decoder for the stream of this API, which other formats share.
pub(super) fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::ResponsesDecoder::new(call)))
}

/// Encodes the body of a request to Azure, for the model that is deployed as `deployment`.
pub(super) fn azure_body(call: &Call, deployment: &str) -> Result<Value, EncodeError> {
    let mut body = encode::body(call, &compat::Compat::of_azure(call), deployment)?;
    add_output_schema(call, openai_output_support(&call.model), &mut body);
    // The key only routes requests to the same machine: it is sent even if caching is off, as by the
    // TypeScript pi.
    if let Some(session) = &call.options.session_id {
        let key: String = session.chars().take(MAX_CACHE_KEY).collect();
        body.insert("prompt_cache_key".to_owned(), key.into());
    }
    Ok(body.into())
}

/// The parts of a body of `openai-codex-responses` that come from the conversation.
#[derive(Debug)]
pub(super) struct CodexInput {
    /// The prompt at the beginning; empty if there is none.
    pub(super) prompt: String,
    /// The input items, without the prompt.
    pub(super) items: Vec<Value>,
    /// The list of tools.
    pub(super) tools: Vec<Value>,
    /// The requested effort.
    pub(super) reasoning: Option<Value>,
}

/// Encodes the conversation of a call to ChatGPT's backend.
pub(super) fn codex_input(call: &Call) -> Result<CodexInput, EncodeError> {
    let compat = compat::Compat::of_codex(call);
    let effort = encode::Effort::with(call, &compat);
    let input = input::build(call, &compat, effort.in_conversation.as_deref())?;
    let input::Input { prompt, items, tools } = input;
    Ok(CodexInput { prompt, items, tools, reasoning: effort.request })
}
