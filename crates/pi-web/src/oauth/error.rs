//! Errors of logins. No error contains a code, a token or a secret.

use std::time::Duration;

use super::interaction::Cancelled;

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OauthError {
    /// The user ended the login.
    #[error("the login was cancelled")]
    Cancelled,
    /// The login is not open to this client.
    #[error("{reason} {instead}")]
    Unavailable {
        /// The reason, as a sentence.
        reason: String,
        /// The way to use the provider nevertheless, as a sentence.
        instead: String,
    },
    /// The description of the service cannot be used.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The service does not offer this kind of login.
    #[error("{service} does not support {method}")]
    Unsupported {
        /// Name of the service.
        service: String,
        /// The kind of login.
        method: &'static str,
    },
    /// The server refused.
    #[error("the authorization server refused: {}", refusal(code, description.as_deref()))]
    Refused {
        /// The error code of the server, such as `access_denied`.
        code: String,
        /// The explanation of the server.
        description: Option<String>,
    },
    /// The login took too long.
    #[error("the login was not completed within {}{hint}", minutes(*limit))]
    Expired {
        /// The time that the login had.
        limit: Duration,
        /// A hint, with a leading separator; may be empty.
        hint: &'static str,
    },
    /// The server could not be reached.
    #[error("{host}: {problem}")]
    Connection {
        /// Host of the server.
        host: String,
        /// The cause.
        problem: String,
    },
    /// The server answered with an error status and without an error code.
    #[error("{host}: HTTP {status}{}", with_colon(body))]
    Status {
        /// Host of the server.
        host: String,
        /// Status code.
        status: u16,
        /// Beginning of the body.
        body: String,
    },
    /// The answer of the server does not make sense.
    #[error("unexpected answer of {host}: {problem}")]
    Answer {
        /// Host of the server.
        host: String,
        /// The problem with the answer.
        problem: String,
    },
    /// An answer does not belong to this login, or comes from another server.
    #[error("the answer was rejected: {0}")]
    Untrusted(String),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers")]
    Random,
    /// The address for the browser's return cannot be opened.
    #[error("cannot listen for the browser on {address}: {problem}")]
    Listen {
        /// Host and ports.
        address: String,
        /// The cause.
        problem: String,
    },
}

impl From<Cancelled> for OauthError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl OauthError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429) || *status >= 500,
            Self::Refused { code, .. } => {
                matches!(code.as_str(), "temporarily_unavailable" | "server_error" | "slow_down")
            }
            _ => false,
        }
    }
}

/// The reason why tokens were not renewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// The tokens are of no use any more: the user has to sign in again.
    #[error("the login has ended: {reason}")]
    SignInAgain {
        /// The reason.
        reason: String,
    },
    /// The tokens could not be renewed now. A later refresh may succeed.
    #[error("the login could not be renewed: {reason}")]
    Transient {
        /// The reason.
        reason: String,
    },
    /// The server does not renew the tokens before this time.
    #[error("the login cannot be renewed yet")]
    TooEarly {
        /// Milliseconds since 1970.
        at: f64,
    },
}

/// The reason why the description of a service cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A URL is malformed, or neither `https` nor on this machine.
    #[error("`{field}` is not usable: {problem}")]
    Url {
        /// Name of the field.
        field: &'static str,
        /// The problem with the URL.
        problem: String,
    },
    /// A field has an invalid value.
    #[error("`{field}` {problem}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The problem with the value.
        problem: String,
    },
    /// Something required is missing.
    #[error("{0}")]
    Missing(String),
}

fn refusal(code: &str, description: Option<&str>) -> String {
    match description {
        Some(description) if !description.is_empty() => format!("{description} ({code})"),
        _ => code.to_owned(),
    }
}

fn minutes(limit: Duration) -> String {
    match limit.as_secs().div_ceil(60) {
        1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

fn with_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
