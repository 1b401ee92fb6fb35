//! The driver: sends the request of a wire format and feeds its decoder, once for all formats.
//!
//! Time-outs, retries, redirects, content encodings and error bodies are decided here and nowhere
//! else. It knows no provider and no format beyond the [`WireFormat`](crate::wire::WireFormat)
//! trait. `client` owns the connection pool, `connect` gets an answer to begin, `source` reads it,
//! `redact` keeps keys out of error texts.

mod client;
mod connect;
mod encoding;
mod redact;
mod retry;
mod source;

pub(crate) use client::HttpClient;
pub(crate) use connect::{Failure, Opened, open};
pub(crate) use redact::{RedactFn, Redacted, redacted};
pub(crate) use source::{Exchange, HttpSource};
