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

use pi_protocol::Model;

use super::responses;
use super::socket::SocketRequest;
use super::{
    Call, Decoder, EncodeError, HttpFailure, HttpRequest, OutputSupport, SseDecoder, WireFormat,
};

/// The wire format `openai-codex-responses`.
#[derive(Debug)]
pub struct OpenAiCodexResponses;

impl WireFormat for OpenAiCodexResponses {
    fn api(&self) -> &'static str {
        "openai-codex-responses"
    }

    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError> {
        encode::request(call)
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(call, decode::CodexDecoder::new(call)))
    }

    fn error_text(&self, _call: &Call, failure: &HttpFailure) -> String {
        error::text(failure)
    }

    fn is_final(&self, failure: &HttpFailure) -> bool {
        error::usage_limit(&failure.body).is_some()
    }

    fn socket(&self, call: &Call, request: &HttpRequest) -> Option<SocketRequest> {
        Some(encode::socket(call, request))
    }

    fn output_support(&self, model: &Model) -> OutputSupport {
        responses::openai_output_support(model)
    }
}
