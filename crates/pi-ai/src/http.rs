//! The HTTP driver: sends the request of a wire format and feeds its decoder, for all formats.
//!
//! Time-outs, retries and error bodies are handled here and nowhere else; connections, proxies and
//! content encodings are those of [`pi_web::client`]. The driver must not know a provider, or a format
//! beyond the [`WireFormat`](crate::wire::WireFormat). `transport` chooses between HTTP
//! (`connect`) and WebSockets (`websocket`), `source` reads the `body`, `redact` keeps keys out of
//! error texts.

mod body;
mod connect;
mod redact;
mod retry;
mod signed;
mod source;
mod transport;
mod websocket;

use connect::{OpenResponse, open};
use pi_web::WebClient;
use websocket::SocketCache;

pub(crate) use connect::Failure;
pub(crate) use redact::{RedactFn, Redacted, redacted};
pub(crate) use source::{Exchange, HttpSource, Refused};
pub(crate) use transport::send;

/// The connections of a client. Clones share them.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) web: WebClient,
    /// The WebSockets that stay open.
    sockets: SocketCache,
}

impl HttpClient {
    /// Creates a client without open WebSockets.
    pub(crate) fn new(web: WebClient) -> Self {
        Self { web, sockets: SocketCache::default() }
    }
}
