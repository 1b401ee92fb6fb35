//! The messages of one stream, in order, for a reader that may come back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use pi_base::lock;
use pi_jsonrpc::Message;
use pi_web::server::{Event, keep_alive};
use tokio::sync::watch;

/// The most messages, and bytes of them, that are kept for a reader. Older ones are lost.
const MESSAGES: usize = 512;
const BYTES: usize = 64 << 20;

/// The time after which a stream without messages shows that it is alive.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The time after which a client should come back, in milliseconds.
const RETRY: u32 = 500;

/// The messages of one stream.
#[derive(Debug)]
pub(super) struct Log {
    messages: Mutex<Messages>,
    changed: watch::Sender<Marks>,
    /// The number of all readers so far.
    readers: AtomicU64,
    /// Code of the error that the stream ended with.
    error: OnceLock<i64>,
}

#[derive(Debug, Default)]
struct Messages {
    kept: VecDeque<(u64, Arc<str>)>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    /// Number of the newest message; the first is 1.
    newest: u64,
    /// Number of times that readers were sent away.
    closed: u64,
    /// No message follows.
    ended: bool,
}

impl Default for Log {
    fn default() -> Self {
        let changed = watch::Sender::new(Marks::default());
        let (messages, readers) = (Mutex::default(), AtomicU64::new(0));
        Self { messages, changed, readers, error: OnceLock::new() }
    }
}

impl Log {
    /// Adds a message.
    pub(super) fn push(&self, message: &Message) {
        self.add(message, false);
    }

    /// Adds the last message.
    pub(super) fn finish(&self, message: &Message) {
        if let Message::Response(pi_jsonrpc::Response { result: Err(error), .. }) = message {
            let _ = self.error.set(error.code);
        }
        self.add(message, true);
    }

    /// Returns the code of the error that the stream ended with.
    pub(super) fn error(&self) -> Option<i64> {
        self.error.get().copied()
    }

    fn add(&self, message: &Message, is_last: bool) {
        let text: Arc<str> = message.to_value().to_string().into();
        let mut messages = lock(&self.messages);
        let number = self.changed.borrow().newest + 1;
        messages.bytes += text.len();
        messages.kept.push_back((number, text));
        while messages.kept.len() > MESSAGES || (messages.bytes > BYTES && messages.kept.len() > 1)
        {
            if let Some((_, lost)) = messages.kept.pop_front() {
                messages.bytes -= lost.len();
            }
        }
        drop(messages);
        self.changed.send_modify(|marks| {
            marks.newest = number;
            marks.ended |= is_last;
        });
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        self.changed.send_modify(|marks| marks.ended = true);
    }

    /// Sends the present readers away; they come back for the rest.
    pub(super) fn close_readers(&self) {
        self.changed.send_modify(|marks| marks.closed += 1);
    }

    /// Returns true if no message follows.
    pub(super) fn has_ended(&self) -> bool {
        self.changed.borrow().ended
    }

    /// Returns true if the stream is being read.
    pub(super) fn is_read(&self) -> bool {
        !self.changed.is_closed()
    }

    /// Waits until no one has read the stream for a time.
    pub(super) async fn abandoned(&self, patience: Duration) {
        loop {
            self.changed.closed().await;
            let readers = self.readers.load(Ordering::Relaxed);
            tokio::time::sleep(patience).await;
            if !self.is_read() && self.readers.load(Ordering::Relaxed) == readers {
                return;
            }
        }
    }

    fn after(&self, number: u64) -> Option<(u64, Arc<str>)> {
        lock(&self.messages).kept.iter().find(|(other, _)| *other > number).cloned()
    }
}

/// A place in a stream.
#[derive(Debug)]
pub(super) struct Reader {
    log: Arc<Log>,
    at: u64,
    closed: u64,
    changed: watch::Receiver<Marks>,
}

impl Reader {
    /// Reads after the message with this number.
    pub(super) fn new(log: &Arc<Log>, at: u64) -> Self {
        let changed = log.changed.subscribe();
        log.readers.fetch_add(1, Ordering::Relaxed);
        let closed = changed.borrow().closed;
        Self { log: Arc::clone(log), at, closed, changed }
    }

    /// Reads what is added from now on.
    pub(super) fn of_future(log: &Arc<Log>) -> Self {
        let newest = log.changed.borrow().newest;
        Self::new(log, newest)
    }

    /// Returns the next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Arc<str>> {
        loop {
            let marks = *self.changed.borrow_and_update();
            if marks.closed != self.closed {
                return None;
            }
            if let Some((number, text)) = self.log.after(self.at) {
                self.at = number;
                return Some(text);
            }
            if marks.ended {
                return None;
            }
            self.changed.changed().await.ok()?;
        }
    }

    /// Returns true if the message that was read last is the last one of the stream.
    pub(super) fn is_at_end(&self) -> bool {
        let marks = self.changed.borrow();
        marks.ended && marks.newest == self.at
    }
}

/// Format of the messages of a stream.
#[derive(Debug, Clone)]
pub(super) struct Events {
    /// Name of the stream, if a client can come back to it.
    pub(super) name: Option<u64>,
    /// Begin with an event without a message, so that a client can come back before the first one.
    pub(super) is_primed: bool,
    /// A message that was read already.
    pub(super) first: Option<Arc<str>>,
    /// The longest silence.
    pub(super) keep_alive: Duration,
}

impl Events {
    /// Writes a stream as events, as far as it is read.
    pub(super) fn write<T: Send + 'static>(
        self,
        reader: Reader,
        keep: T,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let start = self.is_primed.then(|| {
            let at = reader.at - u64::from(self.first.is_some());
            let id = self.id(at);
            Event { id: id.as_deref(), retry_ms: Some(RETRY), ..Event::default() }.to_bytes()
        });
        let first = self.first.clone().map(|text| self.event(reader.at, &text));
        let begin = futures_util::stream::iter(start.into_iter().chain(first));
        let silence = self.keep_alive;
        let rest = futures_util::stream::unfold((reader, keep), move |(mut reader, keep)| {
            let events = self.clone();
            async move {
                let text = reader.next().await?;
                Some((events.event(reader.at, &text), (reader, keep)))
            }
        });
        keep_alive(Box::pin(futures_util::StreamExt::chain(begin, rest)), silence)
    }

    fn event(&self, number: u64, text: &str) -> Bytes {
        let id = self.id(number);
        let name = Some("message");
        Event { id: id.as_deref(), name, data: text, ..Event::default() }.to_bytes()
    }

    fn id(&self, number: u64) -> Option<String> {
        self.name.map(|name| format!("{name}-{number}"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use pi_jsonrpc::Message;

    use super::*;

    #[tokio::test]
    async fn a_silent_stream_shows_that_it_is_alive() {
        let log = Arc::new(Log::default());
        let keep_alive = Duration::from_millis(1);
        let events = Events { name: Some(7), is_primed: false, first: None, keep_alive };
        let mut written = Box::pin(events.write(Reader::new(&log, 0), ()));
        assert_eq!(written.next().await.as_deref(), Some(b":\n\n".as_slice()));
        log.finish(&Message::notification("n", None));
        let event = loop {
            let bytes = written.next().await.expect("an event");
            if bytes.as_ref() != b":\n\n" {
                break bytes;
            }
        };
        assert!(event.starts_with(b"id: 7-1\n"), "{event:?}");
        assert_eq!(written.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_abandoned_if_no_reader_comes_back() {
        let log = Arc::new(Log::default());
        let reader = Reader::new(&log, 0);
        let patience = Duration::from_secs(60);
        let abandoned = tokio::spawn({
            let log = Arc::clone(&log);
            async move { log.abandoned(patience).await }
        });
        tokio::time::sleep(patience * 10).await;
        assert!(!abandoned.is_finished());
        drop(reader);
        tokio::time::sleep(patience / 2).await;
        // A reader that comes back in time begins a new time.
        drop(Reader::new(&log, 0));
        tokio::time::sleep(patience - Duration::from_secs(1)).await;
        assert!(!abandoned.is_finished());
        abandoned.await.expect("abandoned");
    }
}
