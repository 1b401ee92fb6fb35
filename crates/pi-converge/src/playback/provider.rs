//! A provider that gives recorded answers.

use std::sync::Arc;
use std::task::{Context, Poll};

use pi_protocol::{
    AssistantBlock, AssistantEvent, AssistantMessage, AssistantStream, CancelToken, MessageBuilder,
    Provider, Request, Source, StopReason,
};

use super::player::{Answered, Player};

/// Answers requests from a recording.
pub(super) struct ReplayProvider {
    pub(super) player: Player,
    /// Answers after the recorded ones, if the run continues for real.
    pub(super) live: Arc<dyn Provider>,
}

impl Provider for ReplayProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        match self.player.answer(&request) {
            Answered::Recorded { events, message } => {
                let events = events.into_iter();
                AssistantStream::new(&request.model, Replayed { events, message }, cancel)
            }
            Answered::Live => self.live.stream(request, cancel),
            Answered::Diverged => {
                AssistantStream::failed(&request.model, "the replay differs from the recording")
            }
        }
    }
}

/// A recorded answer that streams again.
struct Replayed {
    events: std::vec::IntoIter<AssistantEvent>,
    message: Option<Box<AssistantMessage>>,
}

impl Source for Replayed {
    fn poll(&mut self, _cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        while !out.has_events() && !out.is_finished() {
            match self.events.next() {
                Some(AssistantEvent::Done { reason }) => {
                    self.complete(out);
                    out.finish(reason);
                }
                Some(AssistantEvent::Error { reason }) => self.fail(out, reason),
                Some(event) => self.repeat(event, out),
                // The run gave the answer up here.
                None => self.fail(out, StopReason::Aborted),
            }
        }
        Poll::Ready(())
    }
}

impl Replayed {
    fn repeat(&self, event: AssistantEvent, out: &mut MessageBuilder) {
        match event {
            AssistantEvent::TextStart { .. } => drop(out.text_start()),
            AssistantEvent::ThinkingStart { .. } => drop(out.thinking_start()),
            AssistantEvent::ToolCallStart { content_index } => {
                let block = self.message.as_ref().and_then(|one| one.content.get(content_index));
                let (id, name) = match block {
                    Some(AssistantBlock::ToolCall(call)) => (call.id.clone(), call.name.clone()),
                    _ => Default::default(),
                };
                out.tool_call_start(id, name);
            }
            AssistantEvent::TextDelta { content_index, delta }
            | AssistantEvent::ThinkingDelta { content_index, delta }
            | AssistantEvent::ToolCallDelta { content_index, delta } => {
                out.delta(content_index, &delta);
            }
            AssistantEvent::TextEnd { content_index }
            | AssistantEvent::ThinkingEnd { content_index }
            | AssistantEvent::ToolCallEnd { content_index } => out.end(content_index),
            _ => out.start(),
        }
    }

    fn fail(&mut self, out: &mut MessageBuilder, reason: StopReason) {
        let error = self.message.as_ref().and_then(|message| message.error_message.clone());
        self.complete(out);
        out.fail(reason, error.unwrap_or_else(|| "the recording ends here".to_owned()));
    }

    /// Sets the message as it was recorded. It has fields that no event carries.
    fn complete(&mut self, out: &mut MessageBuilder) {
        if let Some(message) = self.message.take() {
            *out.message_mut() = *message;
        }
    }
}
