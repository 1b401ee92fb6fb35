//! WebSockets (RFC 6455): the handshake and the frames, over a connection of this crate's HTTP.
//!
//! The connection is one of the HTTP client, so proxies and TLS are the same, and no other
//! handshake or TLS stack is built. The meaning of messages is the caller's.

pub use tokio_tungstenite::tungstenite::protocol::CloseFrame;
pub use tokio_tungstenite::tungstenite::{Error as SocketError, Message, Utf8Bytes};

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::Handshake;
#[cfg(feature = "server")]
pub use server::{Opening, accept};

/// An open socket: a stream and a sink of messages. Pings are answered with the next write.
pub type WebSocket = tokio_tungstenite::WebSocketStream<crate::connection::Upgraded>;

/// Returns the value of `Sec-WebSocket-Accept` for a key, which proves that the server knows the
/// protocol.
#[cfg(any(feature = "client", feature = "server"))]
fn accepted(key: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

    let proof = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes()))
}
