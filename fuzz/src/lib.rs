//! What each fuzz target checks. Run them with `cargo xtask fuzz [TARGET...] [--seconds N]`.
//!
//! Every function takes the bytes libFuzzer made up and panics if a promise is broken. Where the
//! promise is about cutting a stream, the first four bytes of the input say how it is cut, so
//! that a crash file holds everything needed to repeat the crash.

mod events;
mod policy;
mod sessions;

use std::sync::Arc;

use pi_ai::sse::{EventTooLong, SseEvent, SseParser};
use pi_ai::wire::{self, Call, Decoder};
use pi_ai::{
    AssistantEvent, AssistantMessage, Context, Message, MessageBuilder, Model, PartialJson,
    Request, StreamOptions, json,
};
use serde_json::{Map, Value};

pub use events::Promise;
pub use policy::policy_check;
pub use sessions::{session_load, session_migrate};

/// Any bytes, cut anyhow, give the same server-sent events.
pub fn sse(data: &[u8]) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let read = |pieces: Vec<&[u8]>| {
        let mut parser = SseParser::new();
        let mut seen = Vec::new();
        let mut record = |event: SseEvent<'_>| -> Result<(), EventTooLong> {
            seen.push((event.name.map(str::to_owned), event.data.to_owned()));
            Ok(())
        };
        for piece in pieces {
            parser.push(piece, &mut record).expect("an input of this size is never too long");
        }
        parser.finish(&mut record).expect("an input of this size is never too long");
        seen
    };
    assert_eq!(read(vec![body]), read(cuts.of(body)));
}

/// The Anthropic Messages decoder keeps the contract of [`Decoder`].
pub fn decoder_anthropic(data: &[u8]) {
    format_decoder(data, "anthropic-messages", Promise::ARGUMENTS);
}

/// The OpenAI Completions decoder keeps the contract of [`Decoder`].
pub fn decoder_completions(data: &[u8]) {
    format_decoder(data, "openai-completions", Promise::ARGUMENTS);
}

/// The OpenAI Responses decoder keeps the contract of [`Decoder`].
pub fn decoder_responses(data: &[u8]) {
    // An item is said again, whole, at its end, and the provider may correct itself there.
    format_decoder(data, "openai-responses", Promise::NOTHING);
}

/// The Google decoder keeps the contract of [`Decoder`].
pub fn decoder_google(data: &[u8]) {
    // Arguments that come out of order are given whole at the end, without deltas.
    format_decoder(data, "google-generative-ai", Promise::TEXT);
}

/// A partial reader gives the same for any cut, and for whole JSON what a strict parser gives.
pub fn partial_json(data: &[u8]) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let Ok(text) = std::str::from_utf8(body) else { return };
    let read = |pieces: Vec<&str>| {
        let mut reader = PartialJson::new();
        let mut arguments = Map::new();
        for piece in pieces {
            reader.push(piece, &mut arguments);
        }
        Value::Object(arguments)
    };
    let whole = read(vec![text]);
    assert_eq!(whole, read(cuts.of_text(text)));
    // serde_json reads an object with this private key as something else.
    if !text.contains("$serde_json")
        && let Ok(strict @ Value::Object(_)) = serde_json::from_str::<Value>(text)
    {
        assert_eq!(whole, strict);
    }
}

/// Repair leaves valid JSON alone, and what it has repaired once it need not repair again.
pub fn json_repair(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let repaired = json::repair(text);
    if serde_json::from_str::<Value>(text).is_ok() {
        assert_eq!(repaired, text);
    }
    assert_eq!(json::repair(&repaired), repaired);
    // Never panics, and an error repeats the text for the model.
    if let Err(error) = json::parse_tool_arguments(text) {
        assert!(error.ends_with(text));
    }
}

/// What can be read as a message is written so that it reads as the same message.
pub fn message_roundtrip(data: &[u8]) {
    // A name that occurs twice in an object is not promised anything: by way of a value, the last
    // one counts.
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let Ok(message) = serde_json::from_str::<Message>(&value.to_string()) else { return };
    let text = serde_json::to_string(&message).expect("a message can be written");
    let again: Message = serde_json::from_str(&text).expect("a written message can be read");
    assert_eq!(message, again, "written as {text}");
    assert_eq!(text, serde_json::to_string(&again).expect("a message can be written"));
}

fn format_decoder(data: &[u8], api: &str, promise: Promise) {
    let format = wire::format(api).expect("a known format");
    decoder(data, promise, |model| {
        let request = Request {
            model: Arc::new(model.clone()),
            context: Context::new().user("hi"),
            options: StreamOptions::default(),
        };
        format.decoder(&Call::new(request, None, &|_| None))
    });
}

/// However the body is cut, events and message are the same, and they keep the stream's grammar.
fn decoder(data: &[u8], promise: Promise, make: impl Fn(&Model) -> Box<dyn Decoder>) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let model = Model { id: "m".to_owned(), provider: "p".to_owned(), ..Model::default() };
    let whole = decode(&model, make(&model), vec![body]);
    let cut = decode(&model, make(&model), cuts.of(body));
    assert_eq!(whole.0, cut.0, "the events depend on how the body was cut");
    assert_eq!(whole.1, cut.1, "the message depends on how the body was cut");
    let (events, message) = whole;
    events::check(&events, &message, promise);
    // A session file keeps what was streamed.
    let text = serde_json::to_string(&message).expect("a message can be written");
    assert_eq!(message, serde_json::from_str(&text).expect("a written message can be read"));
}

fn decode(
    model: &Model,
    mut decoder: Box<dyn Decoder>,
    pieces: Vec<&[u8]>,
) -> (Vec<AssistantEvent>, AssistantMessage) {
    let mut out = MessageBuilder::new(model);
    for piece in pieces {
        decoder.push(piece, &mut out);
    }
    decoder.finish(&mut out);
    let events = std::iter::from_fn(|| out.pop_event()).collect();
    let mut message = out.into_message();
    message.timestamp = 0.0;
    (events, message)
}

/// How to cut a stream: pieces of up to `longest` bytes, of lengths that follow from `seed`.
#[derive(Clone, Copy)]
struct Cuts {
    longest: usize,
    seed: u64,
}

impl Cuts {
    /// Takes the first four bytes of an input as the way to cut the rest.
    fn split_off(data: &[u8]) -> Option<(Self, &[u8])> {
        let ([longest, seed @ ..], body) = data.split_first_chunk::<4>()?;
        let seed = seed.iter().fold(1, |seed, byte| seed << 8 | u64::from(*byte));
        Some((Self { longest: 1 + usize::from(*longest), seed }, body))
    }

    fn of(self, body: &[u8]) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let mut rest = body;
        let mut state = self.seed;
        while !rest.is_empty() {
            // Knuth's constants; the low bits of such a generator are not random.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = 1 + (state >> 33) as usize % self.longest;
            let (piece, tail) = rest.split_at(length.min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }

    /// As [`Self::of`], between characters.
    fn of_text(self, text: &str) -> Vec<&str> {
        let mut pieces = Vec::new();
        let mut start = 0;
        let mut at = 0;
        for piece in self.of(text.as_bytes()) {
            at += piece.len();
            if text.is_char_boundary(at) {
                pieces.push(&text[start..at]);
                start = at;
            }
        }
        pieces
    }
}
