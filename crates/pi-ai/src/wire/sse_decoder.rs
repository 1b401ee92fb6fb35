//! Connects the SSE parser to the event decoder of a format.
//!
//! Also detects a response that is not an event stream in spite of its headers: a login page, an
//! error as plain JSON. The body then becomes the error.

use std::sync::Arc;

use pi_protocol::{MessageBuilder, ProviderEventHook, StopReason};

use crate::hooks;
use crate::sse::{SseEvent, SseParser};
use crate::wire::error_text::{MAX_BODY_CHARS, shorten};
use crate::wire::{Call, Decoder, StreamError};

/// Decodes the events of a format that streams server-sent events.
pub trait EventDecoder: Send {
    /// Decodes an event.
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError>;

    /// Ends the body: finishes the message, or returns the reason why it is incomplete.
    fn end(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError>;
}

/// A [`Decoder`] for a format that streams server-sent events.
pub struct SseDecoder<D> {
    parser: SseParser,
    decoder: D,
    on_event: Option<Arc<ProviderEventHook>>,
    beginning: Beginning,
}

/// The beginning of the response.
enum Beginning {
    Unknown,
    Stream,
    /// The beginning of a JSON or HTML document.
    Document(Vec<u8>),
}

impl<D: EventDecoder> SseDecoder<D> {
    /// Creates a decoder for the answer to `call` that passes events to `decoder`.
    pub fn new(call: &Call, decoder: D) -> Self {
        let on_event = call.options.hooks.on_provider_event.clone();
        Self { parser: SseParser::new(), decoder, on_event, beginning: Beginning::Unknown }
    }

    fn run(
        &mut self,
        out: &mut MessageBuilder,
        read: impl FnOnce(
            &mut SseParser,
            &mut dyn FnMut(SseEvent<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) {
        let Self { parser, decoder, on_event, .. } = self;
        let result = read(parser, &mut |event| {
            if out.is_finished() {
                return Ok(());
            }
            if let Some(hook) = on_event {
                hooks::call_sync("on_provider_event", || hook(event.data))?;
            }
            decoder.event(event, out)
        });
        if let Err(error) = result {
            out.fail(StopReason::Error, error.to_string());
        }
    }
}

impl<D: EventDecoder> Decoder for SseDecoder<D> {
    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder) {
        if out.is_finished() {
            return;
        }
        if let Beginning::Unknown = self.beginning {
            self.beginning = begin(bytes);
        }
        match &mut self.beginning {
            Beginning::Document(body) => {
                body.extend_from_slice(bytes);
                if body.len() > 4 * MAX_BODY_CHARS {
                    out.fail(StopReason::Error, not_a_stream(body));
                }
            }
            Beginning::Unknown | Beginning::Stream => {
                self.run(out, |parser, on_event| parser.push(bytes, on_event));
            }
        }
    }

    fn finish(&mut self, out: &mut MessageBuilder) {
        if out.is_finished() {
            return;
        }
        if let Beginning::Document(body) = &self.beginning {
            return out.fail(StopReason::Error, not_a_stream(body));
        }
        // The last event may lack its blank line. If its data is truncated, the event is ignored,
        // and the decoder reports an incomplete answer.
        self.run(out, |parser, on_event| {
            parser.finish(|event| if is_truncated(event.data) { Ok(()) } else { on_event(event) })
        });
        if !out.is_finished()
            && let Err(error) = self.decoder.end(out)
        {
            out.fail(StopReason::Error, error.to_string());
        }
        debug_assert!(out.is_finished(), "a decoder left its message unfinished");
    }
}

fn begin(bytes: &[u8]) -> Beginning {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Beginning::Unknown,
        Some(b'{' | b'[' | b'<') => Beginning::Document(Vec::new()),
        Some(_) => Beginning::Stream,
    }
}

/// Returns the error text for a body that is a document.
pub(super) fn not_a_stream(body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    let body = shorten(body.trim(), MAX_BODY_CHARS);
    format!("Expected an event stream, but the server answered: {body}")
}

fn is_truncated(data: &str) -> bool {
    data.trim_start().starts_with(['{', '['])
        && data != "[DONE]"
        && serde_json::from_str::<serde::de::IgnoredAny>(data).is_err()
}

impl<D> std::fmt::Debug for SseDecoder<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SseDecoder").finish_non_exhaustive()
    }
}
