//! `google-generative-ai`: stub.

use pi_protocol::MessageBuilder;

use crate::sse::SseEvent;
use crate::wire::{
    Call, Decoder, EncodeError, EventDecoder, HttpFailure, HttpRequest, SseDecoder, StreamError,
    WireFormat,
};

/// The wire format `google-generative-ai`.
#[derive(Debug)]
pub struct GoogleGenerativeAi;

impl WireFormat for GoogleGenerativeAi {
    fn api(&self) -> &'static str {
        "google-generative-ai"
    }

    fn encode(&self, _call: &Call) -> Result<HttpRequest, EncodeError> {
        Err(EncodeError::BadModel("not written yet".to_owned()))
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(call, Events))
    }

    fn error_text(&self, _call: &Call, failure: &HttpFailure) -> String {
        failure.plain()
    }
}

struct Events;

impl EventDecoder for Events {
    fn event(
        &mut self,
        _event: SseEvent<'_>,
        _out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        Ok(())
    }

    fn end(&mut self, _out: &mut MessageBuilder) -> Result<(), StreamError> {
        Err(StreamError::Truncated("not written yet"))
    }
}
