//! The schema of a tool's arguments, made from a Rust type.
//!
//! What the generator says to programs that check data is more than models are told elsewhere:
//! an optional argument is simply not required, and numbers have no widths. Providers that
//! enforce schemas refuse some of it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The JSON Schema of a Rust type, as models are told it.
pub fn schema_of<P: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<P>()
        .to_value();
    if let Some(root) = schema.as_object_mut() {
        // The name of a Rust type tells a model nothing, and the tool has a description already.
        for keyword in ["$schema", "title", "description"] {
            root.shift_remove(keyword);
        }
    }
    simplify(&mut schema);
    schema
}

/// Takes away what is only about Rust, at any depth. A type is as deep as it was written.
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

/// Arguments that may be missing need not be null as well.
fn make_optional(object: &mut Map<String, Value>) {
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    let optional =
        properties.iter_mut().filter(|(name, _)| !required.contains(&(*name).as_str().into()));
    for property in optional.filter_map(|(_, property)| property.as_object_mut()) {
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
                // What is said about the argument goes before what is said about its type.
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

    /// The type.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        /// A name
        name: String,
        /// How many
        count: Option<f64>,
        #[serde(default)]
        flag: Option<bool>,
        small: u8,
        /// Which one
        choice: Option<Choice>,
        inner: Option<Inner>,
        /// Has to be said
        #[schemars(required)]
        said: Option<String>,
        many: Vec<Inner>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Choice {
        One,
        Two,
    }

    /// Something inside.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        depth: Option<i64>,
    }

    #[test]
    fn a_type_becomes_what_a_model_is_told() {
        let inner = json!({
            "description": "Something inside.",
            "type": "object",
            "properties": { "depth": { "type": "integer" } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "description": "A name", "type": "string" },
                "count": { "description": "How many", "type": "number" },
                "flag": { "type": "boolean" },
                "small": { "type": "integer", "minimum": 0, "maximum": 255 },
                "choice": { "description": "Which one", "type": "string", "enum": ["one", "two"] },
                "inner": inner,
                "said": { "description": "Has to be said", "type": "string" },
                "many": { "type": "array", "items": inner },
            },
            "required": ["name", "small", "said", "many"],
        });
        assert_eq!(schema_of::<Arguments>(), expected);
    }
}
