//! Decodes the body: server-sent events, or plain JSON if the server sends that.
//!
//! Google itself falls back to JSON for some errors after status 200, and proxies that do not
//! support `alt=sse` send the chunks as one JSON list, or the whole answer as one object. The items
//! are equal to the data of events, so the same decoder reads them.

use pi_protocol::{MessageBuilder, StopReason};
use pi_web::sse::{EventTooLong, MAX_EVENT_BYTES};
use serde_json::Value;

use super::decode::Events;
use crate::wire::{Call, Decoder, SseDecoder, StreamError};

/// Decoder of the body of one answer.
#[derive(Debug)]
pub(super) struct Body {
    events: SseDecoder<Events>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Only white space so far.
    Unknown,
    Events,
    /// A JSON body so far, which is parsed at the end.
    Json(Vec<u8>),
}

impl Body {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self { events: SseDecoder::new(call, Events::new(call)), kind: Kind::Unknown }
    }

    fn json(&mut self, body: &[u8], out: &mut MessageBuilder) -> Result<(), StreamError> {
        let items = match serde_json::from_slice(body) {
            Ok(Value::Array(items)) => items,
            Ok(other) => vec![other],
            Err(error) => {
                let body = String::from_utf8_lossy(body);
                return Err(StreamError::malformed("the body", &error, &body));
            }
        };
        for item in items {
            self.events.push(format!("data: {item}\n\n").as_bytes(), out);
        }
        Ok(())
    }
}

impl Decoder for Body {
    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder) {
        let mut bytes = bytes;
        if matches!(self.kind, Kind::Unknown) {
            // White space before the body is ignored, in a chunk of its own or not.
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return,
                Some(b'{' | b'[') => self.kind = Kind::Json(Vec::new()),
                Some(_) => self.kind = Kind::Events,
            }
        }
        match &mut self.kind {
            Kind::Json(body) if body.len() + bytes.len() > MAX_EVENT_BYTES => {
                out.fail(StopReason::Error, EventTooLong.to_string());
            }
            Kind::Json(body) => body.extend_from_slice(bytes),
            Kind::Events | Kind::Unknown => self.events.push(bytes, out),
        }
    }

    fn finish(&mut self, out: &mut MessageBuilder) {
        if let Kind::Json(body) = std::mem::replace(&mut self.kind, Kind::Events)
            && let Err(error) = self.json(&body, out)
        {
            out.fail(StopReason::Error, error.to_string());
        }
        self.events.finish(out);
    }
}
