//! `openai-responses`: OpenAI's Responses API and compatible endpoints (xAI, Meta, GitHub Copilot,
//! OpenCode, OpenRouter, llama-server). `azure-openai-responses` has the same bodies and streams.
//!
//! The conversation becomes a flat list of input items; nothing is stored on the server
//! (`store: false`), so reasoning travels back and forth encrypted, inside thinking signatures.
//! The stream is a list of output items that may interleave; each becomes one content block.
//!
//! The WebSocket transport and the ChatGPT backend of `openai-codex-responses` share only the
//! stream format and are not part of this module.

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

use serde_json::Value;

use crate::wire::call::MAX_CACHE_KEY;
use crate::wire::{Call, Decoder, EncodeError, HttpFailure, HttpRequest, SseDecoder, WireFormat};

/// The wire format `openai-responses`.
#[derive(Debug)]
pub struct OpenAiResponses;

impl WireFormat for OpenAiResponses {
    fn api(&self) -> &'static str {
        "openai-responses"
    }

    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError> {
        encode::request(call)
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        decoder(call)
    }

    fn thinking_level(&self, call: &Call) -> Option<String> {
        encode::Effort::of(call).in_conversation
    }

    fn error_text(&self, call: &Call, failure: &HttpFailure) -> String {
        error::text(call, failure)
    }
}

/// Creates a decoder for the stream of this API, which other formats share.
pub(super) fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::ResponsesDecoder::new(call)))
}

/// Encodes the body of a request to Azure, for the model that is deployed as `deployment`.
pub(super) fn azure_body(call: &Call, deployment: &str) -> Result<Value, EncodeError> {
    let mut body = encode::body(call, &compat::Compat::of_azure(call), deployment)?;
    // The key only routes requests to the same machine: it is sent even if caching is off, as by the
    // TypeScript pi.
    if let Some(session) = &call.options.session_id {
        let key: String = session.chars().take(MAX_CACHE_KEY).collect();
        body.insert("prompt_cache_key".to_owned(), key.into());
    }
    Ok(body.into())
}
