//! Comparison of a value with the schema of a type, in the words of a user.
//!
//! Reports every mistake in the order of the file. A validator lists all branches of a choice; here
//! the keys that are present choose the branch.

use pi_config::suggest::nearest;
use pi_schema::{self as schema, Detail, Mismatch, child_pointer};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// A mistake and the pointer of the value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Returns all mistakes of a value of the type `T`, and removes empty fields, which count as absent.
pub(super) fn check<T: JsonSchema>(value: &mut Value) -> Vec<Mistake> {
    let settings = SchemaSettings::default().with_transform(RecursiveTransform(limit_width));
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    remove_empty(&schema, &schema, value);
    let checked = schema::check(&schema, value);
    let mut mistakes: Vec<Mistake> = Vec::new();
    let mut mismatches: Vec<&Mismatch<'_, '_>> = checked.mismatches.iter().collect();
    mismatches.sort_by_cached_key(|mismatch| order(mismatch, value));
    mismatches.into_iter().for_each(|mismatch| describe(mismatch, &mut mistakes));
    mistakes
}

/// Sets the limit of a number whose format names its width.
fn limit_width(schema: &mut Schema) {
    if schema.get("format").is_some_and(|format| format == "uint32") {
        schema.insert("maximum".to_owned(), u32::MAX.into());
    }
}

/// Removes the empty fields of a type.
fn remove_empty(root: &Value, schema: &Value, value: &mut Value) {
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|name| root.pointer(name.trim_start_matches('#'))) {
        return remove_empty(root, target, value);
    }
    for branch in ["anyOf", "oneOf"].iter().flat_map(|keyword| list(schema.get(keyword))) {
        remove_empty(root, branch, value);
    }
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let property = |name: &str| properties.and_then(|properties| properties.get(name));
            map.retain(|name, value| !value.is_null() || property(name).is_none_or(is_free));
            for (name, value) in map {
                if let Some(schema) = property(name).or(schema.get("additionalProperties")) {
                    remove_empty(root, schema, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| remove_empty(root, schema, item));
            }
        }
        _ => {}
    }
}

/// Returns true if a schema allows every value.
fn is_free(schema: &Value) -> bool {
    match schema {
        Value::Bool(allowed) => *allowed,
        schema => ["type", "$ref", "anyOf", "oneOf", "enum", "const"]
            .iter()
            .all(|keyword| schema.get(keyword).is_none()),
    }
}

/// Returns the position in the file: the indices of all values around. A missing field comes last.
fn order(mismatch: &Mismatch<'_, '_>, root: &Value) -> Vec<usize> {
    let member = match &mismatch.detail {
        Detail::Member(name) => Some(name),
        _ => None,
    };
    let mut indices = Vec::new();
    let mut value = Some(root);
    for name in mismatch.path.iter().chain(member) {
        let index = match value {
            Some(Value::Object(map)) => map.keys().position(|key| key == name),
            _ => name.parse().ok(),
        };
        indices.push(index.unwrap_or(usize::MAX));
        value = match value {
            Some(Value::Object(map)) => map.get(name),
            Some(Value::Array(items)) => index.and_then(|index| items.get(index)),
            _ => None,
        };
    }
    indices
}

fn describe(mismatch: &Mismatch<'_, '_>, out: &mut Vec<Mistake>) {
    let pointer = mismatch.pointer();
    let schema = mismatch.schema;
    if let "type" | "enum" | "const" | "oneOf" = mismatch.keyword
        && let Some(values) = allowed_values(schema)
    {
        return out.push(Mistake { pointer, message: invalid_value(mismatch.value, &values) });
    }
    let message = match (mismatch.keyword, &mismatch.detail) {
        (_, Detail::Alternatives(branches)) => {
            return describe_branch(mismatch, branches, out);
        }
        // The first branch that matches is the one that counts.
        (_, Detail::Pair(..)) => return,
        ("additionalProperties", Detail::Member(name)) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
            let message = match nearest(name, known.clone()) {
                Some(near) => format!("unknown field; did you mean `{near}`?"),
                None => format!(
                    "unknown field; the fields here are {}",
                    known.collect::<Vec<_>>().join(", ")
                ),
            };
            return out.push(Mistake { pointer: child_pointer(&pointer, name), message });
        }
        ("required", Detail::Member(name)) => format!("the field `{name}` is required"),
        ("maximum", _) => "the number is too large".to_owned(),
        ("pattern", _) => {
            format!("invalid value {}: expected {}", mismatch.value, expected(schema))
        }
        _ => format!("expected {}", expected(schema)),
    };
    out.push(Mistake { pointer, message });
}

/// Describes the mistakes of a value that matches no branch of a choice.
fn describe_branch(
    choice: &Mismatch<'_, '_>,
    branches: &[Vec<Mismatch<'_, '_>>],
    out: &mut Vec<Mistake>,
) {
    let find = |branch: &'_ [Mismatch<'_, '_>], keyword: &str| {
        branch.iter().position(|one| one.keyword == keyword && one.path == choice.path)
    };
    let pointer = choice.pointer();
    let fitting: Vec<&Vec<Mismatch<'_, '_>>> =
        branches.iter().filter(|branch| find(branch, "type").is_none()).collect();
    let chosen = fitting.iter().find(|branch| find(branch, "required").is_none());
    match (chosen, fitting.as_slice()) {
        (Some(branch), _) | (None, [branch]) => {
            branch.iter().for_each(|mismatch| describe(mismatch, out));
        }
        (None, []) => {
            let schemas =
                branches.iter().filter_map(|branch| Some(branch[find(branch, "type")?].schema));
            let mut kinds: Vec<String> =
                schemas.filter(|schema| types(schema) != ["null"]).map(expected).collect();
            kinds.dedup();
            out.push(Mistake { pointer, message: format!("expected {}", either(&kinds)) });
        }
        (None, several) => {
            let required = several.iter().filter_map(|branch| {
                list(branch[find(branch, "required")?].schema.get("required")).first()
            });
            let keys: Vec<String> = required.filter_map(Value::as_str).map(str::to_owned).collect();
            let given = choice.value.as_object().into_iter().flat_map(Map::keys);
            let typed = given.filter_map(|key| {
                nearest(key, keys.iter().map(String::as_str)).map(|near| (key, near))
            });
            out.push(match typed.into_iter().next() {
                Some((key, near)) => Mistake {
                    pointer: child_pointer(&pointer, key),
                    message: format!("unknown field; did you mean `{near}`?"),
                },
                None => Mistake {
                    pointer,
                    message: format!("expected one of the fields {}", either(&keys)),
                },
            });
        }
    }
}

/// Returns the values of an enumeration.
fn allowed_values(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    let mut values = Vec::new();
    for branch in branches {
        values.extend(allowed_values(branch)?);
    }
    Some(values)
}

fn list(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the names of the types that a schema allows.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        names => list(names).iter().filter_map(Value::as_str).collect(),
    }
}

/// Returns the kind of value that a schema expects, with an article.
fn expected(schema: &Value) -> String {
    if let Some(description) = schema.get("pattern").and(schema.get("description")) {
        return description.as_str().unwrap_or_default().to_owned();
    }
    let kinds: Vec<String> = types(schema)
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| match name {
            "object" => "a mapping".to_owned(),
            "array" => "a list".to_owned(),
            "string" => "a text".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" => "a whole number".to_owned(),
            _ => "a number".to_owned(),
        })
        .collect();
    if kinds.is_empty() { "another value".to_owned() } else { either(&kinds) }
}

fn invalid_value(value: &Value, allowed: &[&Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names: Vec<String> = allowed.iter().map(|value| text(value)).collect();
    format!("invalid value {value}: expected {}", either(&names))
}

/// Joins names as in "a, b or c".
fn either(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
