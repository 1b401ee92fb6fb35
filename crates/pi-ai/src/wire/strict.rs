//! Strict tool schemas: the subset of JSON Schema that providers can enforce while sampling.

use pi_protocol::{ConstrainedSampling, GrammarVariants, StrictMode, Tool};
use serde_json::{Map, Value, json};

use crate::wire::EncodeError;

/// Keywords that no provider enforces.
const UNSUPPORTED: &[&str] = &[
    "$ref",
    "$defs",
    "definitions",
    "allOf",
    "oneOf",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "prefixItems",
    "not",
    "if",
    "then",
    "else",
];

/// Converts a tool's schema to its strict form, if the tool requests it.
///
/// `supported` is true if the endpoint supports strict sampling at all. A tool that prefers strict
/// sampling falls back without an error; a tool that requires it fails the request.
pub(crate) fn strict_parameters(
    tool: &Tool,
    supported: bool,
) -> Result<Option<Value>, EncodeError> {
    let Some(ConstrainedSampling::JsonSchema { strict }) = &tool.constrained_sampling else {
        return Ok(None);
    };
    let converted = if supported {
        convert_root(&tool.parameters)
    } else {
        Err("strict tools are unsupported".to_owned())
    };
    match (converted, strict) {
        (Ok(schema), _) => Ok(Some(schema)),
        (Err(_), StrictMode::Prefer) => Ok(None),
        (Err(reason), StrictMode::Require) => {
            Err(EncodeError::StrictTool { tool: tool.name.clone(), reason })
        }
    }
}

/// Returns the grammar of a grammar tool and the name of its only argument. Lark is preferred.
pub(crate) fn grammar(tool: &Tool) -> Option<(Value, &str)> {
    let Some(ConstrainedSampling::Grammar { variants }) = &tool.constrained_sampling else {
        return None;
    };
    let argument = only_string_argument(&tool.parameters)?;
    let GrammarVariants { openai_lark, openai_regex } = variants;
    let (syntax, definition) = match (openai_lark, openai_regex) {
        (Some(lark), _) => ("lark", lark),
        (None, Some(regex)) => ("regex", regex),
        (None, None) => return None,
    };
    Some((json!({"type": "grammar", "syntax": syntax, "definition": definition}), argument))
}

/// Returns the name of the argument, if the schema has exactly one, which is a required string.
pub(crate) fn only_string_argument(schema: &Value) -> Option<&str> {
    let properties = schema.get("properties")?.as_object()?;
    if properties.len() != 1 {
        return None;
    }
    let (name, property) = properties.iter().next()?;
    let required = schema.get("required")?.as_array()?;
    let is_required = required.iter().any(|entry| entry == name);
    (is_required && property.get("type")? == "string").then_some(name)
}

/// Converts a schema whose root is an object to its strict form, or says why there is none.
pub(crate) fn convert_root(schema: &Value) -> Result<Value, String> {
    match schema {
        Value::Object(object) if object.get("type").is_some_and(|kind| kind == "object") => {
            convert(object, "the root schema")
        }
        _ => Err("its root schema is not an object".to_owned()),
    }
}

fn convert(schema: &Map<String, Value>, place: &str) -> Result<Value, String> {
    if let Some(keyword) = UNSUPPORTED.iter().find(|keyword| schema.contains_key(**keyword)) {
        return Err(format!("{keyword} schemas are unsupported"));
    }
    let mut out = schema.clone();
    if let Some(members) = schema.get("anyOf") {
        out.insert("anyOf".to_owned(), convert_any_of(members, place)?);
    }
    if let Some(items) = schema.get("items") {
        let Value::Object(items) = items else {
            return Err(format!("{place} has tuple items"));
        };
        out.insert("items".to_owned(), convert(items, place)?);
    }
    let is_object = has_type(schema, "object");
    if schema.contains_key("properties") && !is_object {
        return Err(format!("{place} has properties but is not an object"));
    }
    if is_object {
        if schema.get("additionalProperties").is_some_and(|value| value != false) {
            return Err(format!("{place} allows additional properties"));
        }
        convert_properties(schema, &mut out)?;
    }
    Ok(Value::Object(out))
}

fn convert_any_of(members: &Value, place: &str) -> Result<Value, String> {
    let members = members.as_array().ok_or_else(|| format!("{place} has a malformed anyOf"))?;
    members
        .iter()
        .map(|member| match member {
            Value::Object(member) if !has_type(member, "object") && !has_type(member, "array") => {
                convert(member, place)
            }
            _ => Err(format!("{place} has an anyOf of objects or arrays")),
        })
        .collect()
}

/// Makes every property required; a property that was optional may be null instead.
fn convert_properties(
    schema: &Map<String, Value>,
    out: &mut Map<String, Value>,
) -> Result<(), String> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let was_required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|entry| entry == name))
    };
    let mut converted = Map::new();
    for (name, property) in properties {
        let place = format!("property \"{name}\"");
        let Value::Object(property) = property else {
            return Err(format!("{place} has no schema object"));
        };
        let strict = convert(property, &place)?;
        let strict = if was_required(name) || allows_null(property) {
            strict
        } else {
            json!({"anyOf": [strict, {"type": "null"}]})
        };
        converted.insert(name.clone(), strict);
    }
    let required = converted.keys().cloned().map(Value::String).collect();
    out.insert("properties".to_owned(), Value::Object(converted));
    out.insert("required".to_owned(), Value::Array(required));
    out.insert("additionalProperties".to_owned(), Value::Bool(false));
    Ok(())
}

fn has_type(schema: &Map<String, Value>, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

fn allows_null(schema: &Map<String, Value>) -> bool {
    let in_any_of = schema.get("anyOf").and_then(Value::as_array).is_some_and(|members| {
        members.iter().any(|member| member.get("type").is_some_and(|kind| kind == "null"))
    });
    in_any_of || has_type(schema, "null") || schema.get("const").is_some_and(Value::is_null)
}
