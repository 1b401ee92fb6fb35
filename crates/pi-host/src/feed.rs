//! The feed of a session: everything that happened and happens, for any number of readers.
//!
//! The log is the stream. An entry has a sequence number, its position in the log, which is the
//! same in every process; a reader that names the last number it has seen continues after it. What
//! is never stored, such as the deltas of an answer, reaches the readers of the moment through a
//! ring in memory. The ring always holds the message in flight, so a reader that comes in the
//! middle of an answer gets all of it.
//!
//! The session never waits for a reader. A reader that falls behind the ring is told so
//! ([`FeedItem::Lagged`]), reads what it missed from the log, and gets the message in flight again.
//!
//! The feed must not know transports: a server turns items into frames.

mod reader;
mod ring;
mod source;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::session::{SessionEvent, Subscription};
use pi_coding_agent::{AgentRuntime, AgentSession};
use pi_session::GrowthListener;
use tokio::sync::watch;

pub use reader::FeedReader;
use ring::{Item, Ring};
use source::Source;

/// An item of a feed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FeedItem {
    /// An entry of the log. Its line is exactly the line of the file.
    Entry {
        /// Sequence number of the entry in its session, from 0.
        sequence: u64,
        /// The line, without its end.
        line: Arc<str>,
    },
    /// An event of the moment. It has no number and is not repeated.
    Event(Arc<SessionEvent>),
    /// The reader was too slow, and events were dropped. It discards the message in flight. The
    /// entries that it missed follow, then the message in flight from its beginning.
    Lagged,
    /// Another session became the current one. Sequence numbers begin anew, with its first entry.
    Replaced {
        /// Id of the new session.
        id: String,
        /// File of the new session; `None` for a session in memory.
        file: Option<PathBuf>,
    },
}

/// Position at which a reader starts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// Before the first entry.
    Beginning,
    /// After an entry that the reader has seen. If another session is the current one by now, the
    /// reader is told ([`FeedItem::Replaced`]) and starts at the beginning of that session.
    After {
        /// Id of the session that the reader knows.
        session: String,
        /// Sequence number of the last entry that the reader has seen.
        sequence: u64,
    },
    /// After the last entry, with the message in flight.
    Now,
}

/// The feed of the current session of a runtime. Clones are the same feed.
#[derive(Clone)]
pub struct Feed(Arc<Shared>);

struct Shared {
    ring: Mutex<Ring>,
    /// Number of items that were ever in the ring; wakes readers.
    grown: watch::Sender<u64>,
    /// The subscription of events, until the feed is closed.
    subscription: Mutex<Option<Subscription>>,
}

impl Feed {
    /// Creates the feed of a runtime. It follows the runtime until it is closed or dropped.
    pub fn new(runtime: &AgentRuntime) -> Self {
        let feed = Self(Arc::new(Shared {
            ring: Mutex::new(Ring::new(Source::of(&runtime.session()))),
            grown: watch::Sender::new(0),
            subscription: Mutex::default(),
        }));
        feed.follow(runtime);
        feed
    }

    /// Follows another runtime, for example one with the same session under another profile.
    pub fn follow(&self, runtime: &AgentRuntime) {
        let (listener, followed) = (Arc::downgrade(&self.0), runtime.downgrade());
        let subscription = runtime.subscribe(move |event| {
            let (Some(shared), Some(runtime)) = (listener.upgrade(), followed.upgrade()) else {
                return;
            };
            shared.keep_up(&runtime.session());
            shared.push(Item::Event(Arc::new(event.clone())));
        });
        let earlier = lock(&self.0.subscription).replace(subscription);
        // Outside of the lock: the subscription removes itself from its runtime.
        drop(earlier);
        let session = runtime.session();
        self.0.keep_up(&session);
        self.0.attach(&session);
    }

    /// Returns the id of the current log.
    pub fn log_id(&self) -> String {
        self.0.ring().source().id.clone()
    }

    /// Returns a reader.
    pub fn read(&self, start: Start) -> FeedReader {
        FeedReader::new(Arc::clone(&self.0), start)
    }

    /// Ends the feed. Readers get everything up to here, and then the end.
    pub fn close(&self) {
        // Outside of the lock: the subscription removes itself from its runtime.
        let subscription = lock(&self.0.subscription).take();
        drop(subscription);
        let source = Arc::clone(self.0.ring().source());
        let length = source.length();
        let mut ring = self.0.ring();
        ring.push(Item::Grown(length));
        ring.close();
        let end = ring.end();
        drop(ring);
        self.0.grown.send_replace(end);
    }
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        lock(&self.ring)
    }

    fn push(&self, item: Item) {
        let end = {
            let mut ring = self.ring();
            ring.push(item);
            ring.end()
        };
        self.grown.send_replace(end);
    }

    /// Notes that a session replaced the one before, if it did.
    fn keep_up(self: &Arc<Self>, session: &AgentSession) {
        let known = Arc::clone(self.ring().source());
        if known.is(session) {
            return;
        }
        let source = Source::of(session);
        let is_same = source.id == known.id;
        self.push(if is_same { Item::Reopened(source) } else { Item::Replaced(source) });
        self.attach(session);
    }

    /// Follows the log of a session. The first signal is its length now, so that nothing that was
    /// appended before is missed.
    fn attach(self: &Arc<Self>, session: &AgentSession) {
        let weak = Arc::downgrade(self);
        session.with_log(|log| {
            log.set_growth_listener(Some(GrowthListener::new(move |length| {
                if let Some(shared) = weak.upgrade() {
                    shared.push(Item::Grown(length as u64));
                }
            })));
            self.push(Item::Grown(log.len() as u64));
        });
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("end", &*self.0.grown.borrow()).finish_non_exhaustive()
    }
}
