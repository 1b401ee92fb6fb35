//! Assertions on the structured result, or on a JSON file.

use pi_base::text;
use regex_lite::Regex;
use serde_json::Value;

use crate::contract::JsonTest;

/// Returns the failures of the assertions, one sentence each.
pub(super) fn failures(tests: &[JsonTest], value: &Value) -> Vec<String> {
    tests.iter().flat_map(|test| failures_of(test, value)).collect()
}

fn failures_of(test: &JsonTest, value: &Value) -> Vec<String> {
    let pointer = &test.pointer;
    let shown = if pointer.is_empty() { "the value" } else { pointer };
    let found = value.pointer(pointer);
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return vec![format!("{pointer:?} is not a JSON pointer: it must begin with /")];
    }
    if test.exists == Some(false) {
        return match found {
            Some(_) => vec![format!("{shown} exists, but must not")],
            None => Vec::new(),
        };
    }
    let Some(found) = found else { return vec![format!("{shown} does not exist")] };
    let mut failures = Vec::new();
    if let Some(expected) = &test.equals
        && !is_equal(expected, found)
    {
        failures.push(format!("{shown} is {}, expected {}", cut(found), cut(expected)));
    }
    if let Some(pattern) = &test.matches {
        match (Regex::new(pattern), found.as_str()) {
            (Err(error), _) => failures.push(format!("invalid pattern {pattern:?}: {error}")),
            (_, None) => failures.push(format!("{shown} is {}, expected a string", cut(found))),
            (Ok(regex), Some(text)) if !regex.is_match(text) => {
                failures
                    .push(format!("{shown} is {}, which does not match {pattern:?}", cut(found)));
            }
            _ => {}
        }
    }
    if test.min.is_some() || test.max.is_some() {
        let (what, size) = measure(found);
        match size {
            None => failures.push(format!("{shown} is {}, which has no size", cut(found))),
            Some(size) => {
                if let Some(min) = test.min.filter(|min| size < *min) {
                    failures.push(format!("{what} {shown} is {size}, expected at least {min}"));
                }
                if let Some(max) = test.max.filter(|max| size > *max) {
                    failures.push(format!("{what} {shown} is {size}, expected at most {max}"));
                }
            }
        }
    }
    failures
}

/// Compares numbers by value: 1 and 1.0 are equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => one == other,
    }
}

/// Returns the number that `min` and `max` apply to, and its description.
fn measure(value: &Value) -> (&'static str, Option<f64>) {
    match value {
        Value::Number(number) => ("the number", number.as_f64()),
        Value::String(text) => ("the length of", Some(text.chars().count() as f64)),
        Value::Array(items) => ("the length of", Some(items.len() as f64)),
        Value::Object(fields) => ("the number of fields of", Some(fields.len() as f64)),
        Value::Null | Value::Bool(_) => ("", None),
    }
}

/// Writes a value, cut to a length that fits a message.
fn cut(value: &Value) -> String {
    text::cut(&value.to_string(), 200).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assertions() {
        let value = json!({"a": 1, "list": [1, 2], "name": "x1", "deep": {"b": null}});
        let cases = [
            (json!({"pointer": "/a", "equals": 1.0}), ""),
            (json!({"pointer": "/a", "equals": 2}), "/a is 1, expected 2"),
            (json!({"pointer": "/missing"}), "/missing does not exist"),
            (json!({"pointer": "/missing", "exists": false}), ""),
            (json!({"pointer": "/a", "exists": false}), "/a exists, but must not"),
            (json!({"pointer": "/deep/b", "equals": null}), ""),
            (
                json!({"pointer": "/list", "min": 3}),
                "the length of /list is 2, expected at least 3",
            ),
            (json!({"pointer": "/a", "max": 0.5}), "the number /a is 1, expected at most 0.5"),
            (json!({"pointer": "/name", "matches": "^x[0-9]$"}), ""),
            (
                json!({"pointer": "/name", "matches": "y"}),
                "/name is \"x1\", which does not match \"y\"",
            ),
            (json!({"pointer": "/a", "matches": "1"}), "/a is 1, expected a string"),
            (json!({"pointer": "/name", "matches": "("}), "invalid pattern"),
            (json!({"pointer": "a"}), "\"a\" is not a JSON pointer"),
            (json!({"pointer": "", "min": 4, "max": 4}), ""),
            (json!({"pointer": "/deep/b", "min": 1}), "/deep/b is null, which has no size"),
        ];
        for (test, expected) in cases {
            let test: JsonTest = serde_json::from_value(test).expect("a test");
            let found = failures(std::slice::from_ref(&test), &value);
            match expected {
                "" => assert!(found.is_empty(), "{test:?}: {found:?}"),
                start => {
                    assert!(
                        found.iter().any(|text| text.starts_with(start)),
                        "{test:?}: {found:?}"
                    );
                }
            }
        }
    }
}
