//! Ways to reach a server: pipes and streamable HTTP.
//!
//! A transport carries messages. It knows neither lists nor tools; what the server sends by itself
//! goes to the inbox of the client.

mod authorization;
mod stdio;

use std::sync::Arc;

use pi_jsonrpc::{Connection, Id, Message};
use serde_json::{Value, json};

pub use authorization::{Authorization, Challenge, Verdict};
pub use stdio::Stdio;

use crate::client::ClientError;
use crate::client::incoming::Inbox;
use crate::protocol::methods;

/// A way to reach a server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Transport {
    /// Pipes of a process, or any other pair of streams.
    Stdio(Stdio),
}

/// A request as it leaves.
pub(crate) struct Outgoing<'a> {
    /// Name of the method.
    pub(crate) method: &'a str,
    /// Makes the parameters from the id of the request.
    pub(crate) params: Box<dyn FnOnce(&Id) -> Value + Send + 'a>,
}

/// An open way to a server.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    Stdio(Connection),
}

impl Transport {
    /// Opens the way. What the server sends by itself goes to `inbox`.
    pub(crate) fn open(self, inbox: &Arc<Inbox>) -> Link {
        match self {
            Self::Stdio(stdio) => Link::Stdio(stdio.open(inbox)),
        }
    }
}

impl Link {
    /// Sends a request and waits for its result, without a time limit.
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Value, ClientError> {
        match self {
            Self::Stdio(connection) => {
                let Outgoing { method, params, .. } = outgoing;
                let pending = connection.start(method, |id| Some(params(id))).await?;
                Ok(pending.response().await?)
            }
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(
        &self,
        method: &str,
        params: Option<Value>,
    ) -> Result<(), ClientError> {
        match self {
            Self::Stdio(connection) => Ok(connection.notify(method, params).await?),
        }
    }

    /// Tells the server that a request is not wanted any more, without waiting.
    pub(crate) fn cancel(&self, id: &Id, reason: &str) {
        let params = json!({ "requestId": id, "reason": reason });
        match self {
            Self::Stdio(connection) => {
                connection.try_send(Message::notification(methods::CANCELLED, Some(params)));
            }
        }
    }

    /// Returns true for pipes, whose server may be slow to start.
    pub(crate) fn is_stdio(&self) -> bool {
        matches!(self, Self::Stdio(_))
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stdio(connection) => connection.is_closed(),
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        self.abandon();
    }

    /// Ends the connection without waiting.
    pub(crate) fn abandon(&self) {
        match self {
            Self::Stdio(connection) => connection.close(),
        }
    }
}
