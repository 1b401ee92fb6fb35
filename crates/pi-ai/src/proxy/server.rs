//! The server side: from a stream of events to the lines of a response body.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pi_protocol::{AssistantBlock, AssistantEvent, AssistantMessage, AssistantStream, StopReason};

use super::event::{Facts, ProxyEvent};

/// The body of the response, as `text/event-stream`: one item per event. Dropping it ends the
/// request to the provider.
pub fn response_body(stream: AssistantStream) -> impl Stream<Item = String> + Send + Unpin {
    Body(stream)
}

struct Body(AssistantStream);

impl Stream for Body {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let event = std::task::ready!(Pin::new(&mut self.0).poll_next(cx));
        Poll::Ready(event.map(|event| line(&event, self.0.message())))
    }
}

fn line(event: &AssistantEvent, message: &AssistantMessage) -> String {
    let json = serde_json::to_string(&proxied(event, message)).unwrap_or_else(|error| {
        // No type involved can fail to serialize; if one ever does, the client is told.
        format!(r#"{{"type":"error","reason":"error","errorMessage":"{error}","usage":{{}}}}"#)
    });
    format!("data: {json}\n\n")
}

fn proxied<'a>(event: &'a AssistantEvent, message: &AssistantMessage) -> ProxyEvent<'a> {
    let delta_of = |delta: &'a String| Cow::Borrowed(delta.as_str());
    match event {
        AssistantEvent::Start => ProxyEvent::Start,
        &AssistantEvent::TextStart { content_index } => ProxyEvent::TextStart { content_index },
        AssistantEvent::TextDelta { content_index, delta } => {
            ProxyEvent::TextDelta { content_index: *content_index, delta: delta_of(delta) }
        }
        &AssistantEvent::TextEnd { content_index } => ProxyEvent::TextEnd {
            content_index,
            content_signature: match message.content.get(content_index) {
                Some(AssistantBlock::Text(text)) => text.text_signature.clone(),
                _ => None,
            },
        },
        &AssistantEvent::ThinkingStart { content_index } => {
            ProxyEvent::ThinkingStart { content_index }
        }
        AssistantEvent::ThinkingDelta { content_index, delta } => {
            ProxyEvent::ThinkingDelta { content_index: *content_index, delta: delta_of(delta) }
        }
        &AssistantEvent::ThinkingEnd { content_index } => {
            let thinking = match message.content.get(content_index) {
                Some(AssistantBlock::Thinking(thinking)) => Some(thinking),
                _ => None,
            };
            ProxyEvent::ThinkingEnd {
                content_index,
                content_signature: thinking.and_then(|block| block.thinking_signature.clone()),
                redacted: thinking.is_some_and(|block| block.redacted),
            }
        }
        &AssistantEvent::ToolCallStart { content_index } => {
            let (id, tool_name) = match message.content.get(content_index) {
                Some(AssistantBlock::ToolCall(call)) => (call.id.clone(), call.name.clone()),
                _ => Default::default(),
            };
            ProxyEvent::ToolCallStart { content_index, id, tool_name }
        }
        AssistantEvent::ToolCallDelta { content_index, delta } => {
            ProxyEvent::ToolCallDelta { content_index: *content_index, delta: delta_of(delta) }
        }
        &AssistantEvent::ToolCallEnd { content_index } => ProxyEvent::ToolCallEnd {
            content_index,
            tool_call: match message.content.get(content_index) {
                Some(AssistantBlock::ToolCall(call)) => Some(Box::new(call.clone())),
                _ => None,
            },
        },
        AssistantEvent::Done { reason } => end(reason, message, false),
        AssistantEvent::Error { reason } => end(reason, message, true),
    }
}

fn end(reason: &StopReason, message: &AssistantMessage, failed: bool) -> ProxyEvent<'static> {
    let reason = reason.clone();
    let usage = Box::new(message.usage.clone());
    let facts = Box::new(Facts {
        provider_thinking_level: message.provider_thinking_level.clone(),
        response_id: message.response_id.clone(),
        response_model: message.response_model.clone(),
        raw_stop_reason: message.raw_stop_reason.clone(),
    });
    if failed {
        let error_message = message.error_message.clone();
        ProxyEvent::Error { reason, error_message, usage, facts }
    } else {
        ProxyEvent::Done { reason, usage, facts }
    }
}
