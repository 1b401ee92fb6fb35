//! Requests to servers: connection pools, proxies, TLS and content encodings, for all crates.
//!
//! [`WebClient::send`] is the plain way: one exchange, no redirects, decoded bodies. Drivers of
//! protocols take a [`Pool`] and handle time-outs, retries and failed responses themselves. `pool`
//! owns the connections, `proxy` chooses the route. Must not know a provider or a wire format.

mod encoding;
mod error;
mod pool;
mod proxy;
mod response;
mod retry_after;
mod web;

pub use encoding::Encoding;
pub use error::{WebError, WebErrorKind, cause, host_of};
pub use pool::{Pool, WebClient};
pub use response::{ByteStream, Response};
pub use retry_after::retry_after;
pub use web::{WebBody, WebRequest, WebResponse};
