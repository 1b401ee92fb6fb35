//! Subscribers: they receive the events of a session one after the other.

use std::sync::{Arc, Mutex, Weak};

use pi_agent::BoxFuture;
use pi_base::lock;

use super::SessionEvent;
use crate::merge_queue::MergeQueue;

/// Receives events; the session waits for each call.
pub trait SessionListener: Send + Sync {
    /// Handles an event.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()>;

    /// Returns true if the listener receives events of progress. Deltas that no one receives are
    /// not built.
    fn wants_progress(&self) -> bool {
        true
    }
}

struct FnListener<F>(F);

impl<F: Fn(&SessionEvent) + Send + Sync> SessionListener for FnListener<F> {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        (self.0)(event);
        Box::pin(std::future::ready(()))
    }
}

/// Gathers events for a reader that the session does not wait for.
impl SessionListener for MergeQueue<SessionEvent> {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        self.push(event.clone());
        Box::pin(std::future::ready(()))
    }
}

/// A list of listeners, which is itself a listener. Clones share it.
#[derive(Clone, Default)]
pub struct Subscribers(Arc<Mutex<Listeners>>);

#[derive(Default)]
struct Listeners {
    next: u64,
    all: Vec<(u64, Arc<dyn SessionListener>)>,
}

impl Subscribers {
    /// Adds a listener that is a synchronous function.
    pub(crate) fn add_fn(
        &self,
        listener: impl Fn(&SessionEvent) + Send + Sync + 'static,
    ) -> Subscription {
        self.add(Arc::new(FnListener(listener)))
    }

    /// Adds a listener.
    pub fn add(&self, listener: Arc<dyn SessionListener>) -> Subscription {
        let mut listeners = lock(&self.0);
        listeners.next += 1;
        let id = listeners.next;
        listeners.all.push((id, listener));
        Subscription { listeners: Arc::downgrade(&self.0), id }
    }

    /// Sends an event to all listeners in order.
    pub(crate) async fn emit(&self, event: &SessionEvent) {
        let listeners: Vec<_> =
            lock(&self.0).all.iter().map(|(_, listener)| Arc::clone(listener)).collect();
        for listener in listeners {
            if !event.is_progress() || listener.wants_progress() {
                listener.on_event(event).await;
            }
        }
    }
}

impl SessionListener for Subscribers {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.emit(event))
    }

    fn wants_progress(&self) -> bool {
        lock(&self.0).all.iter().any(|(_, listener)| listener.wants_progress())
    }
}

impl std::fmt::Debug for Subscribers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscribers").field(&lock(&self.0).all.len()).finish()
    }
}

/// Removes its listener when dropped, unless it is kept with [`Subscription::forever`].
#[must_use = "dropping it removes the listener"]
pub struct Subscription {
    listeners: Weak<Mutex<Listeners>>,
    id: u64,
}

impl Subscription {
    /// Keeps the listener for as long as its subject lives.
    pub fn forever(mut self) {
        self.listeners = Weak::new();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(listeners) = self.listeners.upgrade() {
            lock(&listeners).all.retain(|(id, _)| *id != self.id);
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscription").field(&self.id).finish()
    }
}
