//! The server's half of the handshake (RFC 6455, section 4.2).

use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::{WebSocket, accepted};
use crate::connection::Upgraded;
use crate::server::{Body, Refusal, empty, single};

/// A socket that opens when the response of [`accept`] was sent.
#[derive(Debug)]
pub struct Opening(OnUpgrade);

/// Accepts the handshake of a request. The gate comes first: browsers let every page open sockets.
pub fn accept<B>(request: &mut Request<B>) -> Result<(Response<Body>, Opening), Refusal> {
    let key = check(request.method(), request.headers())?;
    let invalid = |_| Refusal::new(StatusCode::BAD_REQUEST, "The WebSocket key is invalid");
    let proof = HeaderValue::from_str(&accepted(key)).map_err(invalid)?;
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, proof);
    Ok((response, Opening(hyper::upgrade::on(request))))
}

/// Checks a handshake. Returns its key.
fn check<'a>(method: &Method, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
    let has = |name: &str, token: &str| {
        let value = single(headers, name).unwrap_or_default();
        value.split(',').any(|one| one.trim().eq_ignore_ascii_case(token))
    };
    if method != Method::GET
        || !has(CONNECTION.as_str(), "upgrade")
        || !has(UPGRADE.as_str(), "websocket")
    {
        let refusal =
            Refusal::new(StatusCode::UPGRADE_REQUIRED, "A WebSocket handshake is required");
        return Err(refusal.with_header(UPGRADE, HeaderValue::from_static("websocket")));
    }
    if single(headers, SEC_WEBSOCKET_VERSION.as_str()) != Some("13") {
        let refusal =
            Refusal::new(StatusCode::UPGRADE_REQUIRED, "The WebSocket version must be 13");
        return Err(refusal.with_header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")));
    }
    single(headers, SEC_WEBSOCKET_KEY.as_str())
        // 16 bytes in base64.
        .filter(|key| key.len() == 24)
        .ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "The WebSocket key is invalid"))
}

impl Opening {
    /// Waits for the connection and opens the socket on it. Messages of more than `limit` bytes
    /// close the socket with an error. Fails if the client has gone.
    pub async fn open(self, limit: usize) -> Result<WebSocket, String> {
        let upgraded = self.0.await.map_err(|error| error.to_string())?;
        let config =
            WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
        let connection: Upgraded = Box::new(TokioIo::new(upgraded));
        Ok(WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).await)
    }
}
