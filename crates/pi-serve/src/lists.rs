//! The lists of the server as they change: sessions that appear, change and go.
//!
//! While a client watches, one task compares the sessions with those that it saw before. Without a
//! watcher it does nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use pi_coding_agent::session_index;
use pi_host::Host;
use pi_session::{ListOptions, SessionIndex};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::summary::Summary;

/// Pause between two looks at the stored sessions, if nothing changes in those that are open.
const STORED: Duration = Duration::from_secs(5);

/// The sessions at a moment, by id.
type Snapshot = Arc<BTreeMap<String, Summary>>;

/// The lists of a server.
#[derive(Debug)]
pub(crate) struct Lists {
    snapshot: watch::Sender<Option<Snapshot>>,
    work: Mutex<Work>,
}

#[derive(Debug, Default)]
struct Work {
    index: Option<SessionIndex>,
    /// The open sessions with their questions, and true for those that are busy. What else changes
    /// in them is seen with the stored ones.
    open: Vec<(String, usize, bool)>,
    listed: Option<Instant>,
}

/// What has changed since the last look.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) changed: Vec<Summary>,
    pub(crate) removed: Vec<String>,
}

/// A watcher of the lists.
#[derive(Debug)]
pub(crate) struct Subscription {
    receiver: watch::Receiver<Option<Snapshot>>,
    seen: Option<Snapshot>,
}

impl Default for Lists {
    fn default() -> Self {
        Self { snapshot: watch::Sender::new(None), work: Mutex::default() }
    }
}

impl Lists {
    /// Returns a watcher. Its first changes are those after the first look that it sees.
    pub(crate) fn subscribe(&self) -> Subscription {
        let mut receiver = self.snapshot.subscribe();
        // What was seen before there was a watcher may be old.
        if self.snapshot.receiver_count() == 1 {
            self.snapshot.send_replace(None);
        }
        receiver.mark_changed();
        Subscription { receiver, seen: None }
    }

    /// Looks at the sessions, if a client watches.
    pub(crate) async fn look(self: &Arc<Self>, host: &Host) {
        if self.snapshot.receiver_count() == 0 {
            return;
        }
        let open = host.open_sessions().into_iter().filter_map(|hosted| {
            let session = hosted.session().ok()?;
            let questions = hosted.ui().open_questions().len();
            Some((session.id(), questions, hosted.is_busy()))
        });
        let mut open: Vec<_> = open.collect();
        open.sort();
        {
            let mut work = lock(&self.work);
            let is_due = work.listed.is_none_or(|listed| listed.elapsed() >= STORED)
                || self.snapshot.borrow().is_none();
            if !is_due && work.open == open {
                return;
            }
            work.open = open;
            work.listed = Some(Instant::now());
        }
        let (shared, listed) = (Arc::clone(self), host.clone());
        let listing = tokio::task::spawn_blocking(move || {
            let mut work = lock(&shared.work);
            let index = work.index.get_or_insert_with(|| {
                let directory = listed.session_directory().map(PathBuf::from);
                session_index(listed.environment(), directory.as_ref())
            });
            index.list(&ListOptions::default()).sessions
        });
        let Ok(stored) = listing.await else { return };
        let mut now: BTreeMap<String, Summary> =
            stored.iter().map(|info| (info.id.clone(), Summary::stored(info))).collect();
        for hosted in host.open_sessions() {
            let Ok(session) = hosted.session() else { continue };
            let id = session.id();
            let info = stored.iter().find(|info| info.id == id);
            now.insert(id, Summary::open(&hosted, &session, info));
        }
        self.snapshot.send_if_modified(|snapshot| {
            let is_new = snapshot.as_deref() != Some(&now);
            if is_new {
                *snapshot = Some(Arc::new(now));
            }
            is_new
        });
    }
}

impl Subscription {
    /// Waits for a look with changes. The first one has none: the client reads the list itself.
    /// Safe to cancel.
    pub(crate) async fn next(&mut self) -> Changes {
        loop {
            if self.receiver.changed().await.is_err() {
                return std::future::pending().await;
            }
            let now = self.receiver.borrow_and_update().clone();
            let Some(now) = now else { continue };
            let before = self.seen.replace(Arc::clone(&now));
            return before.map_or_else(Changes::default, |before| changes(&before, &now));
        }
    }
}

fn changes(before: &BTreeMap<String, Summary>, now: &BTreeMap<String, Summary>) -> Changes {
    let changed = now.iter().filter(|(id, summary)| before.get(*id) != Some(*summary));
    let removed = before.keys().filter(|id| !now.contains_key(*id));
    Changes {
        changed: changed.map(|(_, summary)| summary.clone()).collect(),
        removed: removed.cloned().collect(),
    }
}
