//! The answer of a socket: its frames, as the bytes that decoders read.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream as _;
use pi_web::websocket::{CloseFrame, Message, Utf8Bytes, WebSocket};

use super::{Lease, failed};
use crate::wire::socket::{Recording, as_server_sent_event};

/// An answer whose first frame has arrived. Dropped before its end, it closes the socket.
pub(crate) struct SocketBody {
    socket: WebSocket,
    first: Option<Utf8Bytes>,
    /// Time at which the request was sent.
    pub(in crate::http) sent: Instant,
    lease: Option<Lease>,
    recording: Recording,
}

impl SocketBody {
    /// Creates an answer that begins with the frame `first`, which is already recorded.
    pub(super) fn new(
        socket: WebSocket,
        first: Utf8Bytes,
        sent: Instant,
        lease: Option<Lease>,
        recording: Recording,
    ) -> Self {
        Self { socket, first: Some(first), sent, lease, recording }
    }

    /// Reads the next frame as the bytes of a server-sent event. A socket has no end of a body: the
    /// last event ends the answer, so a closed socket is an error.
    pub(in crate::http) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<u8>, String>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(as_server_sent_event(&first)));
        }
        loop {
            let Poll::Ready(message) = Pin::new(&mut self.socket).poll_next(cx) else {
                return Poll::Pending;
            };
            return Poll::Ready(match message {
                Some(Ok(Message::Text(frame))) => {
                    self.recording.event(&frame);
                    Ok(as_server_sent_event(&frame))
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Binary(_))) => {
                    Err("WebSocket error: the server sent a binary message".to_owned())
                }
                Some(Ok(Message::Close(close))) => Err(closed(close)),
                Some(Err(error)) => Err(failed(&error)),
                None => Err(closed(None)),
            });
        }
    }

    /// Returns the id of a response that has ended.
    #[cfg(test)]
    pub(super) fn recorded_id(&self) -> String {
        self.recording.id().unwrap_or_default().to_owned()
    }

    /// Keeps the socket for the next request, after an answer that is complete.
    pub(in crate::http) fn keep(self) {
        if let Some(lease) = self.lease {
            lease.give_back(self.socket, self.recording.into_answered());
        }
    }
}

/// Returns the text of a socket that the server closed.
pub(super) fn closed(close: Option<CloseFrame>) -> String {
    let why = close.map(|close| {
        let code = u16::from(close.code);
        match close.reason.trim() {
            "" => format!(" (code {code})"),
            reason => format!(" (code {code}: {reason})"),
        }
    });
    let why = why.unwrap_or_default();
    format!("WebSocket closed by the server before the answer was complete{why}")
}
