//! Opens a WebSocket as an upgrade of an HTTP request (RFC 6455, section 4.1).

use pi_protocol::StreamOptions;
use pi_web::client::host_of;
use pi_web::http::{Method, StatusCode};
use pi_web::websocket::{Handshake, WebSocket};

use super::SocketFailure;
use crate::http::HttpClient;
use crate::http::connect::{header_map, notify, read_failure, send_error_text, within};
use crate::wire::socket::SocketRequest;

/// Opens a socket. A credential that the server rejects, and a limit, are failures of the request;
/// any other response means that there are no WebSockets.
pub(super) async fn open(
    http: &HttpClient,
    request: &SocketRequest,
    options: &StreamOptions,
) -> Result<WebSocket, SocketFailure> {
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
) -> Result<WebSocket, SocketFailure> {
    let transport = SocketFailure::Transport;
    let pool = http.web.upgradable_pool(&request.url, options.timeouts.connect);
    let pool = pool.map_err(|error| transport(error.message))?;
    let mut headers = header_map(&request.headers).map_err(transport)?;
    let handshake = Handshake::begin(&mut headers).map_err(transport)?;
    let response = pool.send(Method::GET, &request.url, headers, None).await;
    let response = response
        .map_err(|error| transport(send_error_text(&error, &request.url, pool.proxy(), options)))?;
    notify(options, &response).await.map_err(|error| SocketFailure::Hook(error.into()))?;
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => handshake.finish(response).await.map_err(transport),
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
