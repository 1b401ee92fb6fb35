//! Encodes tool declarations and the tool choice.

use pi_protocol::{Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::family::Family;
use crate::wire::{Call, EncodeError, strict};

/// Encodes the `tools` of a request, and the `toolConfig` if it differs from the default.
pub(super) fn declare(
    call: &Call,
    tools: &[Tool],
) -> Result<Option<(Value, Option<Value>)>, EncodeError> {
    if tools.is_empty() {
        return Ok(None);
    }
    let offered = Family::of(&call.model.id).supports_strict_tools() && !call.no_strict_tools;
    let mut any_strict = false;
    let mut declarations = Vec::with_capacity(tools.len());
    for tool in tools {
        let strict = strict::strict_parameters(tool, offered)?;
        any_strict |= strict.is_some();
        let mut schema = strict.unwrap_or_else(|| tool.parameters.clone());
        const_to_enum(&mut schema);
        declarations.push(json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": schema,
        }));
    }
    let mode = match call.options.tool_choice {
        Some(ToolChoice::None) => Some("NONE"),
        Some(ToolChoice::Required) => Some("ANY"),
        // Strictness is a mode of the whole request, so it also applies to tools without it.
        Some(ToolChoice::Auto) | None if any_strict => Some("VALIDATED"),
        Some(ToolChoice::Auto) => Some("AUTO"),
        None => None,
    };
    let config = mode.map(|mode| json!({"functionCallingConfig": {"mode": mode}}));
    Ok(Some((json!([{"functionDeclarations": declarations}]), config)))
}

/// Rewrites every `const` to an `enum` of one value, since Google's schemas do not support `const`.
/// They do not support booleans and null in an `enum` either, so those stay.
pub(super) fn const_to_enum(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(const_to_enum),
        Value::Object(members) => {
            let rewrite = matches!(members.get("const"), Some(Value::String(_) | Value::Number(_)))
                && !members.contains_key("enum");
            if rewrite {
                // Rebuilt rather than patched, since the order of keys reaches the model.
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, value)| match key.as_str() {
                        "const" => ("enum".to_owned(), Value::Array(vec![value])),
                        _ => (key, value),
                    })
                    .collect::<Map<_, _>>();
            }
            for (key, value) in members.iter_mut() {
                // The values of these keys are data, not schemas.
                let data = matches!(key.as_str(), "const" | "default" | "enum" | "examples");
                if !data || is_schema(value) {
                    const_to_enum(value);
                }
            }
        }
        _ => {}
    }
}

/// Returns true if a value looks like a schema: a property may be called `default`.
fn is_schema(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind.is_string() || kind.is_array())
}
