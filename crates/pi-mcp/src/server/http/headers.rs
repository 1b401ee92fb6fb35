//! Headers of the protocol: the era of a request, and whether they agree with its body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_jsonrpc::{Error, Message};
use pi_web::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use pi_web::server::single;
use serde_json::Value;

use super::super::{LEGACY, envelope};
use crate::protocol::errors::HEADER_MISMATCH;
use crate::protocol::methods;

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

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
