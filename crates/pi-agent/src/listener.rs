//! Who is told of events.

use std::future::Future;

use pi_protocol::{AssistantMessage, CancelToken};

use crate::event::AgentEvent;
use crate::run::RunError;
use crate::tool::BoxFuture;

/// Hears every event, one after the other; the run waits for it.
///
/// A listener that fails or panics ends the run as failed.
pub trait Listener: Send + Sync {
    /// Hears an event.
    fn hear<'a>(&'a self, event: &'a AgentEvent, scene: Scene<'a>) -> BoxFuture<'a, Heard>;
}

/// What a listener answers.
pub type Heard = Result<(), RunError>;

/// What a listener may look at besides the event.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The assistant's message while it grows.
    pub streaming: Option<&'a AssistantMessage>,
    /// Cancelled when the run is aborted.
    pub cancel: &'a CancelToken,
}

/// A listener made from a plain function.
pub(crate) struct FnListener<F>(pub(crate) F);

impl<F: Fn(&AgentEvent, Scene<'_>) + Send + Sync> Listener for FnListener<F> {
    fn hear<'a>(&'a self, event: &'a AgentEvent, scene: Scene<'a>) -> BoxFuture<'a, Heard> {
        (self.0)(event, scene);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A listener made from an async function, which gets its own copy of the event.
pub(crate) struct AsyncListener<F>(pub(crate) F);

impl<F, Fut> Listener for AsyncListener<F>
where
    F: Fn(AgentEvent, CancelToken) -> Fut + Send + Sync,
    Fut: Future<Output = Heard> + Send + 'static,
{
    fn hear<'a>(&'a self, event: &'a AgentEvent, scene: Scene<'a>) -> BoxFuture<'a, Heard> {
        Box::pin((self.0)(event.clone(), scene.cancel.clone()))
    }
}
