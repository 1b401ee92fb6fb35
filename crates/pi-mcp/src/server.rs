//! A server of both eras of the protocol, over pipes and HTTP.
//!
//! A [`Service`] says what is offered. The server knows the protocol: sessions and requests of old
//! clients, the self-contained requests of modern ones, parked calls, tasks, subscriptions, and the
//! limits of everything that a client can make it keep.
//!
//! - `dispatch` decides what a request means; `call` runs those that take time, and `drive`
//!   delivers what they send.
//! - `envelope` and `http::headers` check modern requests, `session` is the state of old clients.
//! - `pipes` and `http` are the transports.

mod call;
mod client;
mod context;
mod dispatch;
mod drive;
mod envelope;
mod http;
mod listen;
mod parked;
mod pipes;
mod service;
mod session;
mod tasks;

use std::sync::Arc;

use tokio::sync::broadcast;

pub use client::Client;
pub use context::{Answers, Context, Question, QuestionKind};
pub use http::{HttpError, HttpHandler, HttpOptions};
pub use service::{
    About, Change, Listing, Offers, Service, error_result, text_result, unknown_resource,
};

use parked::Parked;
use tasks::Tasks;

/// The revision without sessions.
const MODERN: &str = "2026-07-28";

/// The revisions with sessions, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const CANCELLED: i64 = -32800;

/// The changes that wait for slow listeners.
const CHANGES: usize = 64;

/// A server. Clones are the same one.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    service: Arc<dyn Service>,
    about: About,
    changes: broadcast::Sender<Change>,
    parked: Parked,
    tasks: Tasks,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("about", &self.0.about).finish_non_exhaustive()
    }
}

impl Server {
    /// Makes a server of a service.
    pub fn new(service: Arc<dyn Service>) -> Self {
        let about = service.about();
        let (changes, _) = broadcast::channel(CHANGES);
        let (parked, tasks) = (Parked::default(), Tasks::default());
        Self(Arc::new(Inner { service, about, changes, parked, tasks }))
    }

    /// Tells all clients about a change.
    pub fn changed(&self, change: Change) {
        // A change without a listener is dropped.
        let _ = self.0.changes.send(change);
    }

    fn service(&self) -> &Arc<dyn Service> {
        &self.0.service
    }

    fn about(&self) -> &About {
        &self.0.about
    }

    fn changes(&self) -> &broadcast::Sender<Change> {
        &self.0.changes
    }

    fn parked(&self) -> &Parked {
        &self.0.parked
    }

    fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }
}
