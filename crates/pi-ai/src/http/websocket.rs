//! Sends a request over a WebSocket and waits for the first event of the answer.
//!
//! `handshake` opens a socket, `cache` keeps it between the requests of a session, `body` reads the
//! answer. The meaning of frames is in [`wire::socket`](crate::wire::socket).
//!
//! Everything that can be tried again happens before the first event: a socket that was closed while
//! it waited is replaced, a response that the server has forgotten is sent whole, and a socket that
//! is too old is replaced. Each is tried once. Any other failure of the connection is left to the
//! caller, who can send the request over HTTP.

mod body;
mod cache;
mod handshake;

#[cfg(test)]
mod tests;

use std::time::Instant;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_protocol::StreamOptions;
use pi_web::client::cause;
use pi_web::websocket::{Message, SocketError, Utf8Bytes, WebSocket};

use super::HttpClient;
use super::connect::{first_byte_text, within};
use crate::wire::HttpFailure;
use crate::wire::socket::{Answered, Opening, Recording, SocketRequest};

pub(super) use body::SocketBody;
use cache::Lease;
pub(super) use cache::SocketCache;

/// The reason why a socket gives no answer.
pub(super) enum SocketFailure {
    /// The server refused the request.
    Refused(HttpFailure),
    /// The connection failed before the first event.
    Transport(String),
    /// A hook of the request failed.
    Hook(String),
}

/// A socket for one request.
struct Connection {
    socket: WebSocket,
    /// The right to keep the socket for the next request.
    lease: Option<Lease>,
    /// The last answer of the socket.
    answered: Option<Answered>,
    /// True if the socket was used before.
    is_reused: bool,
}

/// Sends `request`. With `continues`, only what is new since the last answer of the socket.
pub(super) async fn open(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
    continues: bool,
) -> Result<SocketBody, SocketFailure> {
    let mut connection = connect(http, request, options).await?;
    let (mut may_resend, mut may_reconnect) = (true, true);
    loop {
        let answered = connection.answered.take().filter(|_| continues);
        let sent = Instant::now();
        let first = exchange(&mut connection.socket, request, answered.as_ref(), options).await;
        let first = match first {
            Ok(first) => first,
            Err(_) if connection.is_reused => {
                connection = reconnect(http, request, options, connection.lease).await?;
                continue;
            }
            Err(text) => return Err(SocketFailure::Transport(text)),
        };
        let status = match Opening::of(&first) {
            Opening::Answer => {
                let Connection { socket, lease, .. } = connection;
                let mut recording = Recording::new(&request.body);
                recording.event(&first);
                return Ok(SocketBody::new(socket, first, sent, lease, recording));
            }
            Opening::UnknownPrevious if may_resend => {
                may_resend = false;
                continue;
            }
            Opening::ConnectionLimit if may_reconnect => {
                may_reconnect = false;
                connection = reconnect(http, request, options, connection.lease).await?;
                continue;
            }
            Opening::UnknownPrevious => 400,
            Opening::ConnectionLimit => 429,
            Opening::Refused(status) => status,
        };
        return Err(SocketFailure::Refused(HttpFailure::new(status, first.to_string())));
    }
}

/// Returns the kept socket of the session, or a new one.
async fn connect(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
) -> Result<Connection, SocketFailure> {
    let lease = match &request.key {
        Some(key) => http.sockets.lease(key).await,
        None => cache::Leased::default(),
    };
    if let Some(kept) = lease.kept {
        let (socket, answered) = (kept.socket, kept.answered);
        return Ok(Connection { socket, lease: lease.lease, answered, is_reused: true });
    }
    reconnect(http, request, options, lease.lease).await
}

/// Opens a new socket, for the holder of `lease`.
async fn reconnect(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
    mut lease: Option<Lease>,
) -> Result<Connection, SocketFailure> {
    let socket = handshake::open(http, request, options).await?;
    if let Some(lease) = &mut lease {
        lease.restart();
    }
    Ok(Connection { socket, lease, answered: None, is_reused: false })
}

/// Sends the frame of a request and returns the first frame of the answer.
async fn exchange(
    socket: &mut WebSocket,
    request: &SocketRequest,
    answered: Option<&Answered>,
    options: &StreamOptions,
) -> Result<Utf8Bytes, String> {
    let frame = request.frame(answered).to_string();
    let answer = async {
        socket.send(Message::text(frame)).await.map_err(|error| failed(&error))?;
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(close))) => return Err(body::closed(close)),
                Some(Ok(Message::Binary(_))) => {
                    return Err("WebSocket error: the server sent a binary message".to_owned());
                }
                // Tungstenite answers pings.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(failed(&error)),
                None => return Err(body::closed(None)),
            }
        }
    };
    match within(options.timeouts.first_byte, answer).await {
        Some(answer) => answer,
        None => Err(first_byte_text(&options.timeouts)),
    }
}

/// Returns the text of a failed socket.
fn failed(error: &SocketError) -> String {
    format!("WebSocket error: {}", cause(error))
}
