//! Chooses the connection of a request: a WebSocket if the format has one, else HTTP.

use pi_protocol::{Diagnostic, DiagnosticError, Extra, Transport, now_ms};
use serde_json::json;

use super::body::Body;
use super::websocket::{self, SocketBody, SocketCache, SocketFailure};
use super::{Failure, HttpClient, open};
use crate::wire::socket::SocketRequest;
use crate::wire::{Call, HttpRequest, WireFormat};

/// Sends the request of a call and waits for the beginning of the answer. A WebSocket that fails
/// before that is replaced by HTTP, for the rest of the session; `diagnostics` has the reason.
pub(crate) async fn send(
    http: &HttpClient,
    call: &Call,
    request: &HttpRequest,
    format: &WireFormat,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Body, Failure> {
    let options = &call.options;
    let socket = match options.transport {
        Transport::Sse => None,
        _ => (format.socket)(call, request),
    };
    if let Some(socket) = socket
        && !http.sockets.has_failed(socket.key.as_ref())
    {
        let continues = options.transport != Transport::Websocket;
        match websocket::open(http, &socket, options, continues).await {
            Ok(body) => {
                let sockets = http.sockets.clone();
                let fallback = Fallback { sockets, transport: options.transport, request: socket };
                return Ok(Body::Socket(Box::new(SocketAnswer { body, fallback })));
            }
            Err(SocketFailure::Refused(failure)) => return Err(Failure::Status(failure)),
            Err(SocketFailure::Hook(text)) => return Err(Failure::Text(text)),
            Err(SocketFailure::Transport(text)) => {
                let sockets = http.sockets.clone();
                let fallback = Fallback { sockets, transport: options.transport, request: socket };
                diagnostics.push(fallback.to_http(text, Phase::Before));
            }
        }
    }
    let response = open(http, request, options, format).await?;
    Body::of_response(response).map_err(Failure::Text)
}

/// An answer over a WebSocket.
pub(crate) struct SocketAnswer {
    pub(super) body: SocketBody,
    pub(super) fallback: Fallback,
}

/// The replacement of WebSockets by HTTP.
pub(super) struct Fallback {
    sockets: SocketCache,
    transport: Transport,
    request: SocketRequest,
}

/// The time at which a WebSocket failed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// Before the first event, so that the request can be sent again.
    Before,
    After,
}

impl Fallback {
    /// Sends later requests of the session over HTTP, since sockets that fail once often fail
    /// again, for example behind a proxy. Returns the diagnostic with the reason.
    pub(super) fn to_http(&self, message: String, phase: Phase) -> Diagnostic {
        self.sockets.set_failed(self.request.key.as_ref());
        let mut details = json!({
            "configuredTransport": self.transport,
            "requestBytes": self.request.frame(None).to_string().len(),
        });
        match phase {
            Phase::Before => {
                details["fallbackTransport"] = json!("sse");
                details["eventsEmitted"] = json!(false);
                details["phase"] = json!("before_message_stream_start");
            }
            Phase::After => {
                details["eventsEmitted"] = json!(true);
                details["phase"] = json!("after_message_stream_start");
            }
        }
        Diagnostic {
            kind: "provider_transport_failure".to_owned(),
            timestamp: now_ms(),
            error: Some(DiagnosticError { message, extra: Extra::default() }),
            details: Some(details),
            extra: Extra::default(),
        }
    }
}
