//! `openai-codex-responses`: the Responses API of a ChatGPT subscription, at ChatGPT's own backend.
//!
//! The stream is that of `openai-responses`; the body differs in its constants, and the prompt is a
//! field of it. The key is a token of a sign-in, which names the account. Requests go over HTTP or
//! over a WebSocket, see `wire::socket`. Requests carry our own name; no other client is
//! impersonated.

mod decode;
mod encode;
mod error;
mod token;

#[cfg(test)]
mod tests;

use super::responses;
use super::{Call, Decoder, SseDecoder, WireFormat};

/// The wire format `openai-codex-responses`.
pub(super) static FORMAT: WireFormat = WireFormat {
    is_final: |failure| error::usage_limit(&failure.body).is_some(),
    socket: |call, request| Some(encode::socket(call, request)),
    output_support: responses::openai_output_support,
    ..WireFormat::new("openai-codex-responses", encode::request, decoder, |_, failure| {
        error::text(failure)
    })
};

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::CodexDecoder::new(call)))
}
