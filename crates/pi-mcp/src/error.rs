//! Failures of a client.

use pi_jsonrpc::{CallError, Error};

use crate::text::shown;

/// The failure of a request. It is a failure of this server only.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error.
    #[error("the server answered: {0}")]
    Remote(#[from] Error),
    /// The connection to the server ended.
    #[error("the connection ended: {0}")]
    Closed(String),
    /// The server did not answer in time.
    #[error("the server did not answer `{method}` within {seconds} s")]
    TimedOut {
        /// Name of the method.
        method: String,
        /// The time limit of the request.
        seconds: u64,
    },
    /// The caller cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    /// A question of the server was refused, and the request cannot go on without an answer.
    #[error("a question of the server was refused: {0}")]
    Refused(String),
    /// The answer does not fit the protocol.
    #[error("invalid answer to `{method}`: {problem}")]
    Invalid {
        /// Name of the method.
        method: String,
        /// Description of the problem.
        problem: String,
    },
    /// The answer is over a limit.
    #[error("the answer of the server is too large: {0}")]
    TooLarge(String),
    /// The server could not be reached.
    #[error("{0}")]
    Network(String),
    /// The server answered with an HTTP error.
    #[error("HTTP {status}{}", excerpt(.body))]
    Http {
        /// Status code of the response.
        status: u16,
        /// Start of the body.
        body: String,
    },
    /// The server requires authorization.
    #[error("{0}")]
    Unauthorized(String),
    /// The server points to another origin, which gets no request.
    #[error("the server redirects to {0}, another origin; use that URL if it is right")]
    Redirected(String),
    /// The server forgot the session.
    #[error("the server ended the session")]
    SessionLost,
}

/// The failure of a connection.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A request failed.
    #[error(transparent)]
    Failed(#[from] ClientError),
    /// The server knows no version that this client knows.
    #[error("the server speaks only unknown versions of the protocol: {0}")]
    Versions(String),
    /// The server ended when it was asked for its era. It must be started again, with
    /// [`ClientOptions::known_era`](crate::client::ClientOptions) set to the legacy era.
    #[error("the server ended at the first request: {0}")]
    EndedAtProbe(String),
}

impl From<CallError> for ClientError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Remote(error) => Self::remote(error),
            CallError::Closed(reason) => Self::Closed(reason),
            CallError::TooLong(length) => Self::TooLarge(format!("{length} bytes")),
        }
    }
}

impl ClientError {
    /// The error of an answer, with a message of bounded length.
    pub(crate) fn remote(mut error: Error) -> Self {
        error.message = shown(&error.message);
        Self::Remote(error)
    }

    /// Returns true if the failure may pass by itself: the network, an overloaded server.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network(_) => true,
            Self::Http { status: 408 | 429, .. } => true,
            Self::Http { status, .. } => (500..600).contains(status) && *status != 501,
            _ => false,
        }
    }
}

fn excerpt(body: &str) -> String {
    let line = body.trim();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// The error of an answer that does not fit the protocol. The problem may quote the answer.
pub(crate) fn invalid(method: &str, problem: &str) -> ClientError {
    ClientError::Invalid { method: method.to_owned(), problem: shown(problem) }
}
