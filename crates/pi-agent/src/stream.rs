//! The loop without an agent: a plain stream of events.
//!
//! Nobody is waited for: the run goes on while its events wait to be read. For awaited listeners,
//! queues and state there is [`Agent`](crate::Agent).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use pi_protocol::{AgentMessage, AssistantMessage, CancelToken, History, Provider};
use tokio::sync::mpsc;

use crate::agent::AgentError;
use crate::conversation::Conversation;
use crate::event::AgentEvent;
use crate::run::{Run, RunError, RunSettings, Sink, Undelivered};
use crate::tool::BoxFuture;

/// The events of one run. Dropping it ends the run.
pub struct AgentStream {
    run: Option<BoxFuture<'static, (Result<(), RunError>, Undelivered)>>,
    events: mpsc::UnboundedReceiver<AgentEvent>,
    error: Option<RunError>,
    undelivered: Undelivered,
}

/// Runs `prompts` after `messages`.
pub fn agent_loop(
    provider: Arc<dyn Provider>,
    settings: RunSettings,
    messages: &History<AgentMessage>,
    prompts: Vec<AgentMessage>,
    cancel: CancelToken,
) -> AgentStream {
    start(provider, settings, messages.clone(), prompts, cancel)
}

/// Goes on from the end of `messages`, which must not be the model's own.
pub fn agent_loop_continue(
    provider: Arc<dyn Provider>,
    settings: RunSettings,
    messages: &History<AgentMessage>,
    cancel: CancelToken,
) -> Result<AgentStream, AgentError> {
    match messages.last().map(AgentMessage::role) {
        None => Err(AgentError::EmptyContext),
        Some("assistant") => Err(AgentError::AssistantLast),
        Some(_) => Ok(start(provider, settings, messages.clone(), Vec::new(), cancel)),
    }
}

fn start(
    provider: Arc<dyn Provider>,
    settings: RunSettings,
    messages: History<AgentMessage>,
    prompts: Vec<AgentMessage>,
    cancel: CancelToken,
) -> AgentStream {
    // Unbounded, since the run must not wait for its reader; a turn's events are few and small.
    let (sender, events) = mpsc::unbounded_channel();
    let run = async move {
        let mut sink = ChannelSink(sender);
        let conversation = Conversation::new(settings.convert.clone(), messages.iter().cloned());
        let mut run = Run::new(provider, settings, conversation, &cancel, &mut sink);
        let result = run.run(prompts, true).await;
        (result, run.undelivered())
    };
    AgentStream {
        run: Some(Box::pin(run)),
        events,
        error: None,
        undelivered: Undelivered::default(),
    }
}

impl AgentStream {
    /// The next event.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Reads to the end; the messages that the run added.
    pub async fn result(mut self) -> Result<Vec<AgentMessage>, RunError> {
        let mut added = Vec::new();
        while let Some(event) = self.next().await {
            if let AgentEvent::AgentEnd { messages, .. } = event {
                added = messages;
            }
        }
        self.error.map_or(Ok(added), Err)
    }

    /// What the run took from its queues and could not deliver, once it has ended.
    pub fn undelivered(&self) -> &Undelivered {
        &self.undelivered
    }

    /// Why the run ended without its last event, if it did: a hook failed.
    pub fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }
}

impl Stream for AgentStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let ended = self.run.as_mut().map(|run| run.as_mut().poll(cx));
        if let Some(Poll::Ready((result, undelivered))) = ended {
            self.run = None;
            self.error = result.err();
            self.undelivered = undelivered;
        }
        match self.events.poll_recv(cx) {
            Poll::Pending if self.run.is_none() => Poll::Ready(None),
            other => other,
        }
    }
}

struct ChannelSink(mpsc::UnboundedSender<AgentEvent>);

impl Sink for ChannelSink {
    fn emit<'a>(
        &'a mut self,
        event: AgentEvent,
        _streaming: Option<&'a AssistantMessage>,
    ) -> BoxFuture<'a, Result<(), RunError>> {
        // The reader is part of the same object; if it is gone, so is the run.
        let _ = self.0.send(event);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl std::fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentStream").finish_non_exhaustive()
    }
}
