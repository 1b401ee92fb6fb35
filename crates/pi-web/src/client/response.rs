//! A response whose head has arrived.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, StatusCode};

use super::WebError;
use crate::connection::Upgraded;

/// A response. Its body is not decoded. Dropping it closes the exchange.
#[derive(Debug)]
pub struct Response(reqwest::Response);

impl Response {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self(response)
    }

    /// Returns the status code.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns a header that is text.
    pub fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// Reads the next part of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, WebError> {
        self.0.chunk().await.map_err(|error| WebError::of(&error))
    }

    /// Returns the body as a stream.
    pub fn into_stream(self) -> ByteStream {
        ByteStream(Box::pin(self.0.bytes_stream()))
    }

    /// Returns the connection after a `101 Switching Protocols`.
    pub async fn upgrade(self) -> Result<Upgraded, WebError> {
        let upgraded = self.0.upgrade().await.map_err(|error| WebError::of(&error))?;
        Ok(Box::new(upgraded))
    }
}

/// The body of a response. Nothing is read ahead beyond the buffers of the connection.
#[allow(missing_debug_implementations)] // The stream has none.
pub struct ByteStream(Pin<Box<dyn Stream<Item = Result<Bytes, reqwest::Error>> + Send>>);

impl Stream for ByteStream {
    type Item = Result<Bytes, WebError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = self.0.as_mut().poll_next(cx);
        chunk.map(|chunk| chunk.map(|chunk| chunk.map_err(|error| WebError::of(&error))))
    }
}
