//! Failed exchanges, as data and as text.

use std::error::Error;
use std::io;

/// The reason why an exchange failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct WebError {
    /// Description: the innermost cause.
    pub message: String,
    /// Name of the system error, such as `ECONNREFUSED`.
    pub code: Option<&'static str>,
    /// The part of the exchange that failed.
    pub kind: WebErrorKind,
}

/// The part of an exchange that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebErrorKind {
    /// The request is invalid, or TLS or the proxy cannot be set up. Nothing was sent.
    Request,
    /// The address is not a URL. Nothing was sent.
    InvalidUrl,
    /// The connection could not be established in time.
    TimedOut,
    /// The connection could not be established.
    Connect,
    /// The connection broke, or the response is damaged.
    Exchange,
}

impl WebError {
    /// Creates an error without a cause in the system.
    pub(crate) fn new(kind: WebErrorKind, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, kind }
    }

    /// Describes an error by its innermost cause, with the name of a system error.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        let mut code = None;
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                code = code.or_else(|| name_of(io.kind()));
            }
            source = cause.source();
        }
        let message = cause(error);
        if code.is_none() && message.contains("failed to lookup address") {
            code = Some("ENOTFOUND");
        }
        let kind = if error.is_builder() {
            WebErrorKind::InvalidUrl
        } else if error.is_timeout() {
            WebErrorKind::TimedOut
        } else if error.is_connect() {
            WebErrorKind::Connect
        } else {
            WebErrorKind::Exchange
        };
        Self { message, code, kind }
    }
}

fn name_of(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as K;
    match kind {
        K::ConnectionRefused => Some("ECONNREFUSED"),
        K::ConnectionReset => Some("ECONNRESET"),
        K::ConnectionAborted => Some("ECONNABORTED"),
        K::TimedOut => Some("ETIMEDOUT"),
        K::HostUnreachable => Some("EHOSTUNREACH"),
        K::NetworkUnreachable => Some("ENETUNREACH"),
        K::BrokenPipe => Some("EPIPE"),
        _ => None,
    }
}

/// Returns the innermost cause: "connection refused" is more useful than "error sending request".
pub fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Returns host and port of a URL, for error texts.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
