//! Listeners: they receive the events of an agent.

use std::future::Future;
use std::sync::Arc;

use pi_protocol::{AssistantMessage, CancelToken};

use crate::error::RunError;
use crate::event::AgentEvent;
use crate::queue::QueuedId;
use crate::tool::BoxFuture;

/// Receives the events of an agent one after the other. The run waits for each call to return.
///
/// A listener that fails or panics ends the run as failed.
pub trait Listener: Send + Sync {
    /// Handles an event.
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        context: EventContext<'a>,
    ) -> BoxFuture<'a, ListenerResult>;
}

/// The result of handling an event. An error ends the run.
pub type ListenerResult = Result<(), RunError>;

/// Facts about the run at the moment of an event that are not part of the event itself.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EventContext<'a> {
    /// The assistant's message so far, with `message_update`. A clone of it that is kept beyond the
    /// event makes the next event copy the message.
    pub streaming: Option<&'a Arc<AssistantMessage>>,
    /// The identity of the queued message that begins, with `message_start`. See
    /// [`Agent::steer`](crate::Agent::steer) and [`Agent::follow_up`](crate::Agent::follow_up).
    pub queued: Option<QueuedId>,
    /// Index of the current turn within the run, from 0.
    pub turn_index: u32,
    /// Time of the event in milliseconds since the Unix epoch.
    pub timestamp: f64,
    /// Cancelled when the run is aborted.
    pub cancel: &'a CancelToken,
}

/// A listener made from a synchronous function.
pub(crate) struct FnListener<F>(pub(crate) F);

impl<F: Fn(&AgentEvent, EventContext<'_>) + Send + Sync> Listener for FnListener<F> {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        context: EventContext<'a>,
    ) -> BoxFuture<'a, ListenerResult> {
        (self.0)(event, context);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A listener made from an async function, which gets its own copy of the event.
pub(crate) struct AsyncListener<F>(pub(crate) F);

impl<F, Fut> Listener for AsyncListener<F>
where
    F: Fn(AgentEvent, CancelToken) -> Fut + Send + Sync,
    Fut: Future<Output = ListenerResult> + Send + 'static,
{
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        context: EventContext<'a>,
    ) -> BoxFuture<'a, ListenerResult> {
        Box::pin((self.0)(event.clone(), context.cancel.clone()))
    }
}
