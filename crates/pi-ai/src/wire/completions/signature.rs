//! The signature that Google's endpoint puts beside a tool call.
//!
//! Gemini 3 refuses a call that comes back without it. Only a server that sent one gets one.

use serde_json::{Value, json};

/// The signature in a call's `extra_content`.
pub(super) fn read(extra_content: &str) -> Option<String> {
    let extra: Value = serde_json::from_str(extra_content).ok()?;
    let signature = extra.pointer("/google/thought_signature")?.as_str()?;
    (!signature.is_empty()).then(|| signature.to_owned())
}

/// The `extra_content` of a call with this signature. One that is JSON is a reasoning detail of
/// another endpoint.
pub(super) fn write(signature: Option<&str>) -> Option<Value> {
    let signature = signature.filter(|text| !text.is_empty() && !text.starts_with('{'))?;
    Some(json!({"google": {"thought_signature": signature}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_can_be_written() {
        let extra = r#"{"google":{"thought_signature":"c2ln"}}"#;
        let signature = read(extra);
        assert_eq!(signature.as_deref(), Some("c2ln"));
        assert_eq!(
            write(signature.as_deref()).map(|extra| extra.to_string()).as_deref(),
            Some(extra)
        );
    }

    #[test]
    fn anything_else_is_no_signature() {
        for extra in ["null", "7", r#""junk""#, "{}", r#"{"google":{"thought_signature":7}}"#] {
            assert_eq!(read(extra), None, "{extra}");
        }
        assert_eq!(write(None), None);
        assert_eq!(write(Some("")), None);
        assert_eq!(write(Some(r#"{"type":"reasoning.encrypted","data":"E"}"#)), None);
    }
}
