//! `pi-messages`: the API of gateways that take a conversation as it is and stream answers as the
//! events of this crate.
//!
//! The gateway chooses the model and adapts the conversation to it, so nothing is transformed here.
//! Its events, token counts and costs are checked and taken over.

mod decode;
mod encode;
mod event;

use serde_json::Value;

use crate::wire::error_text::{MAX_BODY_CHARS, shorten};
use crate::wire::{Call, Decoder, HttpFailure, SseDecoder, WireFormat};

/// The wire format `pi-messages`.
pub(super) static FORMAT: WireFormat =
    WireFormat::new("pi-messages", encode::request, decoder, error_text);

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::EventsDecoder::new(call)))
}

fn error_text(_call: &Call, failure: &HttpFailure) -> String {
    let HttpFailure { status, body, .. } = failure;
    let error = serde_json::from_str::<Value>(body).ok();
    let text = |pointer: &str| {
        let text = error.as_ref()?.pointer(pointer)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let message = text("/error/message").unwrap_or_else(|| shorten(body.trim(), MAX_BODY_CHARS));
    let message = if message.is_empty() { "no body".to_owned() } else { message };
    match text("/error/code") {
        Some(code) => format!("{status}: {message} ({code})"),
        None => format!("{status}: {message}"),
    }
}
