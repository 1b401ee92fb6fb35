//! Headers that repeat parts of a request (modern), and their encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::protocol::methods;

/// Returns the headers that every modern request has.
pub(super) fn standard_headers(
    method: &str,
    params: &Value,
    version: Option<&str>,
) -> Vec<(String, String)> {
    let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
    if let Some(version) = version {
        headers.push(("mcp-protocol-version".to_owned(), version.to_owned()));
    }
    let field = match method {
        methods::TOOLS_CALL | methods::PROMPTS_GET => "name",
        methods::RESOURCES_READ => "uri",
        methods::TASKS_GET | methods::TASKS_UPDATE | methods::TASKS_CANCEL => "taskId",
        _ => return headers,
    };
    if let Some(name) = params.get(field).and_then(Value::as_str) {
        headers.push(("mcp-name".to_owned(), header_value(name)));
    }
    headers
}

/// Writes a text as the value of a header. Texts that a header cannot carry, or that look encoded,
/// are encoded.
pub(crate) fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    let is_trimmed = text.trim_matches(' ').len() == text.len();
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && is_trimmed && !looks_encoded {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_values_are_encoded() {
        let cases = [
            ("us-west1", "us-west1"),
            ("a b", "a b"),
            ("", ""),
            ("Grüße", "=?base64?R3LDvMOfZQ==?="),
            (" x ", "=?base64?IHgg?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ];
        for (text, expected) in cases {
            assert_eq!(header_value(text), expected, "{text:?}");
        }
    }
}
