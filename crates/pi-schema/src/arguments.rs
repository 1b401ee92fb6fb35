//! Validation of tool arguments: arguments are coerced where the meaning is plain, then checked
//! against the tool's JSON Schema.
//!
//! Models write `"5"` for `5`, `"true"` for `true`, a single item for a list, and `null` for an
//! option that they leave out. [`check`] converts these to the types of the schema and describes
//! the remaining problems for the model. Both steps follow the TypeScript pi, value for value and
//! word for word, because models have met its texts before.

mod error;
mod words;

use pi_protocol::ToolCall;
use serde_json::{Map, Value};

pub use error::{ArgumentError, Problem};

use crate::document::{Document, Keywords};
use crate::{check_in, coerce, json};

/// Validates and coerces the arguments of `call` against `schema`, on a copy.
///
/// # Errors
/// Fails if the argument text of the call could not be parsed, or if the arguments do not match
/// the schema even after coercion. The message of the error is meant for the model.
pub fn check(call: &ToolCall, schema: &Value) -> Result<Map<String, Value>, ArgumentError> {
    if let Some(reason) = &call.arguments_error {
        return Err(ArgumentError::Unreadable { tool: call.name.clone(), reason: reason.clone() });
    }
    let arguments = Value::Object(call.arguments.clone());
    match check_value(&call.name, &arguments, schema)? {
        Value::Object(arguments) => Ok(arguments),
        // The schema has another type at its root, and coercion converted the arguments to it.
        other => {
            let message = format!("expected object, got {}", json::type_name(&other));
            let problem = Problem { path: error::ROOT.to_owned(), message };
            Err(ArgumentError::invalid(&call.name, vec![problem], &arguments))
        }
    }
}

/// Validates and coerces any JSON value against `schema`, on a copy. The error names `tool`.
///
/// # Errors
/// Fails if the value does not match the schema even after coercion.
pub fn check_value(tool: &str, arguments: &Value, schema: &Value) -> Result<Value, ArgumentError> {
    let document = Document::new(schema, arguments, Keywords::OfTools);
    let coerced = coerce::coerce(&document, arguments.clone());
    let checked = check_in(&document, &coerced);
    let mut problems = words::problems(&document, &checked.mismatches);
    // An incomplete check proves nothing, so it must not pass for a successful one.
    if problems.is_empty() && !checked.is_complete {
        let message = "too complex to check against the tool's schema".to_owned();
        problems.push(Problem { path: error::ROOT.to_owned(), message });
    }
    if problems.is_empty() {
        Ok(coerced)
    } else {
        Err(ArgumentError::invalid(tool, problems, arguments))
    }
}
