//! A request to a metadata server or token endpoint: limited in time and size, never redirected.
//!
//! Errors name the host and the reason that the server gives. They quote neither URLs, which may
//! have parameters, nor the secrets of the request, which servers like to repeat.

use std::fmt::Write as _;
use std::time::Duration;

use pi_base::text::{cut, one_line};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{SourceError, Surroundings};
use crate::{WebBody, WebRequest};

/// The limit for a metadata server, which is on this machine or beside it.
pub(super) const METADATA_LIMIT: Duration = Duration::from_secs(1);

/// The limit for a token endpoint.
const TOKEN_LIMIT: Duration = Duration::from_secs(15);

/// The address of the metadata servers of all clouds.
pub(super) const LINK_LOCAL_METADATA: &str = "169.254.169.254";

const MAX_BODY: usize = 256 * 1024;
const MAX_REASON: usize = 300;

/// A request.
pub(super) struct Ask {
    request: WebRequest,
    limit: Duration,
    secrets: Vec<String>,
}

/// The answer, of any status.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    host: String,
    secrets: Vec<String>,
}

impl Ask {
    fn new(method: &str, url: impl Into<String>, body: WebBody) -> Self {
        let agent = concat!("pi/", env!("CARGO_PKG_VERSION"));
        let headers = vec![("user-agent".to_owned(), agent.to_owned())];
        let request = WebRequest { method: method.to_owned(), url: url.into(), headers, body };
        Self { request, limit: TOKEN_LIMIT, secrets: Vec::new() }
    }

    pub(super) fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url, WebBody::Empty)
    }

    pub(super) fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url, WebBody::Empty)
    }

    /// Creates a request with the parameters of a form.
    pub(super) fn form(url: impl Into<String>, fields: &[(&str, &str)]) -> Self {
        let body = WebBody::Bytes(form(fields).into_bytes());
        Self::new("POST", url, body).header("content-type", FORM)
    }

    /// Creates a request with a JSON body.
    pub(super) fn json(url: impl Into<String>, body: &Value) -> Self {
        let body = WebBody::Bytes(body.to_string().into_bytes());
        Self::new("POST", url, body).header("content-type", "application/json")
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.request.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Names a part of the request that no error may quote.
    pub(super) fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// Uses the limit of metadata servers.
    pub(super) fn nearby(mut self) -> Self {
        self.limit = METADATA_LIMIT;
        self
    }

    /// Sends the request.
    pub(super) async fn send(self, surroundings: &Surroundings) -> Result<Reply, SourceError> {
        let Self { request, limit, secrets } = self;
        let host = host(&request.url);
        let answer = tokio::time::timeout(limit, exchange(surroundings, request)).await;
        match answer {
            Ok(Ok((status, headers, body))) => Ok(Reply { status, headers, body, host, secrets }),
            Ok(Err(problem)) => {
                Err(SourceError::new(format!("{host}: {}", cleaned(&problem, &secrets))))
            }
            Err(_) => {
                let seconds = limit.as_secs();
                Err(SourceError::new(format!("{host} did not respond within {seconds} s")))
            }
        }
    }
}

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

async fn exchange(
    surroundings: &Surroundings,
    request: WebRequest,
) -> Result<(u16, Vec<(String, String)>, String), String> {
    let mut response = surroundings.web.send(request).await.map_err(|error| error.message)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.message)? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err("the answer is too large".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok((response.status, std::mem::take(&mut response.headers), text))
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Returns the parsed body of a successful answer.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, SourceError> {
        if !self.is_success() {
            return Err(self.refusal());
        }
        // The texts of the parser quote values.
        serde_json::from_str(&self.body).map_err(|_| self.unexpected())
    }

    /// Returns the error of an answer that does not have the expected content.
    pub(super) fn unexpected(&self) -> SourceError {
        SourceError::new(format!("{} sent an answer that is not understood", self.host))
    }

    /// Returns the error of an unsuccessful answer.
    pub(super) fn refusal(&self) -> SourceError {
        let reason = match self.status {
            300..=399 => Some("redirects are not followed".to_owned()),
            _ => reason(&self.body),
        };
        self.refused_because(reason.as_deref())
    }

    /// Returns the error of an unsuccessful answer with a reason that the caller read from it.
    pub(super) fn refused_because(&self, reason: Option<&str>) -> SourceError {
        let mut text = format!("{} answered with status {}", self.host, self.status);
        let reason = reason.map(|reason| cleaned(reason, &self.secrets));
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            let _ = write!(text, ": {reason}");
        }
        SourceError::new(text)
    }
}

/// Returns the reason in the body of an error: the forms of OAuth, Google and Azure.
fn reason(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get("error").unwrap_or(&Value::Null);
    let text = |value: &Value, names: &[&str]| {
        names.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned))
    };
    let code = error.as_str().map(str::to_owned);
    let code = code.or_else(|| text(error, &["status", "code", "type"]));
    let code = code.or_else(|| text(&body, &["__type", "Code", "code"]));
    let message = text(&body, &["error_description", "message", "Message"]);
    match (code, message.or_else(|| text(error, &["message"]))) {
        (Some(code), Some(message)) => Some(format!("{code}: {message}")),
        (code, message) => code.or(message),
    }
}

/// Returns a text of a server on one line, shortened and without the secrets of the request.
fn cleaned(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret.as_str(), "[redacted]");
    }
    cut(&one_line(&text), MAX_REASON).into_owned()
}

/// Returns host and port of a URL.
fn host(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|url| {
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    });
    host.unwrap_or_else(|| "the server".to_owned())
}

/// Encodes the parameters of a form.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    pairs.join("&")
}

/// Encodes a value for a query or a form.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Checks that secrets can be sent to a URL: it uses TLS, or the server is on this machine.
pub(super) fn check_url(url: &str, named_by: &str) -> Result<(), SourceError> {
    let parsed = url::Url::parse(url)
        .map_err(|_| SourceError::new(format!("{named_by} is not a valid URL")))?;
    if parsed.scheme() == "https" || (parsed.scheme() == "http" && is_loopback(&parsed)) {
        Ok(())
    } else {
        Err(SourceError::new(format!("{named_by} is not an https URL")))
    }
}

/// Returns true if the host of a URL is this machine.
pub(super) fn is_loopback(url: &url::Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => address(host).is_some_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Returns the IP address that a host is.
pub(super) fn address(host: &str) -> Option<std::net::IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_errors() {
        for (body, expected) in [
            (
                r#"{"error":"invalid_grant","error_description":"expired"}"#,
                "invalid_grant: expired",
            ),
            (r#"{"error":{"code":403,"status":"DENIED","message":"no"}}"#, "DENIED: no"),
            (r#"{"type":"error","error":{"type":"a","message":"b"}}"#, "a: b"),
            (r#"{"message":"Session token not found"}"#, "Session token not found"),
            (r#"{"error":"x"}"#, "x"),
        ] {
            assert_eq!(reason(body).as_deref(), Some(expected), "{body}");
        }
        for body in ["", "<html>", "[]", "null", r#"{"error":7}"#] {
            assert_eq!(reason(body), None, "{body}");
        }
    }

    #[test]
    fn texts_are_cleaned() {
        assert_eq!(cleaned("a\u{1b}[31m\r\n b  SECRET", &["SECRET".into()]), "a[31m b [redacted]");
        assert_eq!(cleaned(&"é".repeat(400), &[]), format!("{}…", "é".repeat(300)));
    }

    #[test]
    fn urls_for_secrets() {
        for url in
            ["https://a.example/x", "http://127.0.0.1:1/", "http://[::1]/", "http://localhost"]
        {
            assert_eq!(check_url(url, "x"), Ok(()), "{url}");
        }
        for url in ["http://a.example/", "ftp://127.0.0.1/", "file:///etc", "", "http://[fe80::1]/"]
        {
            assert!(check_url(url, "x").is_err(), "{url}");
        }
        assert_eq!(encoded("a b+ü~"), "a%20b%2B%C3%BC~");
    }
}
