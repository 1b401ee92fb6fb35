//! The checks of the fuzz targets. Run them with `cargo xtask fuzz [TARGET...] [--seconds N]`.
//!
//! Every function takes bytes from libFuzzer and panics if a promise is broken. If the promise is
//! about cutting a stream, the first four bytes of the input determine the cuts, so that a crash
//! file holds everything needed to reproduce the crash.

mod events;
mod markdown;
mod policy;
mod sessions;
mod terminal;

use std::sync::Arc;

use pi_ai::wire::{self, Call, Decoder};
use pi_ai::{
    AssistantEvent, AssistantMessage, Context, Message, MessageBuilder, Model, Request,
    StreamOptions,
};
use pi_protocol::{PartialJson, json};
use pi_web::sse::{EventTooLong, SseEvent, SseParser};
use serde_json::{Map, Value};

pub use events::Promise;
pub use markdown::markdown;
pub use policy::policy_check;
pub use sessions::{session_load, session_migrate};
pub use terminal::terminal_input;

/// The same bytes give the same server-sent events for any cuts.
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
    // The end of an item repeats it as a whole, and the provider may correct itself there.
    format_decoder(data, "openai-responses", Promise::NOTHING);
}

/// The Google decoder keeps the contract of [`Decoder`].
pub fn decoder_google(data: &[u8]) {
    // Arguments that arrive out of order are reported as a whole at the end, without deltas.
    format_decoder(data, "google-generative-ai", Promise::TEXT);
}

/// The Mistral decoder keeps the contract of [`Decoder`].
pub fn decoder_mistral(data: &[u8]) {
    format_decoder(data, "mistral-conversations", Promise::ARGUMENTS);
}

/// The decoder of pi-messages keeps the contract of [`Decoder`].
pub fn decoder_pi_messages(data: &[u8]) {
    // The end of a block repeats it as a whole, and the gateway may correct itself there.
    format_decoder(data, "pi-messages", Promise::NOTHING);
}

/// The Bedrock decoder keeps the contract of [`Decoder`], for bytes of any kind, and for frames with
/// valid checksums that are made of lines `EVENT PAYLOAD`.
pub fn decoder_bedrock(data: &[u8]) {
    format_decoder(data, "bedrock-converse-stream", Promise::ARGUMENTS);
    let Some((cuts, lines)) = data.split_at_checked(4) else { return };
    let frames = lines.split(|byte| *byte == b'\n').flat_map(frame);
    let framed: Vec<u8> = cuts.iter().copied().chain(frames).collect();
    format_decoder(&framed, "bedrock-converse-stream", Promise::ARGUMENTS);
}

fn frame(line: &[u8]) -> Vec<u8> {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len()).min(100);
    let (event, payload) = line.split_at(end);
    let mut headers = b"\x0d:message-type\x07\0\x05event\x0b:event-type\x07\0".to_vec();
    headers.push(event.len() as u8);
    headers.extend(event);
    let lengths = [16 + headers.len() + payload.len(), headers.len()];
    let mut frame: Vec<u8> =
        lengths.iter().flat_map(|length| (*length as u32).to_be_bytes()).collect();
    frame.extend(crc32(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(crc32(&frame).to_be_bytes());
    frame
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

/// The partial reader gives the same result for any cuts, and that of a strict parser for complete
/// JSON.
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

/// Repair does not change valid JSON and is idempotent.
pub fn json_repair(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let repaired = json::repair(text);
    if serde_json::from_str::<Value>(text).is_ok() {
        assert_eq!(repaired, text);
    }
    assert_eq!(json::repair(&repaired), repaired);
    // An error repeats the text, for the model to correct it.
    if let Err(error) = json::parse_tool_arguments(text) {
        assert!(error.to_string().ends_with(text));
    }
}

/// A message that was read and written reads as the same message.
pub fn message_roundtrip(data: &[u8]) {
    // Duplicate names in an object are outside of the promise: going through a value keeps the
    // last one.
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
        let request = Request::new(
            Arc::new(model.clone()),
            Context::new().user("hi"),
            StreamOptions::default(),
        );
        (format.decoder)(&Call::new(request, None, &|_| None))
    });
}

/// Events and message are the same for any cuts of the body, and obey the grammar of the stream.
fn decoder(data: &[u8], promise: Promise, make: impl Fn(&Model) -> Box<dyn Decoder>) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let model = Model { id: "m".to_owned(), provider: "p".to_owned(), ..Model::default() };
    let whole = decode(&model, make(&model), vec![body]);
    let cut = decode(&model, make(&model), cuts.of(body));
    assert_eq!(whole.0, cut.0, "the events depend on how the body was cut");
    assert_eq!(whole.1, cut.1, "the message depends on how the body was cut");
    let (events, message) = whole;
    events::check(&events, &message, promise);
    // The message survives a session file.
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
    message.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.timestamp = 0.0);
    (events, message)
}

/// The cuts of a stream: pieces of up to `longest` bytes, with lengths determined by `seed`.
#[derive(Clone, Copy)]
struct Cuts {
    longest: usize,
    seed: u64,
}

impl Cuts {
    /// Reads the cuts from the first four bytes of an input.
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

    /// Like [`Self::of`], but cuts only between characters.
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
