//! Headers: who may ask, in which era, and whether they agree with the body.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::WWW_AUTHENTICATE;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Response, StatusCode};
use pi_jsonrpc::{Error, Message};
use serde_json::Value;
use url::Url;

use super::super::{HttpOptions, LEGACY, envelope};
use super::body::Body;
use super::problem;
use crate::protocol::errors::HEADER_MISMATCH;
use crate::protocol::methods;

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Decides who may ask.
#[derive(Debug)]
pub(super) struct Gate {
    hosts: Vec<String>,
    token: Option<String>,
}

impl Gate {
    pub(super) fn new(address: SocketAddr, options: HttpOptions) -> Self {
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
        if !address.ip().is_unspecified() {
            hosts.push(match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        hosts.extend(options.hosts.iter().map(|host| host.to_ascii_lowercase()));
        Self { hosts, token: options.token }
    }

    /// Refuses pages of other sites, other names of this machine, and clients without the token.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Box<Response<Body>>> {
        let host = single(headers, HOST.as_str());
        if !host.is_some_and(|host| self.knows(host)) {
            return Err(Box::new(problem(StatusCode::MISDIRECTED_REQUEST, "Unknown host")));
        }
        if headers.contains_key(ORIGIN) {
            let origin =
                single(headers, ORIGIN.as_str()).and_then(|origin| Url::parse(origin).ok());
            let host = origin.as_ref().and_then(Url::host_str);
            if !host.is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
                let message = "Requests of this origin are refused";
                return Err(Box::new(problem(StatusCode::FORBIDDEN, message)));
            }
        }
        let Some(token) = &self.token else { return Ok(()) };
        let given = single(headers, AUTHORIZATION.as_str()).and_then(bearer);
        if !given.is_some_and(|given| is_equal(given, token)) {
            let mut refused = problem(StatusCode::UNAUTHORIZED, "The token is missing or wrong");
            let challenge = HeaderValue::from_static("Bearer");
            refused.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return Err(Box::new(refused));
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        // An address of IPv6 has colons, but inside of brackets.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => name,
            _ => &host,
        };
        self.hosts.iter().any(|known| known == name)
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares without telling by the time how much is equal.
fn is_equal(given: &str, token: &str) -> bool {
    let different = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && different == 0
}

/// Returns a header that occurs once and is text.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    values.next().is_none().then_some(value)
}

/// Returns true if the body is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = single(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Returns true if the client reads streams of events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/event-stream") || value.contains("*/*"))
}

/// Returns true if a message is that of a modern client.
pub(super) fn is_modern(headers: &HeaderMap, message: &Message) -> bool {
    let params = match message {
        Message::Request(request) => request.params.as_ref(),
        Message::Notification(notification) => notification.params.as_ref(),
        Message::Response(_) => None,
    };
    if envelope::is_modern(params) {
        return true;
    }
    match single(headers, VERSION) {
        Some(version) => !LEGACY.contains(&version),
        None => headers.contains_key(METHOD),
    }
}

/// Checks that the headers of a modern request say the same as its body.
pub(super) fn check_version(headers: &HeaderMap, params: Option<&Value>) -> Result<(), Error> {
    match (single(headers, VERSION), envelope::version(params)) {
        (Some(header), Some(body)) if header == body => Ok(()),
        _ => Err(mismatch("MCP-Protocol-Version")),
    }
}

/// Checks the headers that name the method and what it is about.
pub(super) fn check_names(
    headers: &HeaderMap,
    method: &str,
    params: Option<&Value>,
) -> Result<(), Error> {
    if single(headers, METHOD) != Some(method) {
        return Err(mismatch("Mcp-Method"));
    }
    let key = match method {
        methods::TOOLS_CALL | methods::PROMPTS_GET => "name",
        methods::RESOURCES_READ => "uri",
        methods::TASKS_GET | methods::TASKS_UPDATE | methods::TASKS_CANCEL => "taskId",
        _ => return Ok(()),
    };
    let Some(name) = params.and_then(|params| params.get(key)).and_then(Value::as_str) else {
        return Ok(());
    };
    match single(headers, NAME).and_then(decode) {
        Some(header) if header == name => Ok(()),
        _ => Err(mismatch("Mcp-Name")),
    }
}

/// Checks the headers that repeat arguments of a tool, as its schema asks for.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    schema: &Value,
    arguments: Option<&Value>,
) -> Result<(), Error> {
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let Some(header) = property["x-mcp-header"].as_str() else { continue };
        let header = format!("mcp-param-{}", header.to_ascii_lowercase());
        let value = arguments.and_then(|arguments| arguments.get(name));
        let expected = match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(value) => Some(value.to_string()),
        };
        let given = single(headers, &header).map(decode);
        let is_equal = match (given, expected) {
            (None, None) => !headers.contains_key(&header),
            (Some(Some(given)), Some(expected)) => given == expected,
            _ => false,
        };
        if !is_equal {
            return Err(mismatch(&header));
        }
    }
    Ok(())
}

/// Decodes the value of a header; `None` if it is invalid.
fn decode(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(header: &str) -> Error {
    let message = format!("The header {header} is missing or differs from the body");
    Error::new(HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_without_their_port() {
        let options = HttpOptions { hosts: vec!["Pi.Example".to_owned()], token: None };
        let gate = Gate::new(([127, 0, 0, 1], 8000).into(), options);
        for host in ["localhost", "LOCALHOST:8000", "127.0.0.1:9", "[::1]", "[::1]:8", "pi.example"]
        {
            assert!(gate.knows(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""] {
            assert!(!gate.knows(host), "{host}");
        }
    }

    #[test]
    fn encoded_values_must_be_valid() {
        let cases = [
            ("plain", Some("plain")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
        ];
        for (value, expected) in cases {
            assert_eq!(decode(value).as_deref(), expected, "{value}");
        }
    }
}
