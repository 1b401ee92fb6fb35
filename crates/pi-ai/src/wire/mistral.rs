//! `mistral-conversations`: the chat API of Mistral, with thinking as parts of the content.
//!
//! The API descends from Chat Completions, but content is a list of parts, thinking is one of them,
//! ids of calls have exactly nine characters, and tools are always strict-capable. Calls and token
//! counts arrive as in `completions`, which decodes them.

mod chunk;
mod decode;
mod encode;
mod ids;
mod messages;

use pi_protocol::Model;

use crate::wire::{
    Call, Decoder, EncodeError, HttpFailure, HttpRequest, OutputSupport, SseDecoder, WireFormat,
};

/// The wire format `mistral-conversations`.
#[derive(Debug)]
pub struct MistralConversations;

impl WireFormat for MistralConversations {
    fn api(&self) -> &'static str {
        "mistral-conversations"
    }

    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError> {
        encode::request(call)
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(call, decode::MistralDecoder::new(call)))
    }

    fn error_text(&self, _call: &Call, failure: &HttpFailure) -> String {
        failure.with_body("Mistral API error")
    }

    fn output_support(&self, model: &Model) -> OutputSupport {
        encode::output_support(model)
    }
}
