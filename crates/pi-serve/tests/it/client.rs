//! A client of the socket of a server: frames as JSON.
//!
//! It knows the transport and no command; what frames mean is the caller's.

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use pi_web::client::{WebClient, WebError};
use pi_web::http::header::AUTHORIZATION;
use pi_web::http::{HeaderMap, HeaderValue, Method};
use pi_web::websocket::{Handshake, Message, SocketError, WebSocket};
use serde_json::Value;

/// Reasons why a connection fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ClientError {
    /// The server cannot be reached.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The server refused the connection.
    #[error("the server answered with status {status}: {message}")]
    Refused {
        /// Status code.
        status: u16,
        /// Message of the server.
        message: String,
    },
    /// The server is none of pi, or the connection broke.
    #[error("{0}")]
    Socket(String),
    /// The token cannot be part of a header.
    #[error("the token has characters that no token has")]
    Token,
}

/// The sending half of a connection.
#[allow(missing_debug_implementations)] // The socket has none.
pub(crate) struct Sender(SplitSink<WebSocket, Message>);

/// The receiving half of a connection.
#[allow(missing_debug_implementations)] // The socket has none.
pub(crate) struct Receiver(SplitStream<WebSocket>);

/// Connects to the server at an address such as `http://127.0.0.1:7317`.
pub(crate) async fn connect(
    web: &WebClient,
    server: &str,
    token: &str,
) -> Result<(Sender, Receiver), ClientError> {
    let url = format!("{}/api/v1/rpc", server.trim_end_matches('/'));
    let pool = web.upgradable_pool(&url, None)?;
    let mut headers = HeaderMap::new();
    let mut bearer =
        HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::Token)?;
    bearer.set_sensitive(true);
    headers.insert(AUTHORIZATION, bearer);
    let handshake = Handshake::begin(&mut headers).map_err(ClientError::Socket)?;
    let mut response = pool.send(Method::GET, &url, headers, None).await?;
    let status = response.status().as_u16();
    if status != 101 {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |name: &str| body["error"][name].as_str().map(str::to_owned);
        let hint = text("hint").map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = text("message").unwrap_or_else(|| "no reason was given".to_owned());
        return Err(ClientError::Refused { status, message: format!("{message}{hint}") });
    }
    let socket = handshake.finish(response).await.map_err(ClientError::Socket)?;
    let (sender, receiver) = socket.split();
    Ok((Sender(sender), Receiver(receiver)))
}

impl Sender {
    /// Sends a frame.
    pub(crate) async fn send(&mut self, frame: &Value) -> Result<(), ClientError> {
        self.0.send(Message::text(frame.to_string())).await.map_err(|error| broken(&error))
    }
}

impl Receiver {
    /// Waits for the next frame. `None` when the server has closed the connection. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Option<Result<Value, ClientError>> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => {
                    let frame = serde_json::from_str(text.as_str());
                    return Some(frame.map_err(|error| ClientError::Socket(error.to_string())));
                }
                Ok(Message::Close(Some(frame))) if !frame.reason.is_empty() => {
                    return Some(Err(ClientError::Socket(frame.reason.to_string())));
                }
                Ok(Message::Close(_)) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(broken(&error))),
            }
        }
    }
}

fn broken(error: &SocketError) -> ClientError {
    ClientError::Socket(format!("the connection to the server broke: {error}"))
}
