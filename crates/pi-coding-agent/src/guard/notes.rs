//! Notes of the guard on the output of a tool, such as what the sandbox denied.
//!
//! A note is a text for the model. It is also in `guardNotes` of the details: a tool that calls
//! another one and reads only its structured result finds the notes there.

use pi_agent::{ToolError, ToolOutput};
use pi_protocol::UserBlock;
use serde_json::{Map, Value};

const FIELD: &str = "guardNotes";

/// Returns the notes of the guard on an output.
pub fn notes(output: &ToolOutput) -> Vec<&str> {
    let notes = output.details.as_ref().and_then(|details| details.get(FIELD)?.as_array());
    notes.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Adds a note to an output or an error.
pub(super) fn noted(
    output: Result<ToolOutput, ToolError>,
    note: &str,
) -> Result<ToolOutput, ToolError> {
    match output {
        Ok(mut output) => {
            append(&mut output, note);
            Ok(output)
        }
        Err(error) => Err(ToolError::new(format!("{error}\n\n{note}"))),
    }
}

/// Adds a note to an output.
pub(super) fn append(output: &mut ToolOutput, note: &str) {
    output.content.push(UserBlock::text(note.to_owned()));
    let details = output.details.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(details) = details.as_object_mut() {
        let notes = details.entry(FIELD).or_insert_with(|| Value::Array(Vec::new()));
        if let Some(notes) = notes.as_array_mut() {
            notes.push(note.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_text_and_details() {
        let mut output = ToolOutput::text("out");
        assert_eq!(notes(&output), [""; 0]);
        append(&mut output, "[denied]");
        let output = noted(Ok(output), "[again]").unwrap();
        assert_eq!(notes(&output), ["[denied]", "[again]"]);
        assert_eq!(output.content.len(), 3);
    }
}
