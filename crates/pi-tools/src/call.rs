//! The arguments of a call that was recorded or not validated yet, for declaring its effects.

use serde_json::{Map, Value};

/// Returns an argument if it is a string.
pub(crate) fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}

/// Returns true if the call has no arguments but these.
pub(crate) fn has_only(arguments: &Map<String, Value>, names: &[&str]) -> bool {
    arguments.keys().all(|name| names.contains(&name.as_str()))
}

/// Returns ` in PATH` if the call names a path.
pub(crate) fn in_path(arguments: &Map<String, Value>) -> String {
    text(arguments, "path").map(|path| format!(" in {path}")).unwrap_or_default()
}
