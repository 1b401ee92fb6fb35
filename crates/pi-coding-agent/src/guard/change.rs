//! The change that a call of `edit` or `write` would make, for the user who is asked about it.
//!
//! It is made from the arguments alone: the file may be on another machine.

use serde_json::{Map, Value};

/// Returns the text that a call removes and adds, a line each; `None` if it changes no file.
pub(super) fn describe(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    match tool {
        "write" => Some(marked('+', arguments.get("content")?.as_str()?)),
        "edit" => {
            let edits = arguments.get("edits")?.as_array()?;
            let edit = |edit: &Value| {
                let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
                let (old, new) = (marked('-', text("oldText")), marked('+', text("newText")));
                [old, new]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            Some(edits.iter().map(edit).collect::<Vec<_>>().join("\n\n"))
        }
        _ => None,
    }
}

/// Returns the lines of a text behind a mark.
fn marked(mark: char, text: &str) -> String {
    let lines = text.lines().map(|line| format!("{mark}{line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_described_from_the_arguments() {
        let cases = [
            ("write", json!({ "path": "a", "content": "x\ny\n" }), Some("+x\n+y")),
            (
                "edit",
                json!({ "path": "a", "edits": [
                    { "oldText": "a\nb", "newText": "c" },
                    { "oldText": "d", "newText": "" },
                ] }),
                Some("-a\n-b\n+c\n\n-d"),
            ),
            ("edit", json!({ "path": "a", "edits": "no" }), None),
            ("write", json!({ "content": 1 }), None),
            ("bash", json!({ "command": "ls" }), None),
        ];
        for (tool, arguments, expected) in cases {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            assert_eq!(describe(tool, &arguments).as_deref(), expected, "{tool}");
        }
    }
}
