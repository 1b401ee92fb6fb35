//! The schema of a tool's arguments, generated from a Rust type.
//!
//! The generator writes for programs that validate data. For models the result is simplified: an
//! optional argument is just not required, and numbers have no widths. Providers that enforce
//! schemas reject some of the rest.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the JSON Schema of a Rust type, simplified for models.
pub fn schema_of<P: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<P>()
        .to_value();
    if let Some(root) = schema.as_object_mut() {
        // The name of a Rust type means nothing to a model, and the tool has its own description.
        for keyword in ["$schema", "title", "description"] {
            root.shift_remove(keyword);
        }
    }
    simplify(&mut schema);
    schema
}

/// Removes keywords that only concern Rust, at any depth. Rust types are finite, so recursion ends.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if is_number(object) {
                // `double`, `uint32`: widths of Rust's numbers, not formats of JSON Schema.
                object.shift_remove("format");
            }
            make_optional(object);
            object.values_mut().for_each(simplify);
        }
        Value::Array(members) => members.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Removes `null` from the types of optional arguments: leaving them out is enough.
fn make_optional(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        let Some(property) = property.as_object_mut() else { continue };
        if required.contains(&name.as_str().into()) {
            continue;
        }
        if property.get("default").is_some_and(Value::is_null) {
            property.shift_remove("default");
        }
        if let Some(Value::Array(kinds)) = property.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [only] = &mut kinds[..] {
                let only = only.take();
                property.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(values)) = property.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Value::Array(members)) = property.get_mut("anyOf") {
            members.retain(|member| member.get("type").is_none_or(|kind| kind != "null"));
            if let [Value::Object(only)] = &mut members[..] {
                let only = std::mem::take(only);
                property.shift_remove("anyOf");
                // Keywords of the argument take precedence over those of its type.
                only.into_iter().for_each(|(keyword, value)| {
                    property.entry(keyword).or_insert(value);
                });
            }
        }
    }
}

fn is_number(object: &Map<String, Value>) -> bool {
    let is = |kind: &Value| kind == "number" || kind == "integer";
    match object.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is),
        Some(kind) => is(kind),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A description of the type, which is not part of the schema.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        /// Name of the file
        name: String,
        /// Number of lines to read
        count: Option<f64>,
        #[serde(default)]
        flag: Option<bool>,
        small: u8,
        /// Choice of one or two
        choice: Option<Choice>,
        inner: Option<Inner>,
        /// Required in spite of its type
        #[schemars(required)]
        mandatory: Option<String>,
        many: Vec<Inner>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Choice {
        One,
        Two,
    }

    /// Description of the nested type.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        depth: Option<i64>,
    }

    #[test]
    fn the_schema_of_a_type_is_simplified() {
        let inner = json!({
            "description": "Description of the nested type.",
            "type": "object",
            "properties": { "depth": { "type": "integer" } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "description": "Name of the file", "type": "string" },
                "count": { "description": "Number of lines to read", "type": "number" },
                "flag": { "type": "boolean" },
                "small": { "type": "integer", "minimum": 0, "maximum": 255 },
                "choice": {
                    "description": "Choice of one or two",
                    "type": "string",
                    "enum": ["one", "two"],
                },
                "inner": inner,
                "mandatory": { "description": "Required in spite of its type", "type": "string" },
                "many": { "type": "array", "items": inner },
            },
            "required": ["name", "small", "mandatory", "many"],
        });
        assert_eq!(schema_of::<Arguments>(), expected);
    }
}
