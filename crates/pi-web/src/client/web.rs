//! Plain HTTP requests with streamed bodies, for programs that host other code.
//!
//! A request is one exchange: the caller follows redirects, because each target may need its own
//! permission.

use bytes::Bytes;
use futures_core::Stream;
use http::Method;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;

use super::encoding::Encoding;
use super::{Response, WebClient, WebError, WebErrorKind};
use crate::connection::Upgraded;

/// A request. Header names may occur several times.
#[derive(Debug)]
pub struct WebRequest {
    /// Method, such as `GET`.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: WebBody,
}

/// The body of a request.
#[derive(Debug)]
pub enum WebBody {
    /// No body.
    Empty,
    /// A body of known length.
    Bytes(Vec<u8>),
    /// Chunks until the sender is dropped.
    Stream(mpsc::Receiver<Vec<u8>>),
}

/// A response whose head has arrived. Dropping it closes the exchange.
#[derive(Debug)]
pub struct WebResponse {
    /// Status code.
    pub status: u16,
    /// Reason of the status.
    pub reason: String,
    /// Names and values, in the order of the server.
    pub headers: Vec<(String, String)>,
    response: Response,
    encoding: Option<Encoding>,
}

impl WebClient {
    /// Sends a request and waits for the head of its response.
    pub async fn send(&self, request: WebRequest) -> Result<WebResponse, WebError> {
        let plain = |message: String| WebError::new(WebErrorKind::Request, message);
        let pool = self.pool_without_redirects(&request.url)?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| plain(format!("invalid method {}", request.method)))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| plain(format!("invalid header name {name}")))?;
            // Values are Latin-1 texts.
            let bytes: Vec<u8> =
                value.chars().map(|one| u8::try_from(u32::from(one)).unwrap_or(b'?')).collect();
            let value = HeaderValue::from_bytes(&bytes)
                .map_err(|_| plain(format!("invalid value of header {name}")))?;
            headers.append(key, value);
        }
        let decodes = !headers.contains_key("accept-encoding");
        if decodes {
            headers.insert("accept-encoding", HeaderValue::from_static("gzip, deflate"));
        }
        let (url, body) = (&request.url, request.body);
        let response = match body {
            WebBody::Empty => pool.send(method, url, headers, None).await,
            WebBody::Bytes(bytes) => pool.send(method, url, headers, Some(bytes.into())).await,
            WebBody::Stream(chunks) => pool.send_stream(method, url, headers, Chunks(chunks)).await,
        }?;
        open(response, decodes)
    }
}

fn damaged(problem: String) -> WebError {
    WebError::new(WebErrorKind::Exchange, problem)
}

/// Takes the head of a response apart.
fn open(response: Response, decodes: bool) -> Result<WebResponse, WebError> {
    let status = response.status();
    let name = response.header(CONTENT_ENCODING);
    let encoding = match name {
        Some(name) if decodes => Some(Encoding::named(Some(name)).map_err(damaged)?),
        _ => None,
    };
    let is_shorter = encoding.is_some();
    let headers = response.headers().iter();
    let headers = headers.filter(|(name, _)| !(is_shorter && **name == CONTENT_LENGTH));
    let text =
        |value: &HeaderValue| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
    Ok(WebResponse {
        status: status.as_u16(),
        reason: status.canonical_reason().unwrap_or_default().to_owned(),
        headers,
        response,
        encoding,
    })
}

impl WebResponse {
    /// Reads the next part of the body; `None` at its end. Nothing is read ahead of the caller
    /// beyond the buffers of the connection.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, WebError> {
        loop {
            let chunk = self.response.chunk().await?;
            let mut decoded = Vec::new();
            let broken = |error: std::io::Error| damaged(error.to_string());
            match (chunk, &mut self.encoding) {
                (Some(chunk), None) => return Ok(Some(chunk.to_vec())),
                (None, None) => return Ok(None),
                (Some(chunk), Some(encoding)) => {
                    encoding
                        .decode(&chunk, |bytes| decoded.extend_from_slice(bytes))
                        .map_err(broken)?;
                }
                (None, Some(encoding)) => {
                    encoding.finish(|bytes| decoded.extend_from_slice(bytes)).map_err(broken)?;
                    self.encoding = None;
                    return Ok((!decoded.is_empty()).then_some(decoded));
                }
            }
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
    }

    /// Returns the connection after a `101 Switching Protocols`.
    pub async fn upgrade(self) -> Result<Upgraded, WebError> {
        self.response.upgrade().await
    }
}

/// The chunks of a request body.
struct Chunks(mpsc::Receiver<Vec<u8>>);

impl Stream for Chunks {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(Bytes::from(chunk))))
    }
}
