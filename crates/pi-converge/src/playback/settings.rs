//! Differences between settings.

use serde_json::{Map, Value};

/// Settings that a replay changes itself.
const OWN: &[&str] = &["retry.baseDelayMs", "retry.maxDelayMs"];

/// Describes the settings that differ, by their path.
pub(super) fn changes(recorded: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    collect("", recorded, now, &mut found);
    found
}

fn collect(
    prefix: &str,
    recorded: &Map<String, Value>,
    now: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let added = now.keys().filter(|key| !recorded.contains_key(*key));
    for key in recorded.keys().chain(added) {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if OWN.contains(&path.as_str()) {
            continue;
        }
        let empty = Map::new();
        match (recorded.get(key), now.get(key)) {
            (one, other) if one == other => {}
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                collect(&path, one, other, found);
            }
            (Some(Value::Object(one)), None) => collect(&path, one, &empty, found),
            (None, Some(Value::Object(other))) => collect(&path, &empty, other, found),
            (one, other) => found.push(format!("{path}: {} → {}", text(one), text(other))),
        }
    }
}

fn text(value: Option<&Value>) -> String {
    value.map_or("not set".to_owned(), Value::to_string)
}

/// Returns the default models if they differ.
pub(super) fn changed_default(
    recorded: &Map<String, Value>,
    now: &Map<String, Value>,
) -> Option<(String, String)> {
    let model = |settings: &Map<String, Value>| {
        let part = |key: &str| text(settings.get(key));
        format!("{} {}", part("defaultProvider"), part("defaultModel"))
    };
    let (one, other) = (model(recorded), model(now));
    (one != other).then_some((one, other))
}
