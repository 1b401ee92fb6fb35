//! What stands between a model's tool call and the tool: arguments are repaired where the meaning
//! is plain, then held against the tool's JSON Schema.
//!
//! Models write `"5"` for `5`, `"true"` for `true`, one item where a list is wanted, and `null`
//! for an option they leave out. [`check`] turns these into what the schema asks for and reports
//! the rest in words that the model can act on. Both halves follow the TypeScript pi, value for
//! value and word for word, because its texts are what models have met before.
//!
//! The schema is a guest: it may come from a server nobody reviewed. A keyword that makes no sense
//! constrains nothing, a reference that leads back to itself ends, and a schema built to be slow
//! runs out of the steps it is allowed (see `schema`).

mod coerce;
mod error;
mod format;
mod json;
mod number;
mod pattern;
mod schema;
mod validate;

use pi_protocol::ToolCall;
use serde_json::{Map, Value};

pub use error::{ArgumentError, Problem};
use schema::Schema;

/// Validates and coerces the arguments of `call` against `schema`, on a copy.
///
/// # Errors
/// When the argument text of the call was not readable, or the arguments do not fit the schema
/// even after coercion. The text of the error is meant for the model.
pub fn check(call: &ToolCall, schema: &Value) -> Result<Map<String, Value>, ArgumentError> {
    if let Some(reason) = &call.arguments_error {
        return Err(ArgumentError::Unreadable { tool: call.name.clone(), reason: reason.clone() });
    }
    let arguments = Value::Object(call.arguments.clone());
    match check_value(&call.name, &arguments, schema)? {
        Value::Object(arguments) => Ok(arguments),
        // The schema asked for something else at its root, and coercion gave it that.
        other => {
            let message = format!("expected object, got {}", json::type_name(&other));
            let problem = Problem { path: error::ROOT.to_owned(), message };
            Err(ArgumentError::invalid(&call.name, vec![problem], &arguments))
        }
    }
}

/// Validates and coerces any JSON value against `schema`, on a copy. `tool` is named in the error.
///
/// # Errors
/// When the value does not fit the schema even after coercion.
pub fn check_value(tool: &str, arguments: &Value, schema: &Value) -> Result<Value, ArgumentError> {
    let schema = Schema::new(schema, arguments);
    let coerced = coerce::coerce(&schema, arguments.clone());
    let problems = validate::problems(&schema, &coerced);
    if problems.is_empty() {
        Ok(coerced)
    } else {
        Err(ArgumentError::invalid(tool, problems, arguments))
    }
}
