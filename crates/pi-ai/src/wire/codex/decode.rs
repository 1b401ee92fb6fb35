//! Decodes the stream: that of `openai-responses`, with the limits of the subscription as errors.

use pi_protocol::MessageBuilder;
use pi_web::sse::SseEvent;

use super::error;
use crate::wire::responses::ResponsesDecoder;
use crate::wire::{Call, EventDecoder, StreamError};

/// Decoder of the answer to one call.
pub(super) struct CodexDecoder(ResponsesDecoder);

impl CodexDecoder {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self(ResponsesDecoder::new(call))
    }
}

impl EventDecoder for CodexDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        if let Some(text) = error::usage_limit(event.data) {
            return Err(StreamError::Provider(text));
        }
        self.0.event(event, out)
    }

    fn end(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        self.0.end(out)
    }
}
