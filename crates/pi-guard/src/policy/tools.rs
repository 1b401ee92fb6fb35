//! Rules on calls of tools.
//!
//! A rule that allows fits only arguments that are written exactly so. One that asks or forbids
//! also fits other spellings of a path, and lists that hold one.

use serde_json::{Map, Value};

use super::check::ruled;
use super::{ArgumentPattern, Part, Policy, Scope, paths};
use crate::Decision;

pub(super) fn check(policy: &Policy, name: &str, arguments: &Map<String, Value>) -> Option<Part> {
    let fitting = policy.rules.tools.iter().filter(|rule| {
        let strict = rule.decision > Decision::Allow;
        let fits = |argument: &ArgumentPattern| {
            let value = arguments.get(&argument.name);
            value.is_some_and(|value| value_fits(&argument.pattern, value, strict))
        };
        paths::glob(&rule.name, name) && rule.arguments.iter().all(fits)
    });
    let rule = fitting.max_by_key(|rule| rule.decision)?;
    let scope = Scope::Tool { name: name.to_owned() };
    let why = rule.justification.as_deref();
    Some(ruled(name.to_owned(), rule.decision, &rule.origin, why, scope))
}

fn value_fits(pattern: &str, value: &Value, strict: bool) -> bool {
    match value {
        Value::String(text) => paths::glob(pattern, text) || strict && spelled(pattern, text),
        Value::Array(values) if strict && values.iter().any(|v| value_fits(pattern, v, true)) => {
            true
        }
        other => paths::glob(pattern, &other.to_string()),
    }
}

/// Whether a text is another spelling of what the pattern is about, if that is a path.
fn spelled(pattern: &str, text: &str) -> bool {
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
    // A path in a folder that nobody names here, which may be this one.
    let below = !root.is_empty() && pattern.contains('/') && !pattern.starts_with('/');
    paths::glob(&pattern, &plain) || below && paths::glob(&format!("*/{pattern}"), &plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_in_arguments() {
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
            assert_eq!(value_fits("secrets/*", &value, true), strict, "{value}");
            assert_eq!(value_fits("secrets/*", &value, false), allowing, "{value}");
        }
    }
}
