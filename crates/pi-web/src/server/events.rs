//! Server-sent events as a server writes them. The parser is [`crate::sse`].

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use tokio::time::{Instant, Sleep, sleep};

use super::single;

/// One event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Event<'a> {
    /// The place after which a client resumes. Must not have line endings.
    pub id: Option<&'a str>,
    /// The type of the event. Must not have line endings.
    pub name: Option<&'a str>,
    /// The pause before a client resumes, in milliseconds.
    pub retry_ms: Option<u32>,
    /// The data; its lines are sent as several fields.
    pub data: &'a str,
}

impl Event<'_> {
    /// Writes the event.
    pub fn to_bytes(self) -> Bytes {
        let mut text = String::with_capacity(self.data.len() + 64);
        let mut field = |name: &str, value: &str| {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push('\n');
        };
        if let Some(id) = self.id {
            field("id", id);
        }
        if let Some(name) = self.name {
            field("event", name);
        }
        if let Some(retry) = self.retry_ms {
            field("retry", &retry.to_string());
        }
        // A carriage return ends a line, too.
        for line in self.data.replace("\r\n", "\n").split(['\n', '\r']) {
            field("data", line);
        }
        text.push('\n');
        Bytes::from(text)
    }
}

/// Returns the event after which a client resumes.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    single(headers, "last-event-id")
}

/// Adds a comment to a stream of events after each silence of this length: clients and proxies give
/// up a silent connection, and the server learns that a client has gone.
pub fn keep_alive<S: Stream<Item = Bytes> + Unpin>(events: S, silence: Duration) -> KeepAlive<S> {
    KeepAlive { events, silence, timer: Box::pin(sleep(silence)) }
}

/// A stream with [`keep_alive`].
#[derive(Debug)]
pub struct KeepAlive<S> {
    events: S,
    silence: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<S: Stream<Item = Bytes> + Unpin> Stream for KeepAlive<S> {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = match Pin::new(&mut self.events).poll_next(context) {
            Poll::Ready(next) => next,
            Poll::Pending => match self.timer.as_mut().poll(context) {
                Poll::Ready(()) => Some(Bytes::from_static(b":\n\n")),
                Poll::Pending => return Poll::Pending,
            },
        };
        let until = Instant::now() + self.silence;
        self.timer.as_mut().reset(until);
        Poll::Ready(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::{EventTooLong, SseEvent, SseParser};

    #[test]
    fn events_are_read_as_they_were_written() {
        let event =
            Event { id: Some("7-1"), name: Some("message"), data: "{}", ..Event::default() };
        assert_eq!(event.to_bytes(), "id: 7-1\nevent: message\ndata: {}\n\n");
        let first = Event { id: Some("7-0"), retry_ms: Some(500), ..Event::default() };
        assert_eq!(first.to_bytes(), "id: 7-0\nretry: 500\ndata: \n\n");
        for data in ["", "a", "a\nb", "\n", " a", "a\r\nb\rc", "data: x\n\nid: 9"] {
            let event = Event { id: Some("1"), data, ..Event::default() };
            let mut parser = SseParser::new();
            let mut read = Vec::new();
            let record = |event: SseEvent<'_>| -> Result<(), EventTooLong> {
                read.push(event.data.to_owned());
                Ok(())
            };
            parser.push(&event.to_bytes(), record).unwrap();
            assert_eq!(read, [data.replace("\r\n", "\n").replace('\r', "\n")], "{data:?}");
            assert_eq!(parser.last_event_id(), Some("1"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_shows_that_it_is_alive() {
        let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
        let silence = Duration::from_secs(15);
        let mut events = keep_alive(Channel(receiver), silence);
        let mut next =
            async || std::future::poll_fn(|cx| Pin::new(&mut events).poll_next(cx)).await;
        let start = Instant::now();
        assert_eq!(next().await.unwrap(), ":\n\n");
        assert_eq!(next().await.unwrap(), ":\n\n");
        assert_eq!(start.elapsed().as_secs(), 30);
        sender.send(Bytes::from_static(b"x")).await.unwrap();
        assert_eq!(next().await.unwrap(), "x");
        drop(sender);
        assert_eq!(next().await, None);
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    struct Channel(tokio::sync::mpsc::Receiver<Bytes>);

    impl Stream for Channel {
        type Item = Bytes;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
            self.0.poll_recv(cx)
        }
    }
}
