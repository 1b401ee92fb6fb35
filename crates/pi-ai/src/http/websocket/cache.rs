//! Sockets that stay open between the requests of a session.
//!
//! There is one socket per session and account. A request takes it out and returns it after a
//! complete answer; a request that comes meanwhile gets a socket of its own, which is closed
//! afterwards. While a socket waits, a task reads it: the server's pings must be answered, and a
//! closed socket must not be used.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_base::lock;
use pi_web::websocket::{Message, WebSocket};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::wire::socket::{Answered, SocketKey};

/// A socket that waits longer is closed.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// A socket that is older is not used again: the server closes it after an hour.
const AGE: Duration = Duration::from_secs(55 * 60);

/// The sockets of a client.
#[derive(Clone)]
pub(in crate::http) struct SocketCache {
    sockets: Arc<Mutex<Sockets>>,
    idle: Duration,
    age: Duration,
}

#[derive(Default)]
struct Sockets {
    entries: HashMap<SocketKey, Entry>,
    /// Sessions whose sockets failed, and which use HTTP from then on.
    failed: HashSet<SocketKey>,
}

enum Entry {
    /// A request uses the socket.
    Busy,
    Waiting(Waiting),
}

/// A socket that a task reads.
struct Waiting {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Option<Kept>>,
}

/// A socket between two requests.
pub(super) struct Kept {
    pub(super) socket: WebSocket,
    /// The last answer of the socket.
    pub(super) answered: Option<Answered>,
    opened: Instant,
}

/// The result of taking a socket out.
#[derive(Default)]
pub(super) struct Leased {
    /// The right to return a socket; `None` if another request has it.
    pub(super) lease: Option<Lease>,
    /// The socket, if one was kept.
    pub(super) kept: Option<Kept>,
}

/// The right to keep the socket of a session. Dropped without a socket, it is free for the next
/// request.
pub(super) struct Lease {
    cache: SocketCache,
    key: SocketKey,
    opened: Instant,
    is_returned: bool,
}

impl Default for SocketCache {
    fn default() -> Self {
        Self::with_limits(IDLE, AGE)
    }
}

impl SocketCache {
    /// Creates a cache with these limits on the waiting time and the age of a socket.
    pub(super) fn with_limits(idle: Duration, age: Duration) -> Self {
        Self { sockets: Arc::default(), idle, age }
    }

    /// Returns true if requests of this key go over HTTP.
    pub(in crate::http) fn has_failed(&self, key: Option<&SocketKey>) -> bool {
        key.is_some_and(|key| lock(&self.sockets).failed.contains(key))
    }

    /// Sends later requests of this key over HTTP.
    pub(in crate::http) fn set_failed(&self, key: Option<&SocketKey>) {
        lock(&self.sockets).failed.extend(key.cloned());
    }

    /// Takes the socket of a session out.
    pub(super) async fn lease(&self, key: &SocketKey) -> Leased {
        let waiting = {
            let entries = &mut lock(&self.sockets).entries;
            match entries.insert(key.clone(), Entry::Busy) {
                Some(Entry::Busy) => return Leased::default(),
                Some(Entry::Waiting(waiting)) => Some(waiting),
                None => None,
            }
        };
        let opened = Instant::now();
        let mut lease = Lease { cache: self.clone(), key: key.clone(), opened, is_returned: false };
        let kept = match waiting {
            Some(Waiting { stop, task }) => {
                // The task may have ended by itself.
                let _ = stop.send(());
                task.await.ok().flatten()
            }
            None => None,
        };
        let kept = kept.filter(|kept| kept.opened.elapsed() < self.age);
        if let Some(kept) = &kept {
            lease.opened = kept.opened;
        }
        Leased { lease: Some(lease), kept }
    }
}

impl Lease {
    /// Restarts the age, for a new socket.
    pub(super) fn restart(&mut self) {
        self.opened = Instant::now();
    }

    /// Keeps a socket for the next request.
    pub(super) fn give_back(mut self, socket: WebSocket, answered: Option<Answered>) {
        let Ok(runtime) = Handle::try_current() else { return };
        self.is_returned = true;
        let (stop, stopped) = oneshot::channel();
        let kept = Kept { socket, answered, opened: self.opened };
        let task = runtime.spawn(wait(kept, self.cache.idle, stopped));
        let waiting = Entry::Waiting(Waiting { stop, task });
        lock(&self.cache.sockets).entries.insert(self.key.clone(), waiting);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_returned {
            lock(&self.cache.sockets).entries.remove(&self.key);
        }
    }
}

/// Reads a socket that waits, until a request needs it. Returns `None` if it was closed.
async fn wait(mut kept: Kept, idle: Duration, mut stop: oneshot::Receiver<()>) -> Option<Kept> {
    let limit = tokio::time::sleep(idle);
    tokio::pin!(limit);
    loop {
        tokio::select! {
            stopped = &mut stop => return stopped.ok().map(|()| kept),
            () = &mut limit => {
                let _ = kept.socket.close(None).await;
                return None;
            }
            message = kept.socket.next() => match message {
                // The answer to a ping is sent with the next write.
                Some(Ok(Message::Ping(_))) => kept.socket.flush().await.ok()?,
                Some(Ok(Message::Pong(_))) => {}
                _ => return None,
            },
        }
    }
}
