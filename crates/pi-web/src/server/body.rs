//! Bodies: whole ones and streams of responses, and bounded ones of requests.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http::StatusCode;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

use super::Refusal;

/// The time that a client has to send a body.
const WAIT: Duration = Duration::from_secs(60);

/// The body of a response.
#[allow(missing_debug_implementations)] // The stream has none.
pub struct Body(Content);

enum Content {
    Whole(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// Creates a body of no bytes.
    pub fn empty() -> Self {
        Self(Content::Whole(None))
    }

    /// Creates a body of known length.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty())))
    }

    /// Creates a body that is sent as it comes. The stream is polled only while the connection takes
    /// more, so a slow client holds it back; a client that goes away drops it.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Content::Stream(Box::pin(stream)))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Stream(stream) => {
                let chunk = stream.as_mut().poll_next(context);
                chunk.map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

/// Reads the body of a request, up to a length and for a minute.
pub async fn read_body(mut incoming: Incoming, limit: usize) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("The body is longer than {limit} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if incoming.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    let reading = async {
        let mut bytes = BytesMut::new();
        loop {
            let frame = std::future::poll_fn(|context| Pin::new(&mut incoming).poll_frame(context));
            match frame.await {
                None => return Ok(bytes.freeze()),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        if bytes.len() + data.len() > limit {
                            return Err(too_large());
                        }
                        bytes.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => {
                    let message = format!("The body could not be read: {error}");
                    return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
                }
            }
        }
    };
    match tokio::time::timeout(WAIT, reading).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time")),
    }
}
