//! The client side: from the lines of a response body back to a message.
//!
//! Lines that begin with `data: ` carry events; everything else is ignored. A server is not
//! trusted to number its blocks right: what does not fit is an error, never a panic.

use pi_protocol::{AssistantBlock, MessageBuilder, StopReason, Usage, json};

use super::event::{Facts, ProxyEvent};
use crate::lines::Lines;
use crate::sse::{EventTooLong, MAX_EVENT_BYTES};
use crate::wire::{Decoder, StreamError};

/// Reads the body of a proxy's response.
#[derive(Debug, Default)]
pub struct ProxyDecoder {
    lines: Lines,
}

impl ProxyDecoder {
    /// A decoder at the start of a body.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decoder for ProxyDecoder {
    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder) {
        let mut result = self.lines.push(bytes, |line| on_line(line, out));
        if self.lines.pending() > MAX_EVENT_BYTES {
            result = result.and(Err(EventTooLong.into()));
        }
        if let Err(error) = result {
            out.fail(StopReason::Error, error.to_string());
        }
    }

    fn finish(&mut self, out: &mut MessageBuilder) {
        // A last line that was cut is no event; the error below says what happened.
        let _ = self.lines.finish(|line| on_line(line, out));
        out.fail(
            StopReason::Error,
            "Connection closed by proxy server before the response completed",
        );
    }
}

fn on_line(line: &[u8], out: &mut MessageBuilder) -> Result<(), StreamError> {
    let Some(data) = line.strip_prefix(b"data: ") else { return Ok(()) };
    if out.is_finished() {
        return Ok(());
    }
    let data = String::from_utf8_lossy(data);
    match serde_json::from_str::<ProxyEvent<'_>>(&data) {
        Ok(event) => on_event(event, out),
        Err(error) => {
            let event = json::repair(&data);
            match serde_json::from_str::<ProxyEvent<'_>>(&event) {
                Ok(event) => on_event(event, out),
                Err(_) => Err(StreamError::malformed("proxy event", &error, &data)),
            }
        }
    }
}

fn on_event(event: ProxyEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
    match event {
        ProxyEvent::Start => out.start(),
        ProxyEvent::TextStart { content_index } => {
            in_order(content_index, out)?;
            out.text_start();
        }
        ProxyEvent::ThinkingStart { content_index } => {
            in_order(content_index, out)?;
            out.thinking_start();
        }
        ProxyEvent::ToolCallStart { content_index, id, tool_name } => {
            in_order(content_index, out)?;
            out.tool_call_start(id, tool_name);
        }
        ProxyEvent::TextDelta { content_index, delta } => {
            expect(content_index, Kind::Text, "text_delta", out)?;
            out.delta(content_index, &delta);
        }
        ProxyEvent::ThinkingDelta { content_index, delta } => {
            expect(content_index, Kind::Thinking, "thinking_delta", out)?;
            out.delta(content_index, &delta);
        }
        ProxyEvent::ToolCallDelta { content_index, delta } => {
            expect(content_index, Kind::ToolCall, "toolcall_delta", out)?;
            out.delta(content_index, &delta);
        }
        ProxyEvent::TextEnd { content_index, content_signature } => {
            expect(content_index, Kind::Text, "text_end", out)?;
            if let AssistantBlock::Text(text) = &mut out.message_mut().content[content_index] {
                text.text_signature = content_signature;
            }
            out.end(content_index);
        }
        ProxyEvent::ThinkingEnd { content_index, content_signature, redacted } => {
            expect(content_index, Kind::Thinking, "thinking_end", out)?;
            let block = &mut out.message_mut().content[content_index];
            if let AssistantBlock::Thinking(thinking) = block {
                thinking.thinking_signature = content_signature;
                thinking.redacted = redacted;
            }
            out.end(content_index);
        }
        ProxyEvent::ToolCallEnd { content_index, tool_call } => {
            expect(content_index, Kind::ToolCall, "toolcall_end", out)?;
            out.end(content_index);
            if let Some(call) = tool_call {
                out.message_mut().content[content_index] = AssistantBlock::ToolCall(*call);
            }
        }
        ProxyEvent::Done { reason, usage, facts } => {
            set_facts(*usage, *facts, out);
            out.finish(reason);
        }
        ProxyEvent::Error { reason, error_message, usage, facts } => {
            set_facts(*usage, *facts, out);
            out.fail(reason, error_message.unwrap_or_default());
        }
    }
    Ok(())
}

fn set_facts(usage: Usage, facts: Facts, out: &mut MessageBuilder) {
    let message = out.message_mut();
    message.usage = usage;
    message.provider_thinking_level = facts.provider_thinking_level;
    message.response_id = facts.response_id;
    message.response_model = facts.response_model;
    message.raw_stop_reason = facts.raw_stop_reason;
}

/// Blocks must begin in order: anything else would be a gap in the message.
fn in_order(content_index: usize, out: &MessageBuilder) -> Result<(), StreamError> {
    let next = out.message().content.len();
    if content_index == next {
        return Ok(());
    }
    let text = format!("The proxy server began content block {content_index} instead of {next}");
    Err(StreamError::Provider(text))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

/// The block exists and is of the kind that the event is about.
fn expect(
    content_index: usize,
    kind: Kind,
    event: &str,
    out: &MessageBuilder,
) -> Result<(), StreamError> {
    let found = out.message().content.get(content_index).and_then(|block| match block {
        AssistantBlock::Text(_) => Some(Kind::Text),
        AssistantBlock::Thinking(_) => Some(Kind::Thinking),
        AssistantBlock::ToolCall(_) => Some(Kind::ToolCall),
        AssistantBlock::Unknown(_) => None,
    });
    if found == Some(kind) {
        return Ok(());
    }
    let name = match kind {
        Kind::Text => "text",
        Kind::Thinking => "thinking",
        Kind::ToolCall => "toolCall",
    };
    Err(StreamError::Provider(format!("Received {event} for non-{name} content")))
}
