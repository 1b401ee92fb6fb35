//! Reads a response: the [`Source`] of every stream that comes from the network.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pi_protocol::{Diagnostic, MessageBuilder, Source, StopReason, Timeouts};
use tokio::time::{Sleep, sleep_until};

use super::body::{Body, Part};
use super::connect::first_byte_text;
use crate::wire::Decoder;

/// An answer that has begun, and its decoder.
pub(crate) struct Exchange {
    pub(crate) body: Body,
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The reason why a call has no answer.
pub(crate) struct Refused {
    pub(crate) text: String,
    /// The HTTP status, if there was a response.
    pub(crate) status: Option<u16>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<T: Into<String>> From<T> for Refused {
    fn from(text: T) -> Self {
        Self { text: text.into(), status: None, diagnostics: Vec::new() }
    }
}

type Connecting = Pin<Box<dyn Future<Output = Result<Exchange, Refused>> + Send>>;

/// Drives a request from the first byte sent to the last event decoded.
pub(crate) struct HttpSource {
    state: State,
    timeouts: Timeouts,
}

enum State {
    Connecting(Connecting),
    Reading(Box<Reading>),
    Done,
}

struct Reading {
    body: Body,
    decoder: Box<dyn Decoder>,
    watchdog: Watchdog,
}

/// Detects that no data arrives. A chunk of data only records the time; the timer itself is reset
/// when it fires, so that thousands of small chunks do not cost thousands of timer changes.
struct Watchdog {
    timer: Option<Pin<Box<Sleep>>>,
    idle: Option<Duration>,
    last_data: Option<Instant>,
}

impl HttpSource {
    /// Creates a source that connects with `connect` when first polled.
    pub(crate) fn new<F>(timeouts: Timeouts, connect: F) -> Self
    where
        F: Future<Output = Result<Exchange, Refused>> + Send + 'static,
    {
        Self { state: State::Connecting(Box::pin(connect)), timeouts }
    }
}

impl Source for HttpSource {
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        loop {
            match &mut self.state {
                State::Connecting(connecting) => match connecting.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(refused)) => {
                        out.message_mut().diagnostics.extend(refused.diagnostics);
                        return self.fail(out, refused.text);
                    }
                    Poll::Ready(Ok(exchange)) => {
                        out.message_mut().diagnostics.extend(exchange.diagnostics.clone());
                        out.start();
                        let reading = Reading::begin(exchange, &self.timeouts);
                        self.state = State::Reading(Box::new(reading));
                        return Poll::Ready(());
                    }
                },
                State::Reading(reading) => match reading.poll(cx, &self.timeouts, out) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => {
                        out.message_mut().diagnostics.extend(reading.body.failed(&error));
                        return self.fail(out, error);
                    }
                    Poll::Ready(Ok(())) if out.is_finished() => {
                        let state = std::mem::replace(&mut self.state, State::Done);
                        if let State::Reading(reading) = state {
                            let is_complete = out.message().stop_reason != StopReason::Error;
                            reading.body.finish(cx, is_complete);
                        }
                        return Poll::Ready(());
                    }
                    Poll::Ready(Ok(())) if out.has_events() => return Poll::Ready(()),
                    Poll::Ready(Ok(())) => {}
                },
                State::Done => return Poll::Ready(()),
            }
        }
    }
}

impl HttpSource {
    fn fail(&mut self, out: &mut MessageBuilder, error: String) -> Poll<()> {
        self.state = State::Done;
        out.fail(StopReason::Error, error);
        Poll::Ready(())
    }
}

impl Reading {
    fn begin(exchange: Exchange, timeouts: &Timeouts) -> Self {
        let Exchange { body, mut decoder, .. } = exchange;
        if let Some(head) = body.head() {
            decoder.head(head);
        }
        let watchdog = Watchdog {
            timer: timeouts.first_byte.map(|limit| timer(body.sent() + limit)),
            idle: timeouts.idle,
            last_data: None,
        };
        Self { body, decoder, watchdog }
    }

    /// Reads one part of the body.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timeouts: &Timeouts,
        out: &mut MessageBuilder,
    ) -> Poll<Result<(), String>> {
        let Self { body, decoder, watchdog } = self;
        let part = match body.poll(cx, &mut |bytes| decoder.push(bytes, out)) {
            Poll::Ready(part) => part,
            Poll::Pending => {
                return match watchdog.poll(cx) {
                    Poll::Ready(()) => Poll::Ready(Err(self.timeout_text(timeouts))),
                    Poll::Pending => Poll::Pending,
                };
            }
        };
        Poll::Ready(part.map(|part| match part {
            Part::Data => watchdog.data(),
            Part::End => decoder.finish(out),
        }))
    }

    fn timeout_text(&self, timeouts: &Timeouts) -> String {
        if self.watchdog.last_data.is_none() {
            return first_byte_text(timeouts);
        }
        let seconds = timeouts.idle.map_or(0.0, |limit| limit.as_secs_f64());
        format!("Stream timed out: the server sent nothing for {seconds} s")
    }
}

fn timer(at: Instant) -> Pin<Box<Sleep>> {
    Box::pin(sleep_until(at.into()))
}

impl Watchdog {
    fn data(&mut self) {
        let now = Instant::now();
        if self.last_data.replace(now).is_none() {
            // The limit for the first byte ends; the limit between chunks begins.
            self.timer = self.idle.map(|idle| timer(now + idle));
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        loop {
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            match (self.last_data, self.idle) {
                (Some(last), Some(idle)) if last + idle > Instant::now() => {
                    timer.as_mut().reset((last + idle).into());
                }
                _ => return Poll::Ready(()),
            }
        }
    }
}
