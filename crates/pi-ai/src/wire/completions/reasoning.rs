//! Reasoning in this format: plain text in one of three fields, and OpenRouter's structured
//! `reasoning_details`, which must be sent back to the provider unchanged.
//!
//! The signature of a thinking block is the name of the field, or the details as JSON.

use serde_json::{Map, Value};

/// A reasoning detail, as a JSON object.
type Detail = Map<String, Value>;

/// The field that carries plain reasoning text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    ReasoningContent,
    Reasoning,
    ReasoningText,
}

impl Field {
    /// Returns the name on the wire.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningText => "reasoning_text",
        }
    }

    /// Finds the field with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::ReasoningContent, Self::Reasoning, Self::ReasoningText]
            .into_iter()
            .find(|field| field.name() == name)
    }

    /// Returns the field under which this text is sent back to `provider`. OpenCode Go renames it.
    pub(super) fn as_sent_to(self, provider: &str) -> Self {
        match self {
            Self::Reasoning if provider == "opencode-go" => Self::ReasoningContent,
            other => other,
        }
    }
}

/// The reasoning details of one answer.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Detail>);

impl Details {
    /// Adds the details of a delta. Returns the text to show.
    pub(super) fn add(&mut self, json: &str) -> String {
        let mut shown = String::new();
        for detail in serde_json::from_str::<Vec<Value>>(json).unwrap_or_default() {
            if let Value::Object(detail) = detail
                && let Some(kind) = kind_of(&detail)
            {
                if let Some(text) = kind.text_field().and_then(|field| detail.get(field)) {
                    shown.push_str(text.as_str().unwrap_or_default());
                }
                self.add_one(kind, detail);
            }
        }
        shown
    }

    fn add_one(&mut self, kind: Kind, detail: Detail) {
        if let Some(field) = kind.text_field()
            && let Some(last) = self.0.last_mut()
            && continues(last, &detail, field)
        {
            merge(last, detail, field);
        } else {
            self.0.push(detail);
        }
    }

    /// Returns true if there are no details.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Serializes the details as a signature.
    pub(super) fn to_signature(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Summary,
    Encrypted,
}

impl Kind {
    /// Returns the field whose text streams.
    fn text_field(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("text"),
            Self::Summary => Some("summary"),
            Self::Encrypted => None,
        }
    }
}

fn kind_of(detail: &Detail) -> Option<Kind> {
    match detail.get("type")?.as_str()? {
        "reasoning.text" => Some(Kind::Text),
        "reasoning.summary" => Some(Kind::Summary),
        "reasoning.encrypted" => Some(Kind::Encrypted),
        _ => None,
    }
}

/// Returns true if `next` continues `last`: type and index are equal, and `last` has no signature.
fn continues(last: &Detail, next: &Detail, field: &str) -> bool {
    let agree = |name: &str| match (present(last, name), present(next, name)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    let adds_text = next.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let complete = present(last, "signature").is_some() && adds_text;
    agree("type") && agree("index") && agree("id") && !complete
}

fn present<'d>(detail: &'d Detail, name: &str) -> Option<&'d Value> {
    detail.get(name).filter(|value| is_set(value))
}

/// Returns true unless the value is `null` or the empty string that some servers send before the
/// signature.
fn is_set(value: &Value) -> bool {
    !value.is_null() && value != ""
}

fn merge(last: &mut Detail, next: Detail, field: &str) {
    for (name, value) in next {
        match (last.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more)) if name == field => {
                text.push_str(&more);
            }
            (Some(known), value) if !is_set(known) => *known = value,
            (None, value) => drop(last.insert(name, value)),
            // The first value counts: format, id and index do not change within a detail.
            _ => {}
        }
    }
}

/// Reads the details from the signature of a thinking block. A list with other items was not
/// written by this module.
pub(super) fn details_in(signature: Option<&str>) -> Vec<Value> {
    let Some(signature) = signature.filter(|text| text.starts_with('[')) else {
        return Vec::new();
    };
    let details: Vec<Value> = serde_json::from_str(signature).unwrap_or_default();
    let genuine = details.iter().all(|detail| detail.as_object().and_then(kind_of).is_some());
    if genuine { details } else { Vec::new() }
}

/// Reads the encrypted detail that earlier versions stored in the signature of a tool call.
pub(super) fn detail_in(signature: Option<&str>) -> Option<Value> {
    let signature = signature.filter(|text| text.starts_with('{'))?;
    let detail: Detail = serde_json::from_str(signature).ok()?;
    (kind_of(&detail)? == Kind::Encrypted).then(|| detail.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_of_one_detail_are_merged() {
        let mut details = Details::default();
        let deltas = [
            r#"[{"type":"reasoning.text","text":"","format":null,"index":0,"signature":""}]"#,
            r#"[{"type":"reasoning.text","text":"a","format":"f","index":0}]"#,
            r#"[{"type":"reasoning.text","text":"b","signature":"S","index":0}]"#,
            r#"[{"type":"reasoning.text","text":"c","index":1},{"type":"bogus"},7]"#,
            r#"[{"type":"reasoning.encrypted","data":"E"}]"#,
            r#"[{"type":"reasoning.summary","summary":"s1"},{"type":"reasoning.summary","summary":"s2"}]"#,
            "not json",
        ];
        let shown: String = deltas.iter().map(|delta| details.add(delta)).collect();
        assert_eq!(shown, "abcs1s2");
        assert_eq!(
            details.to_signature(),
            concat!(
                r#"[{"type":"reasoning.text","text":"ab","format":"f","index":0,"signature":"S"},"#,
                r#"{"type":"reasoning.text","text":"c","index":1},"#,
                r#"{"type":"reasoning.encrypted","data":"E"},"#,
                r#"{"type":"reasoning.summary","summary":"s1s2"}]"#,
            )
        );
    }

    #[test]
    fn a_signed_detail_is_not_continued() {
        let mut details = Details::default();
        details.add(r#"[{"type":"reasoning.text","text":"a","signature":"S"}]"#);
        details.add(r#"[{"type":"reasoning.text","text":"b"}]"#);
        assert_eq!(details_in(Some(&details.to_signature())).len(), 2);
    }

    #[test]
    fn signatures_without_details_are_ignored() {
        assert!(details_in(Some(r#"[{"type":"other"},1]"#)).is_empty());
        assert!(details_in(Some("reasoning_content")).is_empty());
        assert!(details_in(None).is_empty());
        assert!(detail_in(Some(r#"{"type":"reasoning.encrypted","data":"E"}"#)).is_some());
        assert!(detail_in(Some("c2ln")).is_none());
    }
}
