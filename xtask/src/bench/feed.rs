//! Feeds a made-up stream to a decoder the way the network and a consumer would.

use std::hint::black_box;
use std::sync::Arc;

use pi_ai::sse::{EventTooLong, SseEvent, SseParser};
use pi_ai::wire::{self, Call, Decoder};
use pi_ai::{
    AssistantEvent, AssistantMessage, Context, MessageBuilder, Model, Request, StreamOptions,
};

use super::streams::{Format, Stream};

/// How much arrives at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    /// One event at a time: a slow model.
    Events,
    /// As much as a TLS record holds: a fast one, or one whose answer is buffered on the way.
    Records,
}

const RECORD: usize = 16 * 1024;

/// Decodes a stream as it comes, takes every event at once, and returns the finished message.
pub(super) fn decode(format: Format, stream: &Stream, pieces: Pieces) -> AssistantMessage {
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
    each_piece(stream, pieces, &mut push);
    decoder.finish(&mut out);
    while let Some(event) = out.pop_event() {
        black_box(event);
    }
    // A stream that the decoder does not understand would be decoded quickly.
    assert!(deltas >= stream.deltas, "{format:?}: {deltas} deltas of {}", stream.deltas);
    let message = out.into_message();
    assert!(!message.stop_reason.is_failure(), "{format:?}: {:?}", message.error_message);
    message
}

/// Splits a stream into events and does nothing with them; returns how many there were.
pub(super) fn split(stream: &Stream, pieces: Pieces) -> usize {
    let mut parser = SseParser::new();
    let mut count = 0;
    each_piece(stream, pieces, &mut |bytes| {
        let result = parser.push(bytes, |event: SseEvent<'_>| -> Result<(), EventTooLong> {
            count += 1;
            black_box(event.data);
            Ok(())
        });
        assert!(result.is_ok());
    });
    count
}

fn each_piece(stream: &Stream, pieces: Pieces, push: &mut dyn FnMut(&[u8])) {
    push(&stream.head);
    for _ in 0..stream.rounds {
        match pieces {
            Pieces::Events => {
                let mut start = 0;
                for end in &stream.ends {
                    push(&stream.block[start..*end]);
                    start = *end;
                }
            }
            Pieces::Records => stream.block.chunks(RECORD).for_each(&mut *push),
        }
    }
    stream.tail.chunks(RECORD).for_each(push);
}

fn decoder(format: Format, model: &Arc<Model>) -> Box<dyn Decoder> {
    let name = format.api();
    let format = wire::format(name).unwrap_or_else(|| panic!("no wire format {name}"));
    let request =
        Request::new(Arc::clone(model), Context::new().user("hi"), StreamOptions::default());
    format.decoder(&Call::new(request, None, &|_| None))
}

fn is_delta(event: &AssistantEvent) -> bool {
    matches!(
        event,
        AssistantEvent::TextDelta { .. }
            | AssistantEvent::ThinkingDelta { .. }
            | AssistantEvent::ToolCallDelta { .. }
    )
}

#[cfg(test)]
mod tests {
    use pi_ai::AssistantBlock;

    use super::super::streams::{Kind, tokens};
    use super::*;

    /// Every stream that is measured says what it should, so the bench measures the real thing.
    #[test]
    fn every_stream_is_understood() {
        let tokens = tokens(50, 4);
        let whole = tokens.concat().repeat(3);
        for format in Format::ALL {
            for kind in Kind::ALL {
                let stream = Stream::new(*format, *kind, &tokens, 3);
                assert_eq!(stream.deltas, 150);
                for pieces in [Pieces::Events, Pieces::Records] {
                    let message = decode(*format, &stream, pieces);
                    let [block] = message.content.as_slice() else { panic!("{message:?}") };
                    let found = match block {
                        AssistantBlock::Text(text) => Some(text.text.as_str()),
                        AssistantBlock::Thinking(thinking) => Some(thinking.thinking.as_str()),
                        AssistantBlock::ToolCall(call) => call.arguments["content"].as_str(),
                        AssistantBlock::Unknown(_) => None,
                    };
                    assert_eq!(found, Some(whole.as_str()), "{format:?} {kind:?}");
                }
            }
        }
    }

    #[test]
    fn pieces_do_not_change_the_number_of_events() {
        let stream = Stream::new(Format::Anthropic, Kind::Text, &tokens(500, 4), 4);
        let count = split(&stream, Pieces::Events);
        assert_eq!(count, 2000 + 5);
        assert_eq!(split(&stream, Pieces::Records), count);
    }
}
