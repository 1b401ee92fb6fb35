//! Fields and bodies as the TypeScript pi reads them.

use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
struct Case {
    input: String,
    #[serde(default)]
    frontmatter: Value,
    body: Option<String>,
    error: Option<String>,
    /// Reason for a different result.
    deviation: Option<String>,
    ours: Option<String>,
}

#[test]
fn front_matter_is_read_as_by_pi() {
    for line in include_str!("../../../tests/fixtures/resources/front_matter.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let text = normalize(&case.input);
        let (yaml, body) = split(&text);
        let fields = Fields::parse(yaml.unwrap_or_default());
        if case.error.is_some() {
            assert!(fields.is_err(), "{line}");
            continue;
        }
        assert_eq!(case.deviation.is_some(), case.ours.is_some(), "{line}");
        if let Some(ours) = case.ours {
            assert_eq!(body, ours, "{line}");
            continue;
        }
        assert_eq!(Some(body), case.body.as_deref(), "{line}");
        let fields = fields.unwrap();
        for (name, value) in case.frontmatter.as_object().into_iter().flatten() {
            assert_eq!(fields.text(name), value.as_str(), "{name} in {line}");
            assert_eq!(fields.is_true(name), value == true, "{name} in {line}");
        }
    }
}
