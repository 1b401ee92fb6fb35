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

use crate::wire::{Call, Decoder, SseDecoder, WireFormat};

/// The wire format `mistral-conversations`.
pub(super) static FORMAT: WireFormat = WireFormat {
    output_support: encode::output_support,
    ..WireFormat::new("mistral-conversations", encode::request, decoder, |_, failure| {
        failure.with_body("Mistral API error")
    })
};

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::MistralDecoder::new(call)))
}
