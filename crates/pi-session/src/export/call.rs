//! A tool call on one line: what it is about, for people who skim.

use pi_protocol::ToolCall;
use serde_json::{Map, Value};

use super::escape::one_line;

/// Summaries are cut here.
const LIMIT: usize = 160;

/// What a call is about: a path, a command, a pattern; or its arguments.
pub(super) fn summary(call: &ToolCall) -> String {
    let arguments = &call.arguments;
    let line = match call.name.as_str() {
        "read" => path(arguments).map(|path| path.to_owned() + &lines(arguments)),
        "bash" | "powershell" => text(arguments, "command").map(str::to_owned),
        "edit" | "write" => path(arguments).map(str::to_owned),
        "grep" => text(arguments, "pattern").map(|pattern| {
            let glob = text(arguments, "glob").map(|glob| format!(" ({glob})")).unwrap_or_default();
            format!("/{pattern}/{}{glob}", place(arguments))
        }),
        "find" => text(arguments, "pattern").map(|pattern| pattern.to_owned() + &place(arguments)),
        "ls" => Some(path(arguments).unwrap_or(".").to_owned()),
        _ => None,
    };
    match line {
        Some(line) => one_line(&line, LIMIT),
        None if arguments.is_empty() => String::new(),
        None => one_line(&serde_json::to_string(arguments).unwrap_or_default(), LIMIT),
    }
}

/// Whether [`summary`] says everything there is to say.
pub(super) fn is_covered(call: &ToolCall) -> bool {
    let known: &[&str] = match call.name.as_str() {
        "read" => &["path", "file_path", "offset", "limit"],
        "ls" => &["path"],
        "grep" => &["pattern", "path", "glob"],
        "find" => &["pattern", "path"],
        // How long it may take says nothing about what it does.
        "bash" | "powershell" => &["command", "timeout"],
        _ => &[],
    };
    call.arguments.keys().all(|name| known.contains(&name.as_str()))
        && !summary(call).ends_with('…')
        && !text(&call.arguments, "command").is_some_and(|command| command.contains('\n'))
}

/// The file a call is about.
pub(super) fn path(arguments: &Map<String, Value>) -> Option<&str> {
    text(arguments, "path").or_else(|| text(arguments, "file_path"))
}

/// A text argument.
pub(super) fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}

/// The replacements of an `edit`, in the new and in the old form.
pub(super) fn edits(arguments: &Map<String, Value>) -> Vec<(&str, &str)> {
    let listed = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(Value::as_object);
    listed
        .chain(std::iter::once(arguments))
        .filter_map(|edit| Some((text(edit, "oldText")?, text(edit, "newText")?)))
        .collect()
}

fn place(arguments: &Map<String, Value>) -> String {
    path(arguments).map(|path| format!(" in {path}")).unwrap_or_default()
}

fn lines(arguments: &Map<String, Value>) -> String {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (offset, None) => format!(":{}", offset.unwrap_or(1)),
        (offset, Some(limit)) => {
            let first = offset.unwrap_or(1).max(1);
            format!(":{first}-{}", first.saturating_add(limit).saturating_sub(1))
        }
    }
}
