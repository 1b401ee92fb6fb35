//! Ways to reach a server: pipes and streamable HTTP.
//!
//! A transport carries messages. It knows neither lists nor tools; what the server sends by itself
//! goes to the inbox of the client.

mod authorization;
mod http;
mod stdio;

use std::sync::Arc;

use pi_jsonrpc::{Connection, Id, Message};
use serde_json::{Value, json};

pub use authorization::{Authorization, Challenge, Verdict};
pub use http::Http;
pub(crate) use http::header_value;
pub use stdio::Stdio;

use crate::error::ClientError;
use crate::inbox::Inbox;
use crate::protocol::{Era, Implementation, methods};

/// A way to reach a server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Transport {
    /// Pipes of a process, or any other pair of streams.
    Stdio(Stdio),
    /// A URL.
    Http(Http),
}

/// A request as it leaves.
pub(crate) struct Outgoing<'a> {
    /// Name of the method.
    pub(crate) method: &'a str,
    /// Makes the parameters from the id of the request.
    pub(crate) params: Box<dyn FnOnce(&Id) -> Value + Send + 'a>,
    /// Era of the request.
    pub(crate) era: Era,
    /// Version of the conversation; `None` before it is known.
    pub(crate) version: Option<&'a str>,
    /// Headers that only HTTP sends.
    pub(crate) headers: Vec<(String, String)>,
}

/// An open way to a server.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    Stdio(Connection),
    Http(Arc<http::HttpLink>),
}

impl Transport {
    /// Opens the way. What the server sends by itself goes to `inbox`.
    pub(crate) fn open(self, inbox: &Arc<Inbox>, info: &Implementation) -> Link {
        match self {
            Self::Stdio(stdio) => Link::Stdio(stdio.open(inbox)),
            Self::Http(http) => Link::Http(http.open(inbox, info)),
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
            // Large, because it reads streams; callers hold it in their own futures.
            Self::Http(http) => Box::pin(http.request(outgoing)).await,
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
            Self::Http(http) => http.post(&Message::notification(method, params)).await,
        }
    }

    /// Tells the server that a request is not wanted any more, without waiting.
    pub(crate) fn cancel(&self, id: &Id, era: Era, reason: &str) {
        match self {
            Self::Stdio(connection) => {
                let params = json!({ "requestId": id, "reason": reason });
                connection.try_send(Message::notification(methods::CANCELLED, Some(params)));
            }
            Self::Http(http) => http.cancel(id, era, reason),
        }
    }

    /// Returns true for pipes, whose server may be slow to start.
    pub(crate) fn is_stdio(&self) -> bool {
        matches!(self, Self::Stdio(_))
    }

    /// Sets the version that the handshake found.
    pub(crate) fn set_version(&self, version: &str) {
        if let Self::Http(http) = self {
            http.set_version(version);
        }
    }

    /// Starts to receive what a legacy server sends by itself. Pipes always do.
    pub(crate) async fn listen(&self) {
        if let Self::Http(http) = self {
            http.listen().await;
        }
    }

    /// Returns the number of the session, which a new handshake changes.
    pub(crate) fn session_number(&self) -> u64 {
        match self {
            Self::Stdio(_) => 0,
            Self::Http(http) => http.session_number(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stdio(connection) => connection.is_closed(),
            Self::Http(http) => http.is_closed(),
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        match self {
            Self::Stdio(connection) => connection.close(),
            Self::Http(http) => http.close().await,
        }
    }

    /// Ends the connection without waiting.
    pub(crate) fn abandon(&self) {
        match self {
            Self::Stdio(connection) => connection.close(),
            Self::Http(http) => http.abandon(),
        }
    }
}
