//! The one seam between an agent and any model.

use std::sync::Arc;

use crate::{AssistantMessage, AssistantStream, CancelToken, Context, Model, StreamOptions};

/// Everything a provider needs to answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The model to ask.
    pub model: Arc<Model>,
    /// The conversation.
    pub context: Context,
    /// How to ask.
    pub options: StreamOptions,
}

impl Request {
    /// A request to continue `context` on `model`.
    pub fn new(model: Arc<Model>, context: Context, options: StreamOptions) -> Self {
        Self { model, context, options }
    }
}

/// Answers requests: a client of real models, or a scripted model.
///
/// Contract: `stream` never fails and never panics. Whatever goes wrong, from a missing key to a
/// torn connection, is the last event of the stream, and the message holds what was gathered and
/// why it ended. Cancelling `cancel` ends the request on the wire at once.
pub trait Provider: Send + Sync {
    /// Starts to answer. Nothing is sent before the stream is first polled.
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream;
}

/// Asks and waits for the whole answer. Look at its `stop_reason`: failures arrive there.
pub async fn complete(
    provider: &dyn Provider,
    request: Request,
    cancel: CancelToken,
) -> Arc<AssistantMessage> {
    provider.stream(request, cancel).result().await
}
