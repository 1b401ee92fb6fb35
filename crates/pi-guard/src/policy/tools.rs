//! Rules on tool calls.
//!
//! A rule that allows matches only arguments that are written exactly so. A rule that asks or
//! forbids also matches other spellings of a path, and lists that contain one.

use serde_json::{Map, Value};

use super::{ArgumentPattern, Part, Policy, Scope, paths};
use crate::Decision;

pub(super) fn check(policy: &Policy, name: &str, arguments: &Map<String, Value>) -> Option<Part> {
    let matching = policy.rules.tools.iter().filter(|rule| {
        let strict = rule.decision > Decision::Allow;
        let matches = |argument: &ArgumentPattern| {
            let value = arguments.get(&argument.name);
            value.is_some_and(|value| value_matches(&argument.pattern, value, strict))
        };
        paths::glob(&rule.name, name) && rule.arguments.iter().all(matches)
    });
    let rule = matching.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Tool { name: name.to_owned() };
    let why = rule.justification.as_deref();
    Some(Part::by_rule(name, rule.decision, &rule.origin, why, scope))
}

fn value_matches(pattern: &str, value: &Value, strict: bool) -> bool {
    match value {
        Value::String(text) => {
            paths::glob(pattern, text) || strict && is_other_spelling(pattern, text)
        }
        Value::Array(values)
            if strict && values.iter().any(|v| value_matches(pattern, v, true)) =>
        {
            true
        }
        other => paths::glob(pattern, &other.to_string()),
    }
}

/// Returns true if the text is another spelling of a path that the pattern matches.
fn is_other_spelling(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut names: Vec<&str> = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    let plain = format!("{root}{}", names.join("/"));
    // An absolute path, whose directory may be the working directory.
    let below = !root.is_empty() && pattern.contains('/') && !pattern.starts_with('/');
    paths::glob(&pattern, &plain) || below && paths::glob(&format!("*/{pattern}"), &plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strict_rules_match_other_spellings_of_paths() {
        for (value, strict, allowing) in [
            (json!("secrets/x"), true, true),
            (json!("./secrets/x"), true, false),
            (json!("a/../secrets/x"), true, false),
            (json!("/w/p/secrets/x"), true, false),
            (json!("Secrets/x"), true, false),
            (json!(["a", "secrets/x"]), true, false),
            (json!("secrets"), false, false),
            (json!("my-secrets/x"), false, false),
            (json!(5), false, false),
        ] {
            assert_eq!(value_matches("secrets/*", &value, true), strict, "{value}");
            assert_eq!(value_matches("secrets/*", &value, false), allowing, "{value}");
        }
    }
}
