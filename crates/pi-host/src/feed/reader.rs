//! A reader of a feed: entries from the log, events from the ring, in one order.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_session::SessionError;
use tokio::sync::watch;

use super::ring::{Item, Lost, Position};
use super::source::Source;
use super::{FeedItem, Shared, Start};

/// Entries that are read from the log at a time.
const BATCH: u64 = 64;

/// Reads a feed from a position on. Dropping a reader costs the session nothing.
pub struct FeedReader {
    shared: Arc<Shared>,
    grown: watch::Receiver<u64>,
    /// The next item of the ring.
    index: u64,
    source: Arc<Source>,
    /// The next entry, and the number of entries that precede item `index`.
    next: u64,
    length: u64,
    /// A position in another log that follows when this one is read to its end.
    then: Option<Position>,
    ready: VecDeque<FeedItem>,
}

impl FeedReader {
    pub(super) fn new(shared: Arc<Shared>, start: Start) -> Self {
        let grown = shared.grown.subscribe();
        let (entrance, end) = {
            let ring = shared.ring();
            (ring.entrance(), ring.newest().length)
        };
        let mut ready = VecDeque::new();
        let next = match start {
            Start::Beginning => 0,
            Start::Now => entrance.length,
            Start::After { session, .. } if session != entrance.source.id => {
                ready.push_back(replaced(&entrance.source));
                0
            }
            Start::After { sequence, .. } if sequence < end => sequence + 1,
            // The log is shorter than the reader remembers: its file was exchanged.
            Start::After { .. } => {
                ready.push_back(FeedItem::Lagged);
                0
            }
        };
        let Position { index, source, length } = entrance;
        Self { shared, grown, index, source, next, length, then: None, ready }
    }

    /// Returns the next item. `None` after the feed was closed and everything was read.
    ///
    /// Safe to cancel: no item is lost.
    pub async fn next(&mut self) -> Option<Result<FeedItem, SessionError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            match self.advance() {
                Ok(Advance::Ready) => {}
                Ok(Advance::Ended) => return None,
                // The sender lives as long as `shared`.
                Ok(Advance::Wait) => self.grown.changed().await.unwrap_or_default(),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Makes items ready, without waiting.
    fn advance(&mut self) -> Result<Advance, SessionError> {
        if self.next < self.length {
            return self.read_entries();
        }
        if let Some(position) = self.then.take() {
            self.enter(position);
            return Ok(Advance::Ready);
        }
        // Before the ring is read, so that an item that comes meanwhile ends the wait.
        self.grown.mark_unchanged();
        let ring = self.shared.ring();
        let item = match ring.get(self.index) {
            Ok(Some(item)) => item,
            Ok(None) if ring.is_closed() => return Ok(Advance::Ended),
            Ok(None) => return Ok(Advance::Wait),
            Err(Lost) => {
                let entrance = ring.entrance();
                drop(ring);
                self.catch_up(entrance);
                return Ok(Advance::Ready);
            }
        };
        drop(ring);
        self.index += 1;
        match item {
            Item::Grown(length) => self.length = self.length.max(length),
            Item::Event(event) => self.ready.push_back(FeedItem::Event(event)),
            Item::Reopened(source) => self.source = source,
            // The length of the new log is the next item.
            Item::Replaced(source) => {
                self.leave(Position { index: self.index, source, length: 0 });
            }
        }
        Ok(Advance::Ready)
    }

    /// Continues after items were lost.
    fn catch_up(&mut self, entrance: Position) {
        self.ready.push_back(FeedItem::Lagged);
        if self.source.id == entrance.source.id {
            self.index = entrance.index;
            self.length = self.length.max(entrance.length);
            self.source = entrance.source;
        } else {
            self.leave(entrance);
        }
    }

    /// Leaves the log for another one, after its last entries.
    fn leave(&mut self, position: Position) {
        self.length = self.length.max(self.source.length());
        self.then = Some(position);
    }

    fn enter(&mut self, position: Position) {
        let Position { index, source, length } = position;
        self.ready.push_back(replaced(&source));
        (self.index, self.source, self.next, self.length) = (index, source, 0, length);
    }

    fn read_entries(&mut self) -> Result<Advance, SessionError> {
        let end = self.length.min(self.next + BATCH);
        let range = self.next..end;
        // Passed even if it cannot be read: the reader reports it once and continues.
        self.next = end;
        for (sequence, line) in self.source.lines(range)? {
            self.ready.push_back(FeedItem::Entry { sequence, line });
        }
        Ok(Advance::Ready)
    }
}

fn replaced(source: &Source) -> FeedItem {
    FeedItem::Replaced { id: source.id.clone(), file: source.file.clone() }
}

/// The state of a reader after a step.
enum Advance {
    /// Items may be ready.
    Ready,
    /// Everything is read, for the moment.
    Wait,
    /// Everything is read, and the feed is closed.
    Ended,
}

impl std::fmt::Debug for FeedReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeedReader").field("index", &self.index).field("next", &self.next).finish()
    }
}
