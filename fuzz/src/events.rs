//! Checks the output of a decoder against the grammar of an assistant stream.

use pi_ai::{AssistantBlock, AssistantEvent, AssistantMessage, StopReason};
use pi_protocol::json;

/// The parts of a block that must equal its joined deltas.
#[derive(Debug, Clone, Copy)]
pub struct Promise {
    text: bool,
    arguments: bool,
}

impl Promise {
    /// The provider may correct itself.
    pub const NOTHING: Self = Self { text: false, arguments: false };
    /// The deltas of text and thinking are the text.
    pub const TEXT: Self = Self { text: true, arguments: false };
    /// As [`Self::TEXT`], and the deltas of a call are its argument text.
    pub const ARGUMENTS: Self = Self { text: true, arguments: true };
}

/// A block, rebuilt from its events.
struct Rebuilt {
    kind: Kind,
    joined: String,
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

/// Panics unless the events obey the grammar and fit the message.
pub(crate) fn check(events: &[AssistantEvent], message: &AssistantMessage, promise: Promise) {
    let (last, before) = events.split_last().expect("there is a terminal event");
    assert!(last.is_terminal(), "the last event is {last:?}");
    assert!(!before.iter().any(AssistantEvent::is_terminal), "a terminal event is not the last");
    let (AssistantEvent::Done { reason } | AssistantEvent::Error { reason }) = last else {
        panic!("not terminal: {last:?}");
    };
    assert_eq!(*reason, message.stop_reason);
    let done = matches!(last, AssistantEvent::Done { .. });
    if !done {
        assert!(message.error_message.is_some(), "an error without a text");
    } else {
        assert_ne!(*reason, StopReason::Pending);
    }

    let blocks = rebuild(before);
    assert_eq!(
        blocks.len(),
        message.content.len(),
        "blocks without events, or events without blocks"
    );
    for (rebuilt, block) in blocks.iter().zip(&message.content) {
        assert!(rebuilt.ended || !done, "a block is open at the end of a complete answer");
        check_block(rebuilt, block, promise);
    }
}

/// Rebuilds the blocks from the events.
fn rebuild(events: &[AssistantEvent]) -> Vec<Rebuilt> {
    use AssistantEvent as E;
    let mut blocks: Vec<Rebuilt> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(matches!(event, E::Start), at == 0, "`Start` comes first, and once");
        match event {
            E::TextStart { content_index } => start(&mut blocks, *content_index, Kind::Text),
            E::ThinkingStart { content_index } => {
                start(&mut blocks, *content_index, Kind::Thinking);
            }
            E::ToolCallStart { content_index } => {
                start(&mut blocks, *content_index, Kind::ToolCall);
            }
            E::TextDelta { content_index, delta } => {
                open(&mut blocks, *content_index, Kind::Text).joined.push_str(delta);
            }
            E::ThinkingDelta { content_index, delta } => {
                open(&mut blocks, *content_index, Kind::Thinking).joined.push_str(delta);
            }
            E::ToolCallDelta { content_index, delta } => {
                open(&mut blocks, *content_index, Kind::ToolCall).joined.push_str(delta);
            }
            E::TextEnd { content_index } => {
                open(&mut blocks, *content_index, Kind::Text).ended = true;
            }
            E::ThinkingEnd { content_index } => {
                open(&mut blocks, *content_index, Kind::Thinking).ended = true;
            }
            E::ToolCallEnd { content_index } => {
                open(&mut blocks, *content_index, Kind::ToolCall).ended = true;
            }
            _ => {}
        }
    }
    blocks
}

fn start(blocks: &mut Vec<Rebuilt>, content_index: usize, kind: Kind) {
    assert_eq!(content_index, blocks.len(), "blocks begin in order");
    blocks.push(Rebuilt { kind, joined: String::new(), ended: false });
}

fn open(blocks: &mut [Rebuilt], content_index: usize, kind: Kind) -> &mut Rebuilt {
    let block = blocks.get_mut(content_index).expect("the block has begun");
    assert_eq!(block.kind, kind);
    assert!(!block.ended, "an event of a block that has ended");
    block
}

fn check_block(rebuilt: &Rebuilt, block: &AssistantBlock, promise: Promise) {
    match (rebuilt.kind, block) {
        (Kind::Text, AssistantBlock::Text(text)) => {
            assert!(
                !promise.text || rebuilt.joined == text.text,
                "the text differs from its deltas"
            );
        }
        (Kind::Thinking, AssistantBlock::Thinking(thinking)) => {
            // The text of a redacted block is a placeholder.
            let streamed = rebuilt.joined == thinking.thinking;
            assert!(
                !promise.text || thinking.redacted || streamed,
                "the thinking differs from its deltas"
            );
        }
        (Kind::ToolCall, AssistantBlock::ToolCall(call)) => {
            if promise.arguments && rebuilt.ended {
                match json::parse_tool_arguments(&rebuilt.joined) {
                    Ok(arguments) => assert_eq!(arguments, call.arguments),
                    Err(error) => assert_eq!(Some(error.to_string()), call.arguments_error),
                }
            }
        }
        (kind, block) => panic!("streamed as {kind:?}, but the message has {block:?}"),
    }
}
