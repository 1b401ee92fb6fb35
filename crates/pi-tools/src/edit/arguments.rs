//! Shapes of arguments that models send instead of the declared one.

use serde_json::{Map, Value, json};

/// Converts arguments of another known shape to the declared one.
pub(super) fn prepare(raw: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut arguments = raw.clone();
    if let Some(Value::String(text)) = raw.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        arguments.insert("edits".to_owned(), parsed);
    }
    if let Some(edit @ Value::Object(_)) = arguments.get("edits") {
        let edits = json!([edit]);
        arguments.insert("edits".to_owned(), edits);
    }
    // Older versions had a single edit, with its texts at the top level.
    if let (Some(old @ Value::String(_)), Some(new @ Value::String(_))) =
        (raw.get("oldText"), raw.get("newText"))
    {
        let edit = json!({ "oldText": old, "newText": new });
        match arguments.get_mut("edits") {
            Some(Value::Array(edits)) => edits.push(edit),
            Some(Value::Null) | None => drop(arguments.insert("edits".to_owned(), json!([edit]))),
            Some(_) => return None,
        }
        arguments.shift_remove("oldText");
        arguments.shift_remove("newText");
    }
    (arguments != *raw).then_some(arguments)
}
