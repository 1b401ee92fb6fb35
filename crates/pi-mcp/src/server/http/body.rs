//! Bodies: whole ones, and streams of events.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use pi_jsonrpc::Message;

use super::problem;

/// The time that a client has to send a body.
const WAIT: Duration = Duration::from_secs(60);

/// The body of a response.
pub(super) enum Body {
    Whole(Option<Bytes>),
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                let event = events.as_mut().poll_next(context);
                event.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Reads the body of a request, up to a length.
pub(super) async fn read(
    mut incoming: Incoming,
    limit: usize,
) -> Result<Bytes, Box<Response<Body>>> {
    let too_large = || {
        let message = format!("The body is longer than {limit} bytes");
        Box::new(problem(StatusCode::PAYLOAD_TOO_LARGE, &message))
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
                    return Err(Box::new(problem(StatusCode::BAD_REQUEST, &message)));
                }
            }
        }
    };
    match tokio::time::timeout(WAIT, reading).await {
        Ok(read) => read,
        Err(_) => {
            let message = "The body did not arrive in time";
            Err(Box::new(problem(StatusCode::REQUEST_TIMEOUT, message)))
        }
    }
}

/// Makes a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = status;
    response
}

/// Makes a response of one message.
pub(super) fn json(status: StatusCode, message: &Message) -> Response<Body> {
    json_text(status, message.to_value().to_string())
}

/// Makes a response of one message in JSON.
pub(super) fn json_text(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Some(Bytes::from(text))));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Makes a response of events.
pub(super) fn events(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::Events(Box::pin(events)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
