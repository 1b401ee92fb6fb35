//! `openai-responses`: OpenAI's Responses API and compatible endpoints (xAI, Meta, GitHub Copilot,
//! OpenCode, OpenRouter, llama-server).
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
        Box::new(SseDecoder::new(call, decode::ResponsesDecoder::new(call)))
    }

    fn thinking_level(&self, call: &Call) -> Option<String> {
        encode::Effort::of(call).in_conversation
    }

    fn error_text(&self, call: &Call, failure: &HttpFailure) -> String {
        error::text(call, failure)
    }
}
