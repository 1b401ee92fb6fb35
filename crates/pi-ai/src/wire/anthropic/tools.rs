//! Encodes tool declarations.

use pi_protocol::{ConstrainedSampling, StrictMode, Tool};
use serde_json::{Map, Value, json};

use super::compat::Compat;
use crate::wire::{Call, EncodeError, strict};

/// Name of the deferred tool that the top-level list must have if tools are declared in place.
const PLACEHOLDER: &str = "__pi_deferred_placeholder__";

/// Keywords that the strict mode of this API rejects.
const NOT_ENFORCED: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
];

/// Encodes the top-level list of tools.
pub(super) fn encode(
    tools: &[Tool],
    call: &Call,
    compat: &Compat,
    cache: Option<&Value>,
    inline_tools: bool,
) -> Result<Value, EncodeError> {
    let mut list =
        tools.iter().map(|tool| definition(tool, call, compat)).collect::<Result<Vec<_>, _>>()?;
    if let (Some(last), Some(cache)) = (list.last_mut(), cache) {
        last["cache_control"] = cache.clone();
    }
    if inline_tools {
        list.push(json!({
            "name": PLACEHOLDER,
            "description": "Never loaded; lets tools be declared later.",
            "input_schema": {"type": "object", "properties": {}, "required": []},
            "defer_loading": true,
        }));
    }
    Ok(Value::Array(list))
}

/// Encodes the declaration of one tool.
pub(super) fn definition(tool: &Tool, call: &Call, compat: &Compat) -> Result<Value, EncodeError> {
    let mut out = Map::new();
    out.insert("name".into(), tool.name.clone().into());
    out.insert("description".into(), tool.description.clone().into());
    if compat.supports_eager_tool_input_streaming {
        out.insert("eager_input_streaming".into(), true.into());
    }
    let schema = match strict_schema(tool, call, compat)? {
        Some(schema) => {
            out.insert("strict".into(), true.into());
            schema
        }
        // Some endpoints reject other keywords of the root.
        None => json!({
            "type": "object",
            "properties": tool.parameters.get("properties").cloned().unwrap_or_else(|| json!({})),
            "required": tool.parameters.get("required").cloned().unwrap_or_else(|| json!([])),
        }),
    };
    out.insert("input_schema".into(), schema);
    Ok(Value::Object(out))
}

fn strict_schema(tool: &Tool, call: &Call, compat: &Compat) -> Result<Option<Value>, EncodeError> {
    let Some(ConstrainedSampling::JsonSchema { strict: mode }) = &tool.constrained_sampling else {
        return Ok(None);
    };
    if call.no_strict_tools && *mode == StrictMode::Prefer {
        return Ok(None);
    }
    let Some(schema) = strict::strict_parameters(tool, compat.supports_strict_tools)? else {
        return Ok(None);
    };
    match (not_enforced(&schema), mode) {
        (None, _) => Ok(Some(schema)),
        (Some(_), StrictMode::Prefer) => Ok(None),
        (Some(reason), StrictMode::Require) => {
            Err(EncodeError::StrictTool { tool: tool.name.clone(), reason })
        }
    }
}

/// Describes the first keyword that strict mode rejects.
fn not_enforced(schema: &Value) -> Option<String> {
    let object = schema.as_object()?;
    let rejected = object.iter().find(|(key, value)| {
        NOT_ENFORCED.contains(&key.as_str())
            || (*key == "minItems" && value.as_u64().is_some_and(|least| least > 1))
    });
    if let Some((key, value)) = rejected {
        return Some(format!("{key}: {value} is unsupported"));
    }
    let children = object.get("properties").and_then(Value::as_object);
    let members = object.get("anyOf").and_then(Value::as_array);
    children
        .into_iter()
        .flat_map(Map::values)
        .chain(members.into_iter().flatten())
        .chain(object.get("items"))
        .find_map(not_enforced)
}
