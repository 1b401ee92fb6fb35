//! `openai-completions`: OpenAI's Chat Completions and compatible endpoints.
//!
//! Some twenty vendors and most local servers use this format, each with its own dialect. The
//! dialects are data: `compat` is the only module that knows vendors, the others ask it. This
//! module must not guess from an answer what the server supports.
//!
//! Requests: `encode` writes the body from `messages`, `tools`, `thinking` and `cache`.
//! Answers: `decode` reads `chunk`s, with the help of `calls`, `reasoning` and `usage`. The decoder
//! of `mistral` shares these helpers.

mod cache;
mod calls;
mod chunk;
mod compat;
mod decode;
mod encode;
mod messages;
mod reasoning;
mod replay;
mod signature;
mod thinking;
mod tools;
mod usage;

pub(in crate::wire) use calls::Calls;
pub(in crate::wire) use chunk::{CallDelta, non_empty, repaired};
pub(in crate::wire) use decode::{error_text, identify};
pub(in crate::wire) use usage::read as read_usage;

use crate::wire::{Call, Decoder, SseDecoder, WireFormat};

/// The wire format `openai-completions`.
pub(super) static FORMAT: WireFormat = WireFormat {
    output_support: |model| compat::Compat::of(model).output,
    ..WireFormat::new("openai-completions", encode::request, decoder, |_, failure| {
        failure.openai_style(None)
    })
};

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::ChunkDecoder::new(call)))
}
