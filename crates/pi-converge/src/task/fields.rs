//! Special fields of a task: which are paths, and which languages their texts have.

use pi_schema::child_pointer;
use serde_json::Value;

use super::template::Language;

/// Paths, relative to the task file or, in options, to the working directory.
const PATHS: &[&str] = &[
    "/inputs/files/*",
    "/workspace/directory",
    "/agent",
    "/policy/rules/*",
    "/policy/writable/*",
    "/output/schema",
    "/output/file",
    "/reports/*",
];

/// Texts in which braces are literal.
const LITERAL: &[&str] = &["/inputs/parameters", "/inputs/texts", "/output/schema", "/guardrails"];

const LANGUAGES: &[(&str, Language)] = &[
    ("/verify/*/command", Language::Shell),
    ("/verify/*/expect/output_matches", Language::Regex),
    ("/verify/*/expect/output_lacks", Language::Regex),
    ("/verify/*/json/*/matches", Language::Regex),
    ("/verify/*/files/*/*", Language::Glob),
];

/// Returns true if the text of a field is a path. An agent is one if it looks like one.
pub(super) fn is_path(pointer: &str, text: &str) -> bool {
    let named = pointer == "/agent" && !text.contains('/') && !text.contains('.');
    !named && PATHS.iter().any(|pattern| matches(pattern, pointer))
}

/// Returns the language of a text, or `None` if it has no templates.
pub(super) fn language(pointer: &str) -> Option<Language> {
    // The path of a schema has templates, the schema itself has none.
    let literal = LITERAL
        .iter()
        .any(|prefix| pointer.strip_prefix(prefix).is_some_and(|below| below.starts_with('/')));
    if literal {
        return None;
    }
    let known = LANGUAGES.iter().find(|(pattern, _)| matches(pattern, pointer));
    Some(known.map_or(Language::Text, |(_, language)| *language))
}

/// Compares a pointer with a pattern, in which `*` stands for one part.
fn matches(pattern: &str, pointer: &str) -> bool {
    let mut pattern = pattern.split('/');
    let mut pointer = pointer.split('/');
    loop {
        match (pattern.next(), pointer.next()) {
            (None, None) => return true,
            (Some(expected), Some(part)) if expected == "*" || expected == part => {}
            _ => return false,
        }
    }
}

/// Calls a function with every text of a value and its pointer. Depth is bounded by the parsers.
pub(super) fn visit_texts(
    value: &mut Value,
    pointer: &str,
    visit: &mut dyn FnMut(&str, &mut String),
) {
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                visit_texts(item, &child_pointer(pointer, &index.to_string()), visit);
            }
        }
        Value::Object(map) => {
            for (name, member) in map.iter_mut() {
                visit_texts(member, &child_pointer(pointer, name), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
