//! Connects the SSE parser to the event decoder of a format.
//!
//! Also detects a response that is not an event stream in spite of its headers: a login page, an
//! error as plain JSON. The body then becomes the error.

use std::sync::Arc;

use pi_protocol::{MessageBuilder, ProviderEventHook, StopReason};
use pi_web::sse::{SseEvent, SseParser};

use crate::hooks;
use crate::wire::document::Document;
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

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The beginning of the response.
enum Beginning {
    /// Only white space so far, and this many bytes of a byte-order mark.
    Unknown(usize),
    Stream,
    /// The beginning of a JSON or HTML document.
    Document(Document),
}

impl<D: EventDecoder> SseDecoder<D> {
    /// Creates a decoder for the answer to `call` that passes events to `decoder`.
    pub fn new(call: &Call, decoder: D) -> Self {
        let on_event = call.options.hooks.on_provider_event.clone();
        Self { parser: SseParser::new(), decoder, on_event, beginning: Beginning::Unknown(0) }
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
        let mut bytes = bytes;
        if let Beginning::Unknown(marked) = self.beginning {
            (self.beginning, bytes) = begin(marked, bytes);
        }
        match &mut self.beginning {
            Beginning::Document(document) => {
                if let Some(error) = document.push(bytes) {
                    out.fail(StopReason::Error, error);
                }
            }
            Beginning::Unknown(_) | Beginning::Stream => {
                self.run(out, |parser, on_event| parser.push(bytes, on_event));
            }
        }
    }

    fn finish(&mut self, out: &mut MessageBuilder) {
        if out.is_finished() {
            return;
        }
        if let Beginning::Document(document) = &self.beginning {
            return out.fail(StopReason::Error, document.error());
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

/// Reads the beginning of a body, of which `marked` bytes of a byte-order mark have been read.
/// Returns the kind and the bytes to decode. Those before a document are white space.
fn begin(mut marked: usize, bytes: &[u8]) -> (Beginning, &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        if BYTE_ORDER_MARK.get(marked) == Some(byte) {
            marked += 1;
            continue;
        }
        let is_cut_mark = (1..BYTE_ORDER_MARK.len()).contains(&marked);
        marked = BYTE_ORDER_MARK.len();
        match byte {
            _ if is_cut_mark => return (Beginning::Stream, bytes),
            b'{' | b'[' | b'<' => {
                let document = bytes.get(at..).unwrap_or_default();
                return (Beginning::Document(Document::default()), document);
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => return (Beginning::Stream, bytes),
        }
    }
    (Beginning::Unknown(marked), bytes)
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
