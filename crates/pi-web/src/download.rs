//! Downloads: `GET` requests whose body is passed on in chunks, with limits.
//!
//! Uses the connection pools and proxies of the model client. Headers are sent only to the origin
//! of the URL that the caller named: a redirect to another origin gets none of them, since they may
//! carry a token. Retries are the caller's.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{
    CONTENT_ENCODING, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION, USER_AGENT,
};
use http::{Method, StatusCode};
use reqwest::Url;
use tokio::time::timeout;

use crate::client::{Encoding, Response, WebClient, retry_after};
use crate::user_agent;

/// Most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
const CONNECT: Duration = Duration::from_secs(20);
/// Longest time without a byte.
const IDLE: Duration = Duration::from_secs(60);
/// Largest part of an error body that is read.
const MAX_ERROR_BODY: usize = 4096;

/// A client for downloads. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Downloader {
    web: WebClient,
}

/// A document that was downloaded as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The decoded body.
    pub body: Vec<u8>,
    /// Version of the document, for a later request that asks for changes.
    pub etag: Option<String>,
    /// Time of the last change, in milliseconds since 1970.
    pub last_modified_ms: Option<u64>,
}

/// A download that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The URL, or one that the server redirects to, cannot be used.
    #[error("{url} is not a valid address: {problem}")]
    Url {
        /// The address.
        url: String,
        /// The problem with it.
        problem: String,
    },
    /// A header has a value that HTTP does not allow. The value may be secret, so it is not shown.
    #[error("the value of the header `{name}` has invalid characters")]
    Header {
        /// Name of the header.
        name: String,
    },
    /// No connection, or a connection that broke.
    #[error("{host}: {problem}")]
    Connection {
        /// The server, and the proxy if there is one.
        host: String,
        /// The cause.
        problem: String,
    },
    /// The server answered with an error.
    #[error("{url}: HTTP {status}{}", body.is_empty().then(String::new).unwrap_or_else(|| format!(" ({body})")))]
    Status {
        /// The address.
        url: String,
        /// HTTP status.
        status: u16,
        /// Beginning of the body.
        body: String,
        /// Pause before a retry that the server asked for.
        pause: Option<Duration>,
    },
    /// The server redirects too often, or from an encrypted to a plain connection.
    #[error("{url}: {problem}")]
    Redirect {
        /// The address that redirected.
        url: String,
        /// The problem with the target.
        problem: String,
    },
    /// The body is larger than the limit of the caller.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// The receiver of the body failed.
    #[error(transparent)]
    Receiver(#[from] std::io::Error),
}

impl DownloadError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429) || *status >= 500,
            _ => false,
        }
    }
}

impl Downloader {
    /// Creates a client that looks up the variables of a proxy with `env`. `proxy` applies if the
    /// environment names none.
    pub fn new(
        env: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
        proxy: Option<String>,
    ) -> Self {
        let mut web = WebClient::new(env);
        web.set_proxy(proxy);
        Self { web }
    }

    /// Downloads `url` and passes the decoded body to `receive`, at most `limit` bytes of it. The
    /// receiver may have got a part of the body if the download fails.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        limit: u64,
        receive: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
    ) -> Result<(), DownloadError> {
        let (url, response) = self.follow(url, header_map(headers)?).await?;
        if !response.status().is_success() {
            return Err(failure(&url, response).await);
        }
        body(&url, response, limit, receive).await
    }

    /// Downloads `url` as a whole, at most `limit` bytes. `None` if the server still has the
    /// version `etag`.
    pub async fn document(
        &self,
        url: &str,
        headers: &[(String, String)],
        etag: Option<&str>,
        limit: u64,
    ) -> Result<Option<Document>, DownloadError> {
        let mut headers = header_map(headers)?;
        if let Ok(own) = HeaderValue::from_str(&user_agent()) {
            headers.entry(USER_AGENT).or_insert(own);
        }
        // A version that HTTP does not allow was damaged, so the document is downloaded again.
        if let Some(known) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.insert(IF_NONE_MATCH, known);
        }
        let (url, response) = self.follow(url, headers).await?;
        if response.status() == StatusCode::NOT_MODIFIED && etag.is_some() {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(failure(&url, response).await);
        }
        let text = |name| response.header(name);
        let changed = text(LAST_MODIFIED).and_then(|text| httpdate::parse_http_date(text).ok());
        let mut document = Document {
            body: Vec::new(),
            etag: text(ETAG).map(str::to_owned),
            last_modified_ms: changed
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .and_then(|time| u64::try_from(time.as_millis()).ok()),
        };
        let mut receive = |bytes: &[u8]| {
            document.body.extend_from_slice(bytes);
            Ok(())
        };
        body(&url, response, limit, &mut receive).await?;
        Ok(Some(document))
    }

    /// Sends a request and follows redirects. Returns the last address and its response.
    async fn follow(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<(Url, Response), DownloadError> {
        let mut url = parse(url)?;
        let origin = url.origin();
        for _ in 0..=MAX_REDIRECTS {
            let own = if url.origin() == origin { headers.clone() } else { HeaderMap::new() };
            let response = self.send(&url, own).await?;
            if !response.status().is_redirection() || !response.headers().contains_key(LOCATION) {
                return Ok((url, response));
            }
            url = target(&url, &response)?;
        }
        Err(DownloadError::Redirect { url: url.into(), problem: "too many redirects".to_owned() })
    }

    async fn send(&self, url: &Url, headers: HeaderMap) -> Result<Response, DownloadError> {
        let host = url.host_str().unwrap_or_default();
        let failed = |host: String, problem| DownloadError::Connection { host, problem };
        let pool = self.web.pool(url.as_str(), Some(CONNECT));
        let pool = pool.map_err(|error| failed(host.to_owned(), error.message))?;
        let host = match pool.proxy() {
            Some(proxy) => format!("{host} (proxy {proxy})"),
            None => host.to_owned(),
        };
        let sending = pool.send(Method::GET, url.as_str(), headers, None);
        match timeout(IDLE, sending).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failed(host, error.message)),
            Err(_) => Err(failed(host, format!("no answer within {} s", IDLE.as_secs()))),
        }
    }
}

fn parse(url: &str) -> Result<Url, DownloadError> {
    let invalid = |problem: String| DownloadError::Url { url: url.to_owned(), problem };
    let parsed = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(invalid("expected http:// or https://".to_owned()));
    }
    Ok(parsed)
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, DownloadError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || DownloadError::Header { name: name.clone() };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Returns the target of a redirect.
fn target(from: &Url, response: &Response) -> Result<Url, DownloadError> {
    let to = response.header(LOCATION).unwrap_or_default();
    let refused = |problem: String| DownloadError::Redirect { url: from.to_string(), problem };
    let to = from.join(to).map_err(|error| refused(format!("redirects to {to}: {error}")))?;
    let is_plain = to.scheme() == "http" && from.scheme() == "http";
    if to.scheme() != "https" && !is_plain {
        return Err(refused(format!("redirects to {to}, which is not encrypted")));
    }
    Ok(to)
}

async fn failure(url: &Url, mut response: Response) -> DownloadError {
    let status = response.status().as_u16();
    let pause = retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    // A compressed body is of no use in a message.
    let is_plain = !response.headers().contains_key(CONTENT_ENCODING);
    while is_plain && body.len() < MAX_ERROR_BODY {
        let Ok(Ok(Some(chunk))) = timeout(IDLE, response.chunk()).await else { break };
        body.extend_from_slice(&chunk);
    }
    body.truncate(MAX_ERROR_BODY);
    let body = String::from_utf8_lossy(&body).trim().to_owned();
    DownloadError::Status { url: url.to_string(), status, body, pause }
}

async fn body(
    url: &Url,
    mut response: Response,
    limit: u64,
    receive: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
) -> Result<(), DownloadError> {
    let broken = |problem: String| DownloadError::Connection {
        host: url.host_str().unwrap_or_default().to_owned(),
        problem,
    };
    let encoding = response.header(CONTENT_ENCODING);
    let mut encoding = Encoding::named(encoding).map_err(broken)?;
    let too_large = || DownloadError::TooLarge { url: url.to_string(), limit };
    let mut size = 0;
    let mut received = Ok(());
    loop {
        let chunk = match timeout(IDLE, response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(broken(error.message)),
            Err(_) => return Err(broken(format!("no data within {} s", IDLE.as_secs()))),
        };
        let is_last = chunk.is_none();
        let mut pass = |bytes: &[u8]| {
            size += bytes.len() as u64;
            if size <= limit && received.is_ok() {
                received = receive(bytes);
            }
        };
        match chunk {
            // Small pieces keep a compressed body from growing far beyond the limit at once.
            Some(chunk) => {
                for piece in chunk.chunks(16 * 1024) {
                    encoding.decode(piece, &mut pass).map_err(|error| broken(error.to_string()))?;
                }
            }
            None => encoding.finish(&mut pass).map_err(|error| broken(error.to_string()))?,
        }
        received?;
        if size > limit {
            return Err(too_large());
        }
        if is_last {
            return Ok(());
        }
        received = Ok(());
    }
}
