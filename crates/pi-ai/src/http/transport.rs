//! Chooses the connection of a request: a WebSocket if the format has one, else HTTP.

use pi_protocol::{Diagnostic, DiagnosticError, Extra, Transport, now_ms};
use serde_json::json;

use super::body::Body;
use super::websocket::{self, SocketFailure};
use super::{Failure, HttpClient, open};
use crate::wire::socket::SocketRequest;
use crate::wire::{Call, HttpRequest, WireFormat};

/// Sends the request of a call and waits for the beginning of the answer. A WebSocket that fails
/// before that is replaced by HTTP, for the rest of the session; `diagnostics` has the reason.
pub(crate) async fn send(
    http: &HttpClient,
    call: &Call,
    request: &HttpRequest,
    format: &dyn WireFormat,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Body, Failure> {
    let options = &call.options;
    let socket = match options.transport {
        Transport::Sse => None,
        _ => format.socket(call, request),
    };
    if let Some(socket) = socket
        && !http.sockets().has_failed(socket.key.as_ref())
    {
        let continues = options.transport != Transport::Websocket;
        match websocket::open(http, &socket, options, continues).await {
            Ok(body) => return Ok(Body::Socket(Box::new(body))),
            Err(SocketFailure::Refused(failure)) => return Err(Failure::Status(failure)),
            Err(SocketFailure::Hook(text)) => return Err(Failure::Text(text)),
            Err(SocketFailure::Transport(text)) => {
                http.sockets().set_failed(socket.key.as_ref());
                diagnostics.push(transport_failure(options.transport, &socket, text));
            }
        }
    }
    let response = open(http, request, options, format).await?;
    Body::of_response(response).map_err(Failure::Text)
}

/// Returns the diagnostic of a WebSocket that was replaced by HTTP.
fn transport_failure(transport: Transport, request: &SocketRequest, message: String) -> Diagnostic {
    Diagnostic {
        kind: "provider_transport_failure".to_owned(),
        timestamp: now_ms(),
        error: Some(DiagnosticError { message, extra: Extra::default() }),
        details: Some(json!({
            "configuredTransport": transport,
            "fallbackTransport": "sse",
            "eventsEmitted": false,
            "phase": "before_message_stream_start",
            "requestBytes": request.frame(None).to_string().len(),
        })),
        extra: Extra::default(),
    }
}
