//! The stream of one answer.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use pi_base::{lock, unpoisoned};

use crate::{
    AssistantEvent, AssistantMessage, CancelRegistration, CancelToken, Cancelled, MessageBuilder,
    Model, StopReason,
};

/// The origin of the content of an [`AssistantStream`]: a connection or a script.
///
/// Contract: when `poll` returns `Ready`, it has pushed at least one event into `out` or finished
/// the message. Dropping a source releases its resources at once.
pub trait Source: Send {
    /// Advances the answer and writes into `out`.
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()>;
}

/// The stream of an answer: [`AssistantEvent`]s over one accumulating message.
///
/// Exactly one terminal event comes, last. Every failure is that event; no method returns an `Err`.
/// The message exists once, in the stream, and is lent out by [`Self::message`].
///
/// Every stream can be cancelled: with [`Self::cancel`], with a token from [`Self::cancel_token`],
/// or with the token that the stream was made with. Cancellation drops the source, and with it the
/// connection, at once, even if the stream is not being polled. Events that had arrived are still
/// delivered and open blocks end; then comes `Error` with reason `Aborted`.
pub struct AssistantStream {
    state: State,
    source: SharedSource,
    cancel: CancelToken,
    cancelled: Cancelled,
    /// Closes the source at the moment of cancellation.
    _close_on_cancel: CancelRegistration,
    started: Instant,
    /// Opens the stream that takes the place of this one.
    opening: Option<Mutex<Opening>>,
    /// Sees each event before it is delivered. The lock only makes the stream `Sync`.
    observers: Mutex<Vec<Observer>>,
}

type Observer = Box<dyn FnMut(&AssistantEvent, &AssistantMessage) + Send>;
type Opening = Pin<Box<dyn Future<Output = AssistantStream> + Send>>;

/// Shared with the cancellation callback. The lock is held only while polling, never across an
/// await, and the callback does not wait for it.
type SharedSource = Arc<Mutex<Option<Box<dyn Source>>>>;

enum State {
    Streaming(Box<MessageBuilder>),
    Finished(Arc<AssistantMessage>),
}

const ABORTED: &str = "Request was aborted";

impl AssistantStream {
    /// Creates the stream of an answer from `model`, with the content of `source`. Cancelling
    /// `cancel` cancels the stream.
    #[allow(clippy::needless_pass_by_value)] // A token is a handle; providers receive it by value.
    pub fn new(model: &Model, source: impl Source + 'static, cancel: CancelToken) -> Self {
        // A child, so that `Self::cancel` ends this stream and nothing else of the caller.
        let cancel = cancel.child();
        let source: SharedSource = Arc::new(Mutex::new(Some(Box::new(source))));
        let weak = Arc::downgrade(&source);
        let close_on_cancel = cancel.on_cancel(move || {
            let Some(source) = weak.upgrade() else { return };
            // A locked source is being polled right now; `poll_next` checks the token again when
            // that returns.
            let taken = source.try_lock().ok().and_then(|mut source| source.take());
            drop(taken);
        });
        Self {
            state: State::Streaming(Box::new(MessageBuilder::new(model))),
            source,
            cancelled: cancel.cancelled(),
            cancel,
            _close_on_cancel: close_on_cancel,
            started: Instant::now(),
            opening: None,
            observers: Mutex::default(),
        }
    }

    /// Creates a stream that `open` opens when it is first polled, with a token that this stream
    /// cancels. Until then the message is an empty one of `model`.
    pub fn deferred<F>(
        model: &Model,
        cancel: CancelToken,
        open: impl FnOnce(CancelToken) -> F,
    ) -> Self
    where
        F: Future<Output = Self> + Send + 'static,
    {
        let mut stream = Self::new(model, Failed(None), cancel);
        stream.opening = Some(Mutex::new(Box::pin(open(stream.cancel.clone()))));
        stream
    }

    /// Creates the stream of an answer that failed before anything was sent.
    pub fn failed(model: &Model, error: impl Into<String>) -> Self {
        Self::new(model, Failed(Some(error.into())), CancelToken::new())
    }

    /// Calls `observe` for each event before it is delivered, with the message so far.
    #[must_use]
    pub fn observed(
        mut self,
        observe: impl FnMut(&AssistantEvent, &AssistantMessage) + Send + 'static,
    ) -> Self {
        unpoisoned(self.observers.get_mut()).push(Box::new(observe));
        self
    }

    /// Returns true if the whole answer has arrived, though events of it may be undelivered.
    pub fn is_complete(&self) -> bool {
        match &self.state {
            State::Streaming(builder) => builder.is_finished(),
            State::Finished(_) => true,
        }
    }

    /// Cancels the request. The stream still has to be read to its terminal event.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns a token that cancels this stream and nothing else. Take it before the stream moves
    /// to another task, or before [`Self::result`] consumes the stream.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Returns the message so far; after the terminal event, the whole message.
    /// A clone of the `Arc` must be dropped before the next event: one that is kept makes the
    /// stream copy its message.
    pub fn message(&self) -> &Arc<AssistantMessage> {
        match &self.state {
            State::Streaming(builder) => builder.message(),
            State::Finished(message) => message,
        }
    }

    /// Returns the message until it is finished, to set fields that are known before the request.
    pub fn message_mut(&mut self) -> Option<&mut AssistantMessage> {
        match &mut self.state {
            State::Streaming(builder) => Some(builder.message_mut()),
            State::Finished(_) => None,
        }
    }

    /// Waits for the next event. Returns `None` after the terminal one.
    pub async fn next(&mut self) -> Option<AssistantEvent> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Reads to the end and returns the whole message.
    pub async fn result(mut self) -> Arc<AssistantMessage> {
        while self.next().await.is_some() {}
        match self.state {
            State::Finished(message) => message,
            State::Streaming(builder) => Arc::new(builder.into_message()),
        }
    }

    /// Returns the whole message once the terminal event has been delivered.
    pub fn finished(&self) -> Option<Arc<AssistantMessage>> {
        match &self.state {
            State::Finished(message) => Some(Arc::clone(message)),
            State::Streaming(_) => None,
        }
    }
}

impl Stream for AssistantStream {
    type Item = AssistantEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AssistantEvent>> {
        let this = self.get_mut();
        let polled = this.poll_event(cx);
        if let Poll::Ready(Some(event)) = &polled {
            let mut observers = std::mem::take(unpoisoned(this.observers.get_mut()));
            let message: &AssistantMessage = this.message();
            observers.iter_mut().for_each(|observe| observe(event, message));
            this.observers = Mutex::new(observers);
        }
        polled
    }
}

impl AssistantStream {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<AssistantEvent>> {
        if self.cancel.is_cancelled() {
            self.opening = None;
        }
        if let Some(opening) = &mut self.opening {
            // The lock only makes the stream `Sync`; there is no other user.
            let opening = unpoisoned(opening.get_mut());
            match opening.as_mut().poll(cx) {
                Poll::Ready(stream) => self.replace(stream),
                Poll::Pending if Pin::new(&mut self.cancelled).poll(cx).is_ready() => {
                    self.opening = None;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        let State::Streaming(builder) = &mut self.state else { return Poll::Ready(None) };
        loop {
            if self.cancel.is_cancelled() && !builder.is_finished() {
                // Consumers of events learn that no open block will continue.
                builder.end_all();
                builder.fail(StopReason::Aborted, ABORTED);
            }
            if builder.is_finished() {
                take(&self.source);
            }
            if let Some(event) = builder.pop_event() {
                if event.is_terminal() {
                    let builder = std::mem::replace(builder, Box::new(MessageBuilder::empty()));
                    let message = finish(builder.into_message(), self.started);
                    self.state = State::Finished(Arc::new(message));
                }
                return Poll::Ready(Some(event));
            }
            if Pin::new(&mut self.cancelled).poll(cx).is_ready() {
                continue;
            }
            let polled = match lock(&self.source).as_mut() {
                Some(source) => source.poll(cx, builder),
                None => Poll::Ready(()),
            };
            match polled {
                Poll::Pending if self.cancel.is_cancelled() => {}
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if builder.is_finished() || builder.has_events() => {}
                Poll::Ready(()) if self.cancel.is_cancelled() => {}
                Poll::Ready(()) => builder.fail(
                    StopReason::Error,
                    "The provider's stream ended without a terminal event",
                ),
            }
        }
    }

    /// Continues as the stream that was opened. Its own observers come first.
    fn replace(&mut self, stream: Self) {
        let outer = std::mem::replace(self, stream);
        let outer = unpoisoned(outer.observers.into_inner());
        unpoisoned(self.observers.get_mut()).extend(outer);
    }
}

/// Drops the source, and with it the connection, outside the lock.
fn take(source: &SharedSource) {
    let taken = lock(source).take();
    drop(taken);
}

fn finish(mut message: AssistantMessage, started: Instant) -> AssistantMessage {
    message.duration_ms.get_or_insert_with(|| (started.elapsed().as_secs_f64() * 1e3).round());
    message
}

impl fmt::Debug for AssistantStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssistantStream").field("message", self.message()).finish_non_exhaustive()
    }
}

struct Failed(Option<String>);

impl Source for Failed {
    fn poll(&mut self, _cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        if let Some(error) = self.0.take() {
            out.fail(StopReason::Error, error);
        }
        Poll::Ready(())
    }
}
