//! A client of one server, of either era.
//!
//! [`Client::connect`] finds out which era the server speaks and returns a handle. `request` sends
//! one request, with its time limit, progress, cancellation and questions of the server. `lists`,
//! `tools`, `tasks` and `subscriptions` are built on it. What the server sends by itself is in
//! `inbox`, and how messages travel in [`crate::transport`].

mod connect;
mod lists;
mod methods;
mod options;
mod request;
mod subscriptions;
mod tasks;
mod tool_headers;
mod tools;
mod urls;

use std::sync::{Arc, Mutex, RwLock};

pub use lists::{List, json_size};
pub use options::{CallOptions, ClientOptions};

pub use crate::error::{ClientError, ConnectError};
use crate::inbox::Inbox;
pub use crate::inbox::{Changed, Handler};
use crate::protocol::{Era, Implementation, LoggingLevel, ServerCapabilities};
use crate::transport::Link;
use pi_base::unpoisoned;
use subscriptions::Subscriptions;
use tools::KnownTools;

/// Facts about a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Era of the conversation.
    pub era: Era,
    /// Version of the conversation.
    pub version: String,
    /// Name and version of the server.
    pub server: Option<Implementation>,
    /// Capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for models that use the server.
    pub instructions: Option<String>,
}

/// A connection to a server. Clones share it; it ends with [`Client::close`] or the last clone.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: Link,
    inbox: Arc<Inbox>,
    options: ClientOptions,
    facts: RwLock<Facts>,
    /// Level of log messages that a modern request asks for.
    log_level: Mutex<Option<LoggingLevel>>,
    tools: Mutex<KnownTools>,
    subscriptions: Arc<Subscriptions>,
    /// Held during a new handshake.
    renewing: tokio::sync::Mutex<()>,
}

impl Client {
    /// Returns what is known of the server.
    pub fn facts(&self) -> Facts {
        unpoisoned(self.0.facts.read()).clone()
    }

    /// Returns true if the connection ended.
    pub fn is_closed(&self) -> bool {
        self.0.link.is_closed()
    }

    /// Ends the connection. Open requests fail.
    pub async fn close(&self) {
        self.0.inbox.stop();
        self.0.link.close().await;
    }

    fn era(&self) -> Era {
        unpoisoned(self.0.facts.read()).era
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.inbox.stop();
        self.link.abandon();
    }
}
