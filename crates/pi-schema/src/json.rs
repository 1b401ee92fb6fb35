//! JSON values: their types, their equality, and their text as JavaScript prints it.

use serde_json::Value;

use super::number;

/// Returns the type of a value, as messages name it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number::is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns true if two values are the same JSON: `1` equals `1.0`, and the order of members does
/// not matter.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => number::equal(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns a text that is the same for two values if and only if they are the same JSON.
///
/// A set of these texts finds duplicates in a long list faster than pairwise comparison.
pub(crate) fn identity(value: &Value) -> String {
    print(value, &Layout { indent: None, sorted: true })
}

/// Returns `JSON.stringify(value)`.
pub(crate) fn compact(value: &Value) -> String {
    print(value, &Layout { indent: None, sorted: false })
}

/// Returns `JSON.stringify(value, null, 2)`.
pub(crate) fn pretty(value: &Value) -> String {
    print(value, &Layout { indent: Some("  "), sorted: false })
}

fn print(value: &Value, layout: &Layout) -> String {
    let mut text = String::new();
    write(value, layout, 0, &mut text);
    text
}

struct Layout {
    indent: Option<&'static str>,
    /// Sorts members by name.
    sorted: bool,
}

impl Layout {
    fn new_line(&self, depth: usize, text: &mut String) {
        if let Some(indent) = self.indent {
            text.push('\n');
            for _ in 0..depth {
                text.push_str(indent);
            }
        }
    }
}

fn write(value: &Value, layout: &Layout, depth: usize, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&number::to_text(number)),
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                layout.new_line(depth + 1, text);
                write(item, layout, depth + 1, text);
            }
            layout.new_line(depth, text);
            text.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            let mut members: Vec<_> = members.iter().collect();
            if layout.sorted {
                members.sort_by_key(|(key, _)| *key);
            }
            text.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                layout.new_line(depth + 1, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                if layout.indent.is_some() {
                    text.push(' ');
                }
                write(member, layout, depth + 1, text);
            }
            layout.new_line(depth, text);
            text.push('}');
        }
        // serde_json and JavaScript agree on all other values.
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_printed_as_in_javascript() {
        let value = json!({"b": [1.0, 1e21, {}], "a": {"é\n\u{2028}": []}});
        assert_eq!(compact(&value), "{\"b\":[1,1e+21,{}],\"a\":{\"é\\n\u{2028}\":[]}}");
        assert_eq!(
            pretty(&json!({"a": [1, {"b": []}]})),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ]\n}"
        );
    }

    #[test]
    fn equality_ignores_notation_and_member_order() {
        for (a, b, same) in [
            (json!(1), json!(1.0), true),
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), true),
            (json!([1, 2]), json!([2, 1]), false),
            (json!(0), json!(false), false),
            (json!("1"), json!(1), false),
            (json!({"a": null}), json!({}), false),
        ] {
            assert_eq!(equal(&a, &b), same, "{a} {b}");
            assert_eq!(identity(&a) == identity(&b), same, "{a} {b}");
        }
    }
}
