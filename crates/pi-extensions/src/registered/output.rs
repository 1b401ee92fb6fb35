//! The result of a tool, as an extension returns it.

use pi_agent::ToolOutput;
use serde::Deserialize;
use serde_json::Value;

/// The fields of a result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(default)]
    content: Vec<pi_protocol::UserBlock>,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    usage: Option<pi_protocol::Usage>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    terminate: bool,
}

/// Converts a result.
pub(crate) fn output_from_json(value: Value) -> Result<ToolOutput, String> {
    if !value.is_object() {
        return Err("the tool returned no result; it must return { content: [...] }".to_owned());
    }
    let fields: Fields = serde_json::from_value(value)
        .map_err(|error| format!("the tool returned an invalid result: {error}"))?;
    let mut output = ToolOutput::blocks(fields.content);
    output.details = fields.details;
    output.structured_content = fields.structured_content;
    output.usage = fields.usage;
    output.is_error = fields.is_error;
    output.terminate = fields.terminate;
    Ok(output)
}
