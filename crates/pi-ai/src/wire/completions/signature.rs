//! The signature that Google's endpoint adds to a tool call.
//!
//! Gemini 3 rejects a call without its signature. Signatures are sent only to servers that sent one.

use serde_json::{Value, json};

/// Reads the signature from the `extra_content` of a call.
pub(super) fn read(extra_content: &str) -> Option<String> {
    let extra: Value = serde_json::from_str(extra_content).ok()?;
    let signature = extra.pointer("/google/thought_signature")?.as_str()?;
    (!signature.is_empty()).then(|| signature.to_owned())
}

/// Writes the `extra_content` of a call with this signature. A JSON signature is a reasoning detail
/// of another endpoint.
pub(super) fn write(signature: Option<&str>) -> Option<Value> {
    let signature = signature.filter(|text| !text.is_empty() && !text.starts_with('{'))?;
    Some(json!({"google": {"thought_signature": signature}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_survives_a_round_trip() {
        let extra = r#"{"google":{"thought_signature":"c2ln"}}"#;
        let signature = read(extra);
        assert_eq!(signature.as_deref(), Some("c2ln"));
        assert_eq!(
            write(signature.as_deref()).map(|extra| extra.to_string()).as_deref(),
            Some(extra)
        );
    }

    #[test]
    fn other_content_is_not_a_signature() {
        for extra in ["null", "7", r#""junk""#, "{}", r#"{"google":{"thought_signature":7}}"#] {
            assert_eq!(read(extra), None, "{extra}");
        }
        assert_eq!(write(None), None);
        assert_eq!(write(Some("")), None);
        assert_eq!(write(Some(r#"{"type":"reasoning.encrypted","data":"E"}"#)), None);
    }
}
