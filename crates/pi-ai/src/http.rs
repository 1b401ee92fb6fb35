//! The HTTP driver: sends the request of a wire format and feeds its decoder, for all formats.
//!
//! Time-outs, retries, redirects, content encodings and error bodies are handled here and nowhere
//! else. The driver must not know a provider, or a format beyond the
//! [`WireFormat`](crate::wire::WireFormat) trait. `client` owns the connection pool, `proxy` chooses
//! the route, `transport` chooses between HTTP (`connect`) and WebSockets (`websocket`), `source` reads
//! the `body`, `redact` keeps keys out of error texts.

mod body;
mod client;
mod connect;
mod encoding;
mod proxy;
mod redact;
mod retry;
mod signed;
mod source;
mod transport;
pub mod web;
mod websocket;

pub(crate) use client::HttpClient;
pub(crate) use connect::{Failure, OpenResponse, cause, open};
pub(crate) use encoding::Encoding;
pub(crate) use redact::{RedactFn, Redacted, redacted};
pub(crate) use retry::retry_pause;
pub(crate) use source::{Exchange, HttpSource, Refused};
pub(crate) use transport::send;
