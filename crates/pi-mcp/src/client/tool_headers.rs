//! Arguments of tools that are repeated as HTTP headers (`x-mcp-header`, modern).

use serde_json::{Map, Value};

use crate::transport::header_value;

const MARK: &str = "x-mcp-header";
/// Keywords whose values are data, not schemas.
const DATA: [&str; 5] = ["default", "const", "enum", "examples", "example"];

/// A property that is repeated as a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderRule {
    /// Names of the properties that lead to the value.
    path: Vec<String>,
    /// Name of the header, without its prefix.
    name: String,
}

/// Returns the headers that a schema declares, or why the declaration is invalid.
pub(super) fn header_rules(schema: &Value) -> Result<Vec<HeaderRule>, String> {
    let mut rules = Vec::new();
    walk(schema, Some(&mut Vec::new()), &mut rules)?;
    let mut names: Vec<String> = rules.iter().map(|one| one.name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(format!("two properties have the same `{MARK}`"));
    }
    Ok(rules)
}

/// Returns the headers of a call.
pub(super) fn headers(rules: &[HeaderRule], arguments: &Value) -> Vec<(String, String)> {
    let headers = rules.iter().filter_map(|rule| {
        let value = rule.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => whole(number)?.to_string(),
            _ => return None,
        };
        Some((format!("mcp-param-{}", rule.name), header_value(&text)))
    });
    headers.collect()
}

fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let number = number.as_f64()?;
        (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
    })
}

/// Walks a schema. `path` leads to it by properties only; `None` if something else is on the way.
fn walk(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    rules: &mut Vec<HeaderRule>,
) -> Result<(), String> {
    let object = match schema {
        Value::Object(object) => object,
        Value::Array(all) => return all.iter().try_for_each(|one| walk(one, None, rules)),
        _ => return Ok(()),
    };
    if let Some(mark) = object.get(MARK) {
        let path = path.as_deref().filter(|path| !path.is_empty());
        let Some(path) = path else {
            return Err(format!("`{MARK}` is only allowed on properties of objects"));
        };
        rules.push(HeaderRule { path: path.clone(), name: checked_name(mark, object)? });
    }
    for (keyword, value) in object {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    match path.as_deref_mut() {
                        Some(path) => {
                            path.push(name.clone());
                            walk(property, Some(path), rules)?;
                            path.pop();
                        }
                        None => walk(property, None, rules)?,
                    }
                }
            }
            (MARK, _) => {}
            (keyword, _) if DATA.contains(&keyword) => {}
            _ => walk(value, None, rules)?,
        }
    }
    Ok(())
}

fn checked_name(mark: &Value, schema: &Map<String, Value>) -> Result<String, String> {
    let is_token = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let Some(name) = mark.as_str().filter(|name| is_token(name)) else {
        return Err(format!("`{MARK}` is not the name of a header"));
    };
    let is_simple = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    let is_allowed = match schema.get("type") {
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter(|kind| kind.as_str() != Some("null")).peekable();
            kinds.peek().is_some() && kinds.all(is_simple)
        }
        Some(kind) => is_simple(kind),
        None => false,
    };
    if !is_allowed {
        return Err(format!("`{MARK}` needs the type string, integer or boolean"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn declared_arguments_become_headers() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": {
                "count": { "type": "integer", "x-mcp-header": "Count" } } },
            "flag": { "type": ["boolean", "null"], "x-mcp-header": "Flag" },
            "x-mcp-header": { "type": "string", "default": { "x-mcp-header": 1 } },
        } });
        let rules = header_rules(&schema).expect("valid");
        let arguments =
            json!({ "region": "Ü", "deep": { "count": 42.0 }, "flag": null, "other": 1 });
        let expected = [("mcp-param-Region", "=?base64?w5w=?="), ("mcp-param-Count", "42")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers(&rules, &arguments), expected);
    }

    #[test]
    fn invalid_declarations_are_refused() {
        let cases = [
            json!({ "type": "string", "x-mcp-header": "" }),
            json!({ "type": "string", "x-mcp-header": "a b" }),
            json!({ "type": "string", "x-mcp-header": "a\r\nb" }),
            json!({ "type": "string", "x-mcp-header": 1 }),
            json!({ "type": "number", "x-mcp-header": "N" }),
            json!({ "type": "object", "x-mcp-header": "N" }),
            json!({ "x-mcp-header": "N" }),
            json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "N" } }),
            json!({ "oneOf": [{ "type": "string", "x-mcp-header": "N" }] }),
            json!({ "type": "object", "properties": {
                "b": { "type": "string", "x-mcp-header": "same" } },
                "additionalProperties": { "type": "string", "x-mcp-header": "N" } }),
        ];
        for property in cases {
            let schema = json!({ "type": "object", "properties": { "a": property } });
            assert!(header_rules(&schema).is_err(), "{schema}");
        }
        let twice = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Same" },
            "b": { "type": "string", "x-mcp-header": "same" } } });
        assert!(header_rules(&twice).is_err());
        let reference = json!({ "properties": { "a": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "type": "string", "x-mcp-header": "N" } } });
        assert!(header_rules(&reference).is_err());
        assert!(header_rules(&json!({ "type": "object", "x-mcp-header": "N" })).is_err());
    }
}
