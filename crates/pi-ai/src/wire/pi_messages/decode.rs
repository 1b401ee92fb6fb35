//! Decodes the events of an answer.
//!
//! The gateway names the blocks by their index. A block must begin before it continues, and an event
//! must match the kind of its block; everything else is an error, since the text would be wrong.

use pi_protocol::{AssistantBlock, Diagnostic, MessageBuilder, StopReason, json};
use pi_web::sse::SseEvent;
use serde_json::Value;

use super::event::Event;
use crate::wire::responses::complete_text;
use crate::wire::{Call, EventDecoder, StreamError};

/// The decoder of one answer.
#[derive(Debug)]
pub(super) struct EventsDecoder {
    provider: String,
}

impl EventsDecoder {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self { provider: call.model.provider.clone() }
    }
}

impl EventDecoder for EventsDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if let Ok(event) = serde_json::from_str(data) {
            return apply(event, out);
        }
        let malformed = |error: serde_json::Error| StreamError::malformed("event", &error, data);
        let repaired = json::from_str_repairing::<Value>(data).map_err(malformed)?.to_string();
        apply(serde_json::from_str(&repaired).map_err(malformed)?, out)
    }

    fn end(&mut self, _: &mut MessageBuilder) -> Result<(), StreamError> {
        let provider = &self.provider;
        Err(StreamError::Provider(format!("{provider} stream ended without a terminal event")))
    }
}

fn apply(event: Event<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
    match &*event.kind {
        "text_start" => {
            begin(&event, out)?;
            out.text_start();
        }
        "thinking_start" => {
            begin(&event, out)?;
            out.thinking_start();
        }
        "toolcall_start" => {
            begin(&event, out)?;
            let id = event.id.as_deref().unwrap_or_default();
            out.tool_call_start(id, event.tool_name.as_deref().unwrap_or_default());
        }
        "text_delta" | "thinking_delta" | "toolcall_delta" => {
            let index = block(&event, out)?;
            out.delta(index, event.delta.as_deref().unwrap_or_default());
        }
        "text_end" | "thinking_end" | "toolcall_end" => {
            let index = block(&event, out)?;
            end(event, index, out);
        }
        "done" | "error" => return finish(event, out),
        // Also `start`, which begins no block.
        _ => {}
    }
    Ok(())
}

/// Checks that the event begins the next block.
fn begin(event: &Event<'_>, out: &MessageBuilder) -> Result<(), StreamError> {
    match event.index() {
        Some(index) if index == out.message().content.len() => Ok(()),
        _ => Err(invalid_index(event)),
    }
}

/// Returns the block that the event continues.
fn block(event: &Event<'_>, out: &MessageBuilder) -> Result<usize, StreamError> {
    let index = event.index().ok_or_else(|| invalid_index(event))?;
    let fits = match out.message().content.get(index) {
        Some(AssistantBlock::Text(_)) => event.kind.starts_with("text_"),
        Some(AssistantBlock::Thinking(_)) => event.kind.starts_with("thinking_"),
        Some(AssistantBlock::ToolCall(_)) => event.kind.starts_with("toolcall_"),
        _ => false,
    };
    if fits { Ok(index) } else { Err(invalid_index(event)) }
}

fn invalid_index(event: &Event<'_>) -> StreamError {
    let index = event.content_index.map_or("(missing)", |index| index.get());
    let kind = &*event.kind;
    StreamError::Provider(format!("Invalid contentIndex {index} in pi-messages {kind} event"))
}

/// Ends a block, with the complete content if the event has it.
fn end(event: Event<'_>, index: usize, out: &mut MessageBuilder) {
    if let Some(content) = &event.content {
        complete_text(out, index, content);
    }
    if let Some(call) = &event.tool_call {
        out.complete_arguments(index, &Value::from(call.arguments.clone()).to_string());
    }
    match out.message_mut().content.get_mut(index) {
        Some(AssistantBlock::Text(text)) if event.content_signature.is_some() => {
            text.text_signature = event.content_signature;
        }
        Some(AssistantBlock::Thinking(thinking)) => {
            if event.content_signature.is_some() {
                thinking.thinking_signature = event.content_signature;
            }
            thinking.redacted |= event.redacted.unwrap_or(false);
        }
        _ => {}
    }
    out.end(index);
    if let Some(AssistantBlock::ToolCall(call)) = out.message_mut().content.get_mut(index)
        && let Some(whole) = event.tool_call
    {
        *call = whole;
    }
}

fn finish(event: Event<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
    let message = out.message_mut();
    if let Some(usage) = event.usage {
        message.usage = usage;
    }
    message.response_id = event.response_id.or(message.response_id.take());
    message.response_model = event.response_model.filter(|model| *model != message.model);
    if event.provider_thinking_level.is_some() {
        message.provider_thinking_level = event.provider_thinking_level;
    }
    if let Some(details) = event.rewrite {
        message.diagnostics.push(Diagnostic {
            kind: "pi_messages_rewrite".to_owned(),
            timestamp: message.timestamp,
            details: Some(details),
            ..Diagnostic::default()
        });
    }
    match (&*event.kind, event.reason) {
        ("error", reason) => {
            let reason = match reason {
                Some(StopReason::Aborted) => StopReason::Aborted,
                _ => StopReason::Error,
            };
            let text = event.error_message.filter(|text| !text.is_empty());
            let text = text.unwrap_or_else(|| "The gateway reported no reason".to_owned());
            out.fail(reason, text);
            Ok(())
        }
        (_, Some(reason @ (StopReason::Stop | StopReason::Length | StopReason::ToolUse))) => {
            out.finish(reason);
            Ok(())
        }
        (_, reason) => {
            let reason = reason.and_then(|reason| serde_json::to_string(&reason).ok());
            let reason = reason.unwrap_or_else(|| "(missing)".to_owned());
            Err(StreamError::Provider(format!("Invalid stop reason of the gateway: {reason}")))
        }
    }
}
