//! Opens a WebSocket as an upgrade of an HTTP request (RFC 6455, section 4.1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::StreamOptions;
use reqwest::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use reqwest::{Response, StatusCode};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{Socket, SocketFailure};
use crate::http::HttpClient;
use crate::http::connect::{header_map, host_of, notify, read_failure, send_error_text, within};
use crate::wire::socket::SocketRequest;

/// The constant of the protocol that proves that the server knows it.
const PROTOCOL: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Opens a socket. A credential that the server rejects, and a limit, are failures of the request;
/// any other response means that there are no WebSockets.
pub(super) async fn open(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
) -> Result<Socket, SocketFailure> {
    let limit = options.timeouts.websocket_connect;
    match within(limit, upgrade(http, request, options)).await {
        Some(socket) => socket,
        None => Err(SocketFailure::Transport(format!(
            "WebSocket connection timed out: {} did not answer within {} s",
            host_of(&request.url),
            limit.unwrap_or_default().as_secs_f64()
        ))),
    }
}

async fn upgrade(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
) -> Result<Socket, SocketFailure> {
    let transport = SocketFailure::Transport;
    let pool = http.upgradable_pool(&request.url, options.timeouts.connect).map_err(transport)?;
    let key = nonce().map_err(transport)?;
    let mut headers = header_map(&request.headers).map_err(transport)?;
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    let value = HeaderValue::from_str(&key).map_err(|error| transport(error.to_string()))?;
    headers.insert(SEC_WEBSOCKET_KEY, value);
    let response = pool.client.get(&request.url).headers(headers).send().await;
    let response = response.map_err(|error| {
        transport(send_error_text(&error, &request.url, pool.proxy.as_deref(), options))
    })?;
    notify(options, &response).await.map_err(|error| SocketFailure::Hook(error.into()))?;
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => accept(response, &key).await,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
            Err(SocketFailure::Refused(read_failure(response, &options.timeouts).await))
        }
        status => Err(transport(format!(
            "WebSocket error: {} answered the handshake with status {}",
            host_of(&request.url),
            status.as_u16()
        ))),
    }
}

/// Takes over the connection of a response that agrees to the upgrade.
async fn accept(response: Response, key: &str) -> Result<Socket, SocketFailure> {
    let answer = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let proof = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{PROTOCOL}").as_bytes());
    if answer.map(HeaderValue::as_bytes) != Some(STANDARD.encode(proof).as_bytes()) {
        let text = "WebSocket error: the server did not accept the handshake";
        return Err(SocketFailure::Transport(text.to_owned()));
    }
    let connection = response.upgrade().await.map_err(|error| {
        SocketFailure::Transport(format!("WebSocket error: {}", super::cause(&error)))
    })?;
    Ok(WebSocketStream::from_raw_socket(connection, Role::Client, None).await)
}

/// Returns the random key of a handshake.
fn nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| "WebSocket error: the system has no random numbers".to_owned())?;
    Ok(STANDARD.encode(bytes))
}
