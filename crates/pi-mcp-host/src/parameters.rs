//! The schema of a tool's arguments, as models get it.

use serde_json::{Map, Value, json};

use crate::text::clean_schema;

/// The largest schema, as JSON. Each request carries it, or a search shows it.
const LARGEST: usize = 256 << 10;

/// The deepest nesting of a schema.
const DEEPEST: usize = 64;

/// Reasons why the schema of a tool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("its schema is larger than {} KiB", LARGEST >> 10)]
    TooLarge,
    #[error("its schema is nested more than {DEEPEST} levels deep")]
    TooDeep,
}

/// Returns the schema of an object with at least `type` and `properties`.
pub(crate) fn parameters(schema: Option<&Value>) -> Result<Value, SchemaError> {
    let Some(Value::Object(given)) = schema else {
        return Ok(json!({ "type": "object", "properties": {} }));
    };
    check(given)?;
    let mut map = given.clone();
    map.entry("type").or_insert_with(|| "object".into());
    map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let mut schema = Value::Object(map);
    clean_schema(&mut schema);
    Ok(schema)
}

/// Returns an error if a schema is too large or too deep.
pub(crate) fn check(schema: &Map<String, Value>) -> Result<(), SchemaError> {
    let mut size = 0;
    let mut rest: Vec<(&Value, usize)> = schema.values().map(|value| (value, 1)).collect();
    size += schema.keys().map(String::len).sum::<usize>();
    while let Some((value, depth)) = rest.pop() {
        if depth > DEEPEST {
            return Err(SchemaError::TooDeep);
        }
        size += 4;
        match value {
            Value::String(text) => size += text.len(),
            Value::Array(list) => rest.extend(list.iter().map(|value| (value, depth + 1))),
            Value::Object(map) => {
                size += map.keys().map(|key| key.len() + 4).sum::<usize>();
                rest.extend(map.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
        if size > LARGEST {
            return Err(SchemaError::TooLarge);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_completed_and_bounded() {
        let empty = json!({"type": "object", "properties": {}});
        assert_eq!(parameters(None), Ok(empty.clone()));
        assert_eq!(parameters(Some(&json!({}))), Ok(empty.clone()));
        assert_eq!(parameters(Some(&json!(true))), Ok(empty));
        let given =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(parameters(Some(&given)), Ok(given));
        let deep = (0..80).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert_eq!(parameters(Some(&deep)), Err(SchemaError::TooDeep));
        let wide = json!({"properties": {"a": {"enum": vec!["x".repeat(1000); 300]}}});
        assert_eq!(parameters(Some(&wide)), Err(SchemaError::TooLarge));
    }
}
