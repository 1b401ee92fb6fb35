//! The one seam between an agent and any model.

use std::sync::Arc;

use crate::{AssistantMessage, AssistantStream, CancelToken, Context, Model, StreamOptions};

/// Everything that a provider needs to answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The model to which the request goes.
    pub model: Arc<Model>,
    /// The conversation to continue.
    pub context: Context,
    /// Options of the request.
    pub options: StreamOptions,
}

impl Request {
    /// Creates a request to continue `context` on `model`.
    pub fn new(model: Arc<Model>, context: Context, options: StreamOptions) -> Self {
        Self { model, context, options }
    }
}

/// Answers requests: a client of real models, or a scripted model.
///
/// Contract: `stream` never fails and never panics. Every failure, from a missing key to a lost
/// connection, is the last event of the stream, and the message has the content so far and the
/// cause. Cancelling `cancel` ends the request on the wire at once.
pub trait Provider: Send + Sync {
    /// Returns the stream of the answer. Nothing is sent before the stream is first polled.
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream;
}

/// Sends a request and waits for the whole answer. Failures are in its `stop_reason`.
pub async fn complete(
    provider: &dyn Provider,
    request: Request,
    cancel: CancelToken,
) -> Arc<AssistantMessage> {
    provider.stream(request, cancel).result().await
}
