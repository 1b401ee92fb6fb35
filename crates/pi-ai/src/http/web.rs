//! Plain HTTP requests with streamed bodies, for programs that host other code.
//!
//! The connection pools, proxies and TLS are those of the models' requests. A request is one
//! exchange: the caller follows redirects, because each target may need its own permission.

use std::error::Error as _;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use tokio::sync::mpsc;

use super::HttpClient;
use super::encoding::Encoding;

/// Sends plain HTTP requests.
#[derive(Debug, Clone)]
pub struct WebClient {
    http: HttpClient,
}

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
    encoding: Option<Decoder>,
}

/// The reason why an exchange failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// Description.
    pub message: String,
    /// Name of the system error, such as `ECONNREFUSED`.
    pub code: Option<&'static str>,
}

struct Decoder(Encoding);

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

impl WebClient {
    /// Creates a client that looks up the variables of a proxy with `env`.
    pub fn new(env: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>) -> Self {
        Self { http: HttpClient::new(env) }
    }

    pub(crate) fn of(http: HttpClient) -> Self {
        Self { http }
    }

    /// Sends a request and waits for the head of its response.
    pub async fn send(&self, request: WebRequest) -> Result<WebResponse, WebError> {
        let plain = |message: String| WebError { message, code: None };
        let pool = self.http.pool_without_redirects(&request.url).map_err(plain)?;
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
        let sending = pool.client.request(method, &request.url).headers(headers);
        let sending = match request.body {
            WebBody::Empty => sending,
            WebBody::Bytes(bytes) => sending.body(bytes),
            WebBody::Stream(chunks) => sending.body(reqwest::Body::wrap_stream(Chunks(chunks))),
        };
        let response = sending.send().await.map_err(|error| describe(&error))?;
        open(response, decodes)
    }
}

/// Takes the head of a response apart.
fn open(response: Response, decodes: bool) -> Result<WebResponse, WebError> {
    let status = response.status();
    let name = response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let encoding = match name {
        Some(name) if decodes => Some(Decoder(
            Encoding::named(Some(name)).map_err(|message| WebError { message, code: None })?,
        )),
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
            let chunk = self.response.chunk().await.map_err(|error| describe(&error))?;
            let mut decoded = Vec::new();
            let broken =
                |error: std::io::Error| WebError { message: error.to_string(), code: None };
            match (chunk, &mut self.encoding) {
                (Some(chunk), None) => return Ok(Some(chunk.to_vec())),
                (None, None) => return Ok(None),
                (Some(chunk), Some(Decoder(encoding))) => {
                    encoding
                        .decode(&chunk, |bytes| decoded.extend_from_slice(bytes))
                        .map_err(broken)?;
                }
                (None, Some(Decoder(encoding))) => {
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
    pub async fn upgrade(self) -> Result<reqwest::Upgraded, WebError> {
        self.response.upgrade().await.map_err(|error| describe(&error))
    }
}

/// Describes an error by its innermost cause, with the name of a system error.
fn describe(error: &reqwest::Error) -> WebError {
    let mut code = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            code = code.or_else(|| name_of(io.kind()));
        }
        source = cause.source();
    }
    let message = super::connect::cause(error);
    if code.is_none() && message.contains("failed to lookup address") {
        code = Some("ENOTFOUND");
    }
    WebError { message, code }
}

fn name_of(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind as K;
    match kind {
        K::ConnectionRefused => Some("ECONNREFUSED"),
        K::ConnectionReset => Some("ECONNRESET"),
        K::ConnectionAborted => Some("ECONNABORTED"),
        K::TimedOut => Some("ETIMEDOUT"),
        K::HostUnreachable => Some("EHOSTUNREACH"),
        K::NetworkUnreachable => Some("ENETUNREACH"),
        K::BrokenPipe => Some("EPIPE"),
        _ => None,
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
