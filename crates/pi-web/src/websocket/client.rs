//! The client's half of the handshake (RFC 6455, section 4.1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{WebSocket, accepted};
use crate::client::Response;

/// A handshake that was begun. The request is a `GET` of an
/// [`upgradable_pool`](crate::client::WebClient::upgradable_pool).
#[derive(Debug)]
pub struct Handshake {
    key: String,
}

impl Handshake {
    /// Begins a handshake: adds its headers to those of a request.
    pub fn begin(headers: &mut HeaderMap) -> Result<Self, String> {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| "WebSocket error: the system has no random numbers".to_owned())?;
        let key = STANDARD.encode(bytes);
        let value = HeaderValue::from_str(&key).map_err(|error| error.to_string())?;
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(SEC_WEBSOCKET_KEY, value);
        Ok(Self { key })
    }

    /// Takes over the connection of a `101 Switching Protocols`.
    pub async fn finish(self, response: Response) -> Result<WebSocket, String> {
        let answer = response.headers().get(SEC_WEBSOCKET_ACCEPT);
        if answer.map(HeaderValue::as_bytes) != Some(accepted(&self.key).as_bytes()) {
            return Err("WebSocket error: the server did not accept the handshake".to_owned());
        }
        let connection = response.upgrade().await;
        let connection = connection.map_err(|error| format!("WebSocket error: {error}"))?;
        Ok(WebSocketStream::from_raw_socket(connection, Role::Client, None).await)
    }
}
