//! Requests over a WebSocket: the Responses API as one JSON text frame per request, and one per
//! event of the answer.
//!
//! A socket stays open between the requests of a session, and the server keeps the last response of
//! it. `continuation` decides what a request has to repeat. This module must not open a connection
//! (see `http::websocket`).

mod continuation;

use serde_json::Value;

use super::Headers;

pub use continuation::{Answered, Recording};

/// A request that can be sent over a WebSocket.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SocketRequest {
    /// The URL of the handshake, with the scheme `http` or `https`.
    pub url: String,
    /// The headers of the handshake, authentication included.
    pub headers: Headers,
    /// The JSON body of the same request over HTTP.
    pub body: Value,
    /// The identity of a socket that may be kept for the next request; `None` closes it after the
    /// answer.
    pub key: Option<SocketKey>,
}

/// The identity of a socket that is kept open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SocketKey {
    /// Id of the session.
    pub session: String,
    /// Account of the credential.
    pub account: String,
    /// URL of the handshake.
    pub url: String,
}

/// The first event of an answer, as far as it decides about the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Opening {
    /// The answer begins.
    Answer,
    /// The server does not have the response that the request continues.
    UnknownPrevious,
    /// The socket is too old, or there are too many.
    ConnectionLimit,
    /// The request was refused, with this HTTP status.
    Refused(u16),
}

impl SocketRequest {
    /// Returns the frame of the request. If `answered` is the answer to the previous request and this
    /// one continues it, the frame has only what is new.
    pub fn frame(&self, answered: Option<&Answered>) -> Value {
        let mut frame = serde_json::Map::new();
        frame.insert("type".to_owned(), "response.create".into());
        let Some(body) = self.body.as_object() else { return frame.into() };
        frame.extend(body.clone());
        if let Some(answered) = answered
            && let Some(new) = answered.new_items(&self.body)
        {
            frame.insert("previous_response_id".to_owned(), answered.id().into());
            frame.insert("input".to_owned(), new.into());
        }
        frame.into()
    }
}

impl Opening {
    /// Reads the first frame of an answer.
    pub fn of(frame: &str) -> Self {
        if !frame.contains("\"error\"") {
            return Self::Answer;
        }
        let Ok(event) = serde_json::from_str::<Value>(frame) else { return Self::Answer };
        if event.get("type").and_then(Value::as_str) != Some("error") {
            return Self::Answer;
        }
        let code = event.pointer("/error/code").or_else(|| event.get("code"));
        match code.and_then(Value::as_str) {
            Some("previous_response_not_found") => return Self::UnknownPrevious,
            Some("websocket_connection_limit_reached") => return Self::ConnectionLimit,
            _ => {}
        }
        let status = event.get("status").or_else(|| event.get("status_code"));
        let status = status.and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        match status {
            Some(status @ 400..600) => Self::Refused(status),
            _ => Self::Answer,
        }
    }
}

/// Returns the frame of an event as a server-sent event, which is what decoders read.
pub fn as_server_sent_event(frame: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.len() + 8);
    for line in frame.split(['\r', '\n']).filter(|line| !line.is_empty()) {
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_decides_about_the_connection() {
        let rows = [
            (r#"{"type":"response.created","response":{"id":"resp_1"}}"#, Opening::Answer),
            (
                r#"{"type":"error","status":400,"error":{"code":"previous_response_not_found"}}"#,
                Opening::UnknownPrevious,
            ),
            (
                r#"{"type":"error","status":429,"error":{"code":"websocket_connection_limit_reached"}}"#,
                Opening::ConnectionLimit,
            ),
            (
                r#"{"type":"error","status":503,"code":"websocket_connection_limit_reached"}"#,
                Opening::ConnectionLimit,
            ),
            (r#"{"type":"error","status":401,"error":{}}"#, Opening::Refused(401)),
            (r#"{"type":"error","status_code":503}"#, Opening::Refused(503)),
            (r#"{"type":"error","status":0,"error":{"message":"x"}}"#, Opening::Answer),
            (r#"{"type":"error","error":{"message":"no status"}}"#, Opening::Answer),
            (r#"{"type":"response.failed","response":{"error":{}}}"#, Opening::Answer),
            ("\"error\"", Opening::Answer),
            ("", Opening::Answer),
        ];
        for (frame, expected) in rows {
            assert_eq!(Opening::of(frame), expected, "{frame}");
        }
    }

    #[test]
    fn a_frame_becomes_one_server_sent_event() {
        let text = |frame| String::from_utf8(as_server_sent_event(frame)).unwrap();
        assert_eq!(text("{\"a\":1}"), "data: {\"a\":1}\n\n");
        assert_eq!(text("{\n \"a\":1\r\n}\n"), "data: {\ndata:  \"a\":1\ndata: }\n\n");
        assert_eq!(text(""), "\n");
    }
}
