//! The newest items of a feed, in memory. Pure: no clock, no I/O, no waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_coding_agent::session::SessionEvent;

use super::source::Source;

/// Items that are kept for readers, besides the message in flight.
const RECENT: usize = 256;

/// Most items that are kept. A message in flight with more of them is not held as a whole: a reader
/// that comes in the middle gets it when it is complete.
const MOST: usize = 16 * 1024;

/// A step of a feed.
#[derive(Clone)]
pub(super) enum Item {
    /// The log has this many entries.
    Grown(u64),
    Event(Arc<SessionEvent>),
    /// The feed continues with another log.
    Replaced(Arc<Source>),
    /// The same log was opened anew.
    Reopened(Arc<Source>),
}

/// A position in a feed: everything that precedes item `index`.
#[derive(Clone)]
pub(super) struct Position {
    pub(super) index: u64,
    pub(super) source: Arc<Source>,
    /// Number of entries of the log at this position.
    pub(super) length: u64,
}

impl Position {
    fn step(&mut self, item: &Item) {
        self.index += 1;
        match item {
            // A signal may overtake another one; a log never shrinks.
            Item::Grown(length) => self.length = self.length.max(*length),
            Item::Event(_) => {}
            Item::Replaced(source) => {
                self.source = Arc::clone(source);
                self.length = 0;
            }
            Item::Reopened(source) => self.source = Arc::clone(source),
        }
    }
}

/// The ring.
pub(super) struct Ring {
    items: VecDeque<Item>,
    /// The position of the first item.
    oldest: Position,
    /// The position after the last item.
    newest: Position,
    /// The position of the first item of the message in flight.
    flight: Option<Position>,
    closed: bool,
}

impl Ring {
    pub(super) fn new(source: Arc<Source>) -> Self {
        let start = Position { index: 0, source, length: 0 };
        Self {
            items: VecDeque::new(),
            oldest: start.clone(),
            newest: start,
            flight: None,
            closed: false,
        }
    }

    /// Returns the number of items that were ever in the ring.
    pub(super) fn end(&self) -> u64 {
        self.newest.index
    }

    /// Returns the log of the current session.
    pub(super) fn source(&self) -> &Arc<Source> {
        &self.newest.source
    }

    pub(super) fn newest(&self) -> &Position {
        &self.newest
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Adds an item, and drops those that are no longer needed.
    pub(super) fn push(&mut self, item: Item) {
        match &item {
            Item::Event(event) => match &**event {
                SessionEvent::MessageStart { .. } => self.flight = Some(self.newest.clone()),
                SessionEvent::MessageEnd { .. } | SessionEvent::AgentSettled { .. } => {
                    self.flight = None;
                }
                _ => {}
            },
            Item::Replaced(_) | Item::Reopened(_) => self.flight = None,
            Item::Grown(_) => {}
        }
        self.newest.step(&item);
        self.items.push_back(item);
        let kept = self.flight.as_ref().map_or(self.newest.index, |flight| flight.index);
        while self.items.len() > MOST || (self.items.len() > RECENT && self.oldest.index < kept) {
            let Some(dropped) = self.items.pop_front() else { break };
            self.oldest.step(&dropped);
        }
    }

    /// Returns the item at an index: `Err` if it was dropped, `Ok(None)` if it does not exist yet.
    pub(super) fn get(&self, index: u64) -> Result<Option<Item>, Lost> {
        let at = index.checked_sub(self.oldest.index).ok_or(Lost)?;
        Ok(usize::try_from(at).ok().and_then(|at| self.items.get(at)).cloned())
    }

    /// Returns where a reader without a position starts: at the message in flight, if all of it is
    /// held, or after the last item.
    pub(super) fn entrance(&self) -> Position {
        match &self.flight {
            Some(flight) if flight.index >= self.oldest.index => flight.clone(),
            _ => self.newest.clone(),
        }
    }
}

/// The item is not in the ring any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;
