//! Requests to authorization servers: bounded in time and size, never redirected elsewhere.
//!
//! Errors quote texts of the server, cleaned, and without the secrets that the request contained.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

use super::error::OauthError;
use super::service::TokenEncoding;
use super::text::clean;
use super::validate::is_safe;
use crate::user_agent;
use crate::{WebBody, WebClient, WebRequest, WebResponse};

/// Longest time of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer. Metadata and tokens have a few kilobytes.
const MAX_BODY: usize = 1 << 20;
/// Most redirects of metadata within one origin.
const MAX_REDIRECTS: usize = 3;
/// Parameters that must not be quoted.
const SECRET_PARAMS: &[&str] = &[
    "client_secret",
    "code",
    "code_verifier",
    "device_auth_id",
    "device_code",
    "identity_token",
    "refresh_token",
    "token",
];

/// Names and values of a request.
pub(super) type Params = Vec<(&'static str, String)>;

/// An answer whose body is a JSON object.
pub(super) struct Reply {
    host: String,
    pub(super) status: u16,
    pub(super) body: Map<String, Value>,
    /// The body is not a JSON object; its beginning.
    text: Option<String>,
    secrets: Vec<String>,
}

impl Reply {
    /// Creates an answer for tests.
    #[cfg(test)]
    pub(super) fn scripted(status: u16, body: &Value) -> Self {
        reply("server".to_owned(), status, body.to_string().as_bytes(), Vec::new())
    }

    /// Returns the object of a success.
    pub(super) fn success(self) -> Result<Map<String, Value>, OauthError> {
        if let Some(refused) = self.refusal() {
            return Err(refused);
        }
        if !(200..300).contains(&self.status) {
            let text = self.text.or_else(|| message_in(&self.body)).unwrap_or_default();
            let body = redacted(&text, &self.secrets);
            return Err(OauthError::Status { host: self.host, status: self.status, body });
        }
        if self.text.is_some() {
            return Err(self.nonsense("it is not a JSON object"));
        }
        Ok(self.body)
    }

    /// Checks the success of a revocation, whose body is empty.
    pub(super) fn revoked(mut self) -> Result<(), OauthError> {
        if (200..300).contains(&self.status) {
            self.text = None;
        }
        self.success().map(drop)
    }

    /// Returns the error code in the answer. Some servers send it with the status 200.
    pub(super) fn error_code(&self) -> Option<&str> {
        let code = match self.body.get("error") {
            Some(Value::String(code)) => Some(code.as_str()),
            Some(Value::Object(error)) => {
                ["code", "type"].iter().find_map(|key| error.get(*key)?.as_str())
            }
            _ => None,
        };
        // Some servers send only `code`, which in a success means something else.
        let is_success = (200..300).contains(&self.status);
        code.or_else(|| self.body.get("code").filter(|_| !is_success)?.as_str())
    }

    fn refusal(&self) -> Option<OauthError> {
        let code = self.error_code()?;
        // A server that is down may also send a code; its status tells more.
        if self.status >= 500 {
            return None;
        }
        let description = message_in(&self.body).map(|text| redacted(&text, &self.secrets));
        Some(OauthError::Refused { code: redacted(code, &self.secrets), description })
    }

    /// Returns the error for an answer that cannot be used.
    pub(super) fn nonsense(&self, problem: impl Into<String>) -> OauthError {
        OauthError::Answer { host: self.host.clone(), problem: problem.into() }
    }
}

/// Finds the explanation of an error.
fn message_in(body: &Map<String, Value>) -> Option<String> {
    let nested = body.get("error").and_then(Value::as_object);
    let keys = ["error_description", "message", "detail"];
    let texts = keys.iter().flat_map(|key| [body.get(*key), nested.and_then(|map| map.get(*key))]);
    texts.flatten().find_map(Value::as_str).map(str::to_owned)
}

/// Cleans a text of the server and removes secrets from it.
fn redacted(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "[redacted]");
    }
    clean(&text)
}

/// Sends parameters to an endpoint.
pub(super) async fn post(
    web: &WebClient,
    url: &str,
    encoding: TokenEncoding,
    params: &[(&str, String)],
    headers: &[(String, String)],
) -> Result<Reply, OauthError> {
    let (content_type, body) = match encoding {
        TokenEncoding::Form => ("application/x-www-form-urlencoded", form(params)),
        TokenEncoding::Json => {
            let object: Map<String, Value> = params
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())))
                .collect();
            ("application/json", Value::Object(object).to_string())
        }
    };
    let mut secrets = secrets_of(params);
    secrets.extend(headers.iter().filter_map(|(name, value)| secret_of_header(name, value)));
    send(web, "POST", url, content_type, body, headers, secrets).await
}

/// Sends a JSON value to an endpoint.
pub(super) async fn post_json(
    web: &WebClient,
    url: &str,
    body: &Value,
    headers: &[(String, String)],
) -> Result<Reply, OauthError> {
    let secrets = headers.iter().filter_map(|(name, value)| secret_of_header(name, value));
    let secrets = secrets.collect();
    send(web, "POST", url, "application/json", body.to_string(), headers, secrets).await
}

/// Reads an object. Redirects within the origin are followed.
pub(super) async fn get(
    web: &WebClient,
    url: &str,
    headers: &[(String, String)],
) -> Result<Reply, OauthError> {
    let secrets = headers.iter().filter_map(|(name, value)| secret_of_header(name, value));
    let secrets = secrets.collect();
    send(web, "GET", url, "", String::new(), headers, secrets).await
}

async fn send(
    web: &WebClient,
    method: &str,
    url: &str,
    content_type: &str,
    body: String,
    headers: &[(String, String)],
    secrets: Vec<String>,
) -> Result<Reply, OauthError> {
    let mut url = checked(url)?;
    for _ in 0..=MAX_REDIRECTS {
        let host = host_of(&url);
        let mut all = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("user-agent".to_owned(), user_agent()),
        ];
        if !content_type.is_empty() {
            all.push(("content-type".to_owned(), content_type.to_owned()));
        }
        all.extend(headers.iter().cloned());
        let request = WebRequest {
            method: method.to_owned(),
            url: url.to_string(),
            headers: all,
            body: if method == "GET" {
                WebBody::Empty
            } else {
                WebBody::Bytes(body.clone().into_bytes())
            },
        };
        let exchange = timeout(TIMEOUT, exchange(web, request, &host)).await;
        let (response, body) = exchange.map_err(|_| OauthError::Connection {
            host: host.clone(),
            problem: format!("no answer within {} s", TIMEOUT.as_secs()),
        })??;
        if !(300..400).contains(&response.status) {
            return Ok(reply(host, response.status, &body, secrets));
        }
        url = redirected(&url, &response, method)?;
    }
    let problem = "it redirects too often".to_owned();
    Err(OauthError::Answer { host: host_of(&url), problem })
}

async fn exchange(
    web: &WebClient,
    request: WebRequest,
    host: &str,
) -> Result<(WebResponse, Vec<u8>), OauthError> {
    let broken = |error: crate::WebError| OauthError::Connection {
        host: host.to_owned(),
        problem: error.message,
    };
    let mut response = web.send(request).await.map_err(broken)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_BODY {
            let problem = format!("it is larger than {MAX_BODY} bytes");
            return Err(OauthError::Answer { host: host.to_owned(), problem });
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response, body))
}

fn reply(host: String, status: u16, body: &[u8], secrets: Vec<String>) -> Reply {
    match serde_json::from_slice(body) {
        Ok(Value::Object(body)) => Reply { host, status, body, text: None, secrets },
        _ => {
            let text = Some(String::from_utf8_lossy(body).into_owned());
            Reply { host, status, body: Map::new(), text, secrets }
        }
    }
}

/// Returns the target of a redirect that may be followed: of a `GET` and within the origin. A token
/// request contains secrets, and RFC 6749 knows no redirect of it.
fn redirected(from: &Url, response: &WebResponse, method: &str) -> Result<Url, OauthError> {
    let location = response.headers.iter().find(|(name, _)| name == "location");
    let target = location.and_then(|(_, value)| from.join(value).ok());
    match target {
        Some(target) if method == "GET" && target.origin() == from.origin() => Ok(target),
        target => {
            let to = target.as_ref().map_or_else(|| "nowhere".to_owned(), host_of);
            let problem = format!("it redirects to {to}, which is not followed");
            Err(OauthError::Answer { host: host_of(from), problem })
        }
    }
}

/// Parses the URL of a server, which must be encrypted unless it is on this machine.
pub(super) fn checked(url: &str) -> Result<Url, OauthError> {
    let parsed = Url::parse(url).map_err(|error| OauthError::Answer {
        host: clean(url),
        problem: format!("the address is malformed: {error}"),
    })?;
    if is_safe(&parsed) {
        return Ok(parsed);
    }
    Err(OauthError::Untrusted(format!("{} is neither https nor on this machine", clean(url))))
}

/// Parses a URL that a server names. A server elsewhere cannot send requests to services of this
/// machine.
pub(super) fn checked_from(server: &Url, url: &str) -> Result<Url, OauthError> {
    let parsed = checked(url)?;
    if leads_here(&parsed) && !leads_here(server) {
        let (host, target) = (host_of(server), clean(url));
        return Err(OauthError::Untrusted(format!("{host} points to this machine, {target}")));
    }
    Ok(parsed)
}

/// Returns true for names and addresses of this machine.
fn leads_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']', '.']);
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns host and port, for error texts.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Encodes a form.
pub(super) fn form(params: &[(&str, String)]) -> String {
    // The query of a URL has the encoding of a form.
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(params);
    url.query().unwrap_or_default().to_owned()
}

fn secrets_of(params: &[(&str, String)]) -> Vec<String> {
    let secret =
        |(name, value): &&(&str, String)| SECRET_PARAMS.contains(name) && !value.is_empty();
    let mut secrets = Vec::new();
    for (name, value) in params.iter().filter(secret) {
        secrets.push(value.clone());
        // A server may quote the encoded form of the request.
        let encoded = form(&[(*name, value.clone())]);
        if let Some((_, encoded)) = encoded.split_once('=') {
            secrets.push(encoded.to_owned());
        }
    }
    secrets
}

fn secret_of_header(name: &str, value: &str) -> Option<String> {
    let secret = value.rsplit_once(' ').map_or(value, |(_, secret)| secret);
    name.eq_ignore_ascii_case("authorization").then(|| secret.to_owned())
}
