//! Sends a request and waits for the head of the response, with retries.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime};

use pi_protocol::{HttpHeader, HttpResponseInfo, StreamOptions, Timeouts};
use pi_web::WebError;
use pi_web::client::{Encoding, Response, WebErrorKind, host_of};
use pi_web::http::Method;
use pi_web::http::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use pi_web::rate_limits;
use tokio::time::timeout;

use super::HttpClient;
use super::retry::{Attempt, Decision, Hints, decide};
use super::signed::signed;
use crate::hooks::{self, HookPanicked};
use crate::wire::{Headers, HttpFailure, HttpRequest, WireFormat};

/// Largest part of an error body that is read.
const MAX_ERROR_BODY: usize = 1 << 20;

/// A response whose head has arrived.
pub(crate) struct OpenResponse {
    pub(crate) response: Response,
    /// Time at which the request was sent.
    pub(crate) sent: Instant,
}

/// The reason why there is no response to read.
pub(crate) enum Failure {
    /// The server responded with an error status.
    Status(HttpFailure),
    /// The request failed without a response.
    Text(String),
    /// The server requested a longer pause than allowed, after this failure.
    PauseTooLong { pause: Duration, allowed: Duration, failure: HttpFailure },
}

/// Sends `request`, with the retries of `options`.
pub(crate) async fn open(
    http: &HttpClient,
    request: &HttpRequest,
    options: &StreamOptions,
    format: &WireFormat,
) -> Result<OpenResponse, Failure> {
    let pool = http.web.pool(&request.url, options.timeouts.connect);
    let pool = pool.map_err(|error| Failure::Text(error.message))?;
    let body = serde_json::to_vec(&request.body)
        .map_err(|error| Failure::Text(format!("Could not serialize the request: {error}")))?;
    let body = bytes::Bytes::from(body);
    let headers = body_headers(&request.headers).map_err(Failure::Text)?;
    let mut number = 0;
    loop {
        let mut sent = Instant::now();
        // Signed for each attempt, since a signature is valid for some minutes only.
        let headers = signed(&headers, request, &body).map_err(Failure::Text)?;
        let sending = pool.send(Method::POST, &request.url, headers, Some(body.clone()));
        let answer = within(options.timeouts.first_byte, sending).await;
        let (failure, hints) = match answer {
            Some(Ok(response)) => {
                let arrived = Instant::now();
                notify(options, &response).await.map_err(|error| Failure::Text(error.into()))?;
                // The run time of the hook does not count as waiting time.
                sent += arrived.elapsed();
                if response.status().is_success() {
                    return Ok(OpenResponse { response, sent });
                }
                let hints = Hints::read(response.headers(), SystemTime::now());
                (Failure::Status(read_failure(response, &options.timeouts).await), hints)
            }
            Some(Err(error)) => {
                let text = send_error_text(&error, &request.url, pool.proxy(), options);
                (Failure::Text(text), Hints::default())
            }
            None => (Failure::Text(first_byte_text(&options.timeouts)), Hints::default()),
        };
        let status = match &failure {
            Failure::Status(response) if (format.is_final)(response) => return Err(failure),
            Failure::Status(failure) => Some(failure.status),
            Failure::Text(_) | Failure::PauseTooLong { .. } => None,
        };
        match decide(Attempt { number, status, hints: &hints }, &options.retry, jitter()) {
            Decision::GiveUp => return Err(failure),
            Decision::After(pause) => tokio::time::sleep(pause).await,
            Decision::TooLong(pause) => {
                let allowed = options.retry.max_delay;
                return Err(match failure {
                    Failure::Status(failure) => Failure::PauseTooLong { pause, allowed, failure },
                    other => other,
                });
            }
        }
        number += 1;
    }
}

pub(super) async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    match limit {
        Some(limit) => timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

pub(super) async fn notify(
    options: &StreamOptions,
    response: &Response,
) -> Result<(), HookPanicked> {
    let Some(hook) = &options.hooks.on_response else { return Ok(()) };
    let header = |(name, value): (&HeaderName, &HeaderValue)| HttpHeader {
        name: name.to_string(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    };
    let headers: Vec<HttpHeader> = response.headers().iter().map(header).collect();
    let fields = headers.iter().map(|field| (field.name.as_str(), field.value.as_str()));
    let limits = rate_limits::read(fields, SystemTime::now());
    let info = HttpResponseInfo::new(response.status().as_u16(), headers).with_rate_limits(limits);
    hooks::call("on_response", || hook(info)).await
}

/// Returns the headers of a request with a body.
fn body_headers(headers: &Headers) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The answer is a stream, but an error may be JSON.
    map.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    map.extend(header_map(headers)?);
    Ok(map)
}

/// Returns these headers as the HTTP client takes them.
pub(super) fn header_map(headers: &Headers) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter() {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("\"{name}\" is not a valid header name"))?;
        // The value may be a key, so the error does not quote it.
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!(
                "The value of header \"{name}\" has characters that are not allowed in a header"
            )
        })?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Reads the body of a failure, limited in size and time.
pub(super) async fn read_failure(response: Response, timeouts: &Timeouts) -> HttpFailure {
    let mut failure = HttpFailure::new(response.status().as_u16(), "");
    failure.headers = response_headers(&response);
    failure.body = failure_body(response, timeouts).await;
    failure
}

async fn failure_body(mut response: Response, timeouts: &Timeouts) -> String {
    let status = response.status();
    if status.is_redirection() {
        let to = response.header(LOCATION).unwrap_or("an unknown location");
        return format!(
            "The server redirects to {to}. Keys are not sent to another origin; \
             if you trust it, set it as the provider's base URL."
        );
    }
    let mut encoding = match Encoding::named(response.header(CONTENT_ENCODING)) {
        Ok(encoding) => encoding,
        Err(problem) => return problem,
    };
    let mut body = Vec::new();
    // A body that cannot be decoded is reported as far as it can.
    while let Some(Ok(Some(chunk))) = within(timeouts.idle, response.chunk()).await {
        let decoded = encoding.decode(&chunk, |bytes| body.extend_from_slice(bytes));
        if decoded.is_err() || body.len() > MAX_ERROR_BODY {
            break;
        }
    }
    let _ = encoding.finish(|bytes| body.extend_from_slice(bytes));
    body.truncate(MAX_ERROR_BODY);
    String::from_utf8_lossy(&body).into_owned()
}

/// Returns the headers of a response.
pub(super) fn response_headers(response: &Response) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in response.headers() {
        headers.set(name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    headers
}

pub(super) fn send_error_text(
    error: &WebError,
    url: &str,
    proxy: Option<&str>,
    options: &StreamOptions,
) -> String {
    let (host, cause) = (host_of(url), &error.message);
    match (error.kind, proxy) {
        (WebErrorKind::InvalidUrl, _) => format!("\"{url}\" is not a valid URL: {cause}"),
        (WebErrorKind::TimedOut, _) => {
            let seconds = options.timeouts.connect.map_or(0.0, |limit| limit.as_secs_f64());
            let through =
                proxy.map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
            format!("Connection timed out: {host} could not be reached{through} within {seconds} s")
        }
        (WebErrorKind::Connect, Some(proxy)) => {
            format!("Connection error: {cause} (proxy {proxy}, for {host})")
        }
        _ => format!("Connection error: {cause} ({host})"),
    }
}

pub(super) fn first_byte_text(timeouts: &Timeouts) -> String {
    let seconds = timeouts.first_byte.map_or(0.0, |limit| limit.as_secs_f64());
    format!("Request timed out: no answer within {seconds} s")
}

/// Returns a number between 0 and 1 that differs from call to call, which is enough for jitter.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}
