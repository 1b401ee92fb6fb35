//! Feeds a generated stream to a decoder as the network and a consumer would: one event at a time.

use std::hint::black_box;
use std::sync::Arc;

use pi_ai::wire::{self, Call, Decoder};
use pi_ai::{
    AssistantEvent, AssistantMessage, Context, MessageBuilder, Model, Request, StreamOptions,
};
use pi_web::sse::{EventTooLong, SseEvent, SseParser};

use crate::streams::{Format, Stream};

/// The size of a TLS record, in which the end of a stream arrives.
const RECORD: usize = 16 * 1024;

/// Decodes a stream, takes every event at once, and returns the complete message.
pub(crate) fn decode(format: Format, stream: &Stream) -> AssistantMessage {
    let model = Arc::new(Model { id: "m".to_owned(), ..Model::default() });
    let mut decoder = decoder(format, &model);
    let mut out = MessageBuilder::new(&model);
    let mut deltas = 0;
    let mut push = |bytes: &[u8]| {
        decoder.push(bytes, &mut out);
        while let Some(event) = out.pop_event() {
            deltas += usize::from(is_delta(&event));
            black_box(event);
        }
    };
    each_piece(stream, &mut push);
    decoder.finish(&mut out);
    while let Some(event) = out.pop_event() {
        black_box(event);
    }
    // A stream that the decoder ignores would be decoded quickly.
    assert!(deltas >= stream.deltas, "{format:?}: {deltas} deltas of {}", stream.deltas);
    let message = out.into_message();
    assert!(!message.stop_reason.is_failure(), "{format:?}: {:?}", message.error_message);
    message
}

/// Splits a stream into events and returns their number.
pub(crate) fn split(stream: &Stream) -> usize {
    let mut parser = SseParser::new();
    let mut count = 0;
    each_piece(stream, &mut |bytes| {
        let result = parser.push(bytes, |event: SseEvent<'_>| -> Result<(), EventTooLong> {
            count += 1;
            black_box(event.data);
            Ok(())
        });
        assert!(result.is_ok());
    });
    count
}

fn each_piece(stream: &Stream, push: &mut dyn FnMut(&[u8])) {
    push(&stream.head);
    for _ in 0..stream.rounds {
        let mut start = 0;
        for end in &stream.ends {
            push(&stream.block[start..*end]);
            start = *end;
        }
    }
    stream.tail.chunks(RECORD).for_each(push);
}

fn decoder(format: Format, model: &Arc<Model>) -> Box<dyn Decoder> {
    let name = format.api();
    let format = wire::format(name).unwrap_or_else(|| panic!("no wire format {name}"));
    let request =
        Request::new(Arc::clone(model), Context::new().user("hi"), StreamOptions::default());
    (format.decoder)(&Call::new(request, None, &|_| None))
}

fn is_delta(event: &AssistantEvent) -> bool {
    matches!(event, AssistantEvent::TextDelta { .. } | AssistantEvent::ToolCallDelta { .. })
}

#[cfg(test)]
mod tests {
    use pi_ai::AssistantBlock;

    use super::*;
    use crate::streams::{Kind, tokens};

    /// The bench measures real decoding: every stream leads to its text.
    #[test]
    fn every_stream_is_decoded() {
        let tokens = tokens(50, 4);
        let whole = tokens.concat().repeat(3);
        for format in Format::ALL {
            for kind in Kind::ALL {
                let stream = Stream::new(*format, *kind, &tokens, 3);
                assert_eq!(stream.deltas, 150);
                let message = decode(*format, &stream);
                let [block] = message.content.as_slice() else { panic!("{message:?}") };
                let found = match block {
                    AssistantBlock::Text(text) => Some(text.text.as_str()),
                    AssistantBlock::ToolCall(call) => call.arguments["content"].as_str(),
                    _ => None,
                };
                assert_eq!(found, Some(whole.as_str()), "{format:?} {kind:?}");
            }
        }
    }

    #[test]
    fn every_event_is_split_off() {
        let stream = Stream::new(Format::Anthropic, Kind::Text, &tokens(500, 4), 4);
        assert_eq!(split(&stream), 2000 + 5);
    }
}
