//! The `exports` and `imports` of a package: keys, patterns, conditions.

use serde_json::Value;

use super::Request;

/// Returns the target of a key (`.`, `./sub`, `#name`), relative to the package or the name of
/// another one.
pub(super) fn select(table: &Value, key: &str, request: Request) -> Option<String> {
    let has_keys = table.as_object().is_some_and(|object| {
        object.keys().any(|key| key.starts_with('.') || key.starts_with('#'))
    });
    if !has_keys {
        return if key == "." { target(table, "", request).flatten() } else { None };
    }
    let object = table.as_object()?;
    if let Some(exact) = object.get(key).filter(|_| !key.contains('*')) {
        return target(exact, "", request).flatten();
    }
    // The pattern with the longest text before its star wins.
    let mut best: Option<(usize, &Value, &str)> = None;
    for (pattern, value) in object {
        let matched = match pattern.split_once('*') {
            Some((before, after)) => key
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .filter(|star| !star.is_empty())
                .map(|star| (before.len(), star)),
            // A directory, as older packages have it.
            None if pattern.ends_with('/') => {
                key.strip_prefix(pattern.as_str()).map(|star| (pattern.len(), star))
            }
            None => None,
        };
        if let Some((length, star)) = matched
            && best.is_none_or(|(longest, ..)| length > longest)
        {
            best = Some((length, value, star));
        }
    }
    let (_, value, star) = best?;
    let found = target(value, star, request).flatten()?;
    // A directory target takes the rest of the path at its end.
    Some(if found.ends_with('/') { format!("{found}{star}") } else { found })
}

/// Returns the path of a target; `Some(None)` is a target that forbids the path.
fn target(value: &Value, star: &str, request: Request) -> Option<Option<String>> {
    match value {
        Value::String(text) => Some(Some(text.replace('*', star))),
        Value::Null => Some(None),
        Value::Array(choices) => {
            let mut chosen = choices.iter().filter_map(|choice| target(choice, star, request));
            chosen.next()
        }
        Value::Object(conditions) => conditions
            .iter()
            .filter(|(condition, _)| applies(condition, request))
            .find_map(|(_, choice)| target(choice, star, request)),
        _ => None,
    }
}

fn applies(condition: &str, request: Request) -> bool {
    match condition {
        "node" | "default" | "module-sync" => true,
        "import" => request == Request::Import,
        "require" => request == Request::Require,
        _ => false,
    }
}
