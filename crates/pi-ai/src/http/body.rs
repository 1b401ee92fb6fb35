//! The bytes of an answer, from HTTP or from a WebSocket.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream as _;
use pi_protocol::Diagnostic;
use pi_web::client::{ByteStream, Encoding};
use pi_web::http::header::CONTENT_ENCODING;

use super::OpenResponse;
use super::connect::response_headers;
use super::transport::{Phase, SocketAnswer};
use crate::wire::Headers;

/// The bytes of an answer.
pub(crate) enum Body {
    /// The body of an HTTP response.
    Http(Box<HttpBody>),
    /// The frames of a WebSocket.
    Socket(Box<SocketAnswer>),
}

/// The body of an HTTP response.
pub(crate) struct HttpBody {
    chunks: ByteStream,
    encoding: Encoding,
    sent: Instant,
    head: Headers,
}

/// A part of an answer.
pub(super) enum Part {
    /// Bytes were passed on; there may be more.
    Data,
    /// The body has ended.
    End,
}

impl Body {
    /// Returns the body of a response. Fails if its encoding is unsupported.
    pub(crate) fn of_response(open: OpenResponse) -> Result<Self, String> {
        let OpenResponse { response, sent } = open;
        let encoding = Encoding::named(response.header(CONTENT_ENCODING))?;
        let head = response_headers(&response);
        let chunks = response.into_stream();
        Ok(Self::Http(Box::new(HttpBody { chunks, encoding, sent, head })))
    }

    /// Returns the headers of a response.
    pub(super) fn head(&self) -> Option<&Headers> {
        match self {
            Self::Http(body) => Some(&body.head),
            Self::Socket(_) => None,
        }
    }

    /// Returns the time at which the request was sent.
    pub(super) fn sent(&self) -> Instant {
        match self {
            Self::Http(body) => body.sent,
            Self::Socket(answer) => answer.body.sent,
        }
    }

    /// Reads the next part and passes its bytes to `out`.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<Part, String>> {
        match self {
            Self::Http(body) => body.poll(cx, out),
            Self::Socket(answer) => answer.body.poll(cx).map(|frame| {
                out(&frame?);
                Ok(Part::Data)
            }),
        }
    }

    /// Handles an answer that failed on its way. Returns a diagnostic if there is more to say.
    pub(super) fn failed(&self, error: &str) -> Option<Diagnostic> {
        match self {
            Self::Http(_) => None,
            Self::Socket(answer) => Some(answer.fallback.to_http(error.to_owned(), Phase::After)),
        }
    }

    /// Ends an answer; `is_complete` is false if it failed.
    pub(super) fn finish(self, cx: &mut Context<'_>, is_complete: bool) {
        match self {
            Self::Http(mut body) => body.drain(cx),
            Self::Socket(answer) if is_complete => answer.body.keep(),
            Self::Socket(_) => {}
        }
    }
}

impl HttpBody {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<Part, String>> {
        let Poll::Ready(chunk) = Pin::new(&mut self.chunks).poll_next(cx) else {
            return Poll::Pending;
        };
        Poll::Ready(match chunk {
            Some(Ok(bytes)) => {
                self.encoding.decode(&bytes, out).map(|()| Part::Data).map_err(damaged)
            }
            Some(Err(error)) => Err(format!("Connection lost: {error}")),
            None => self.encoding.finish(out).map(|()| Part::End).map_err(damaged),
        })
    }

    /// Reads the end of the body if it is already there, so that the connection can be reused.
    /// Waiting for it would delay the answer.
    fn drain(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(_))) = Pin::new(&mut self.chunks).poll_next(cx) {}
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err`.
fn damaged(error: std::io::Error) -> String {
    format!("The server's compressed answer is damaged: {error}")
}
