//! Settings files as JSON: migrating old keys, removing invalid values, merging layers.
//!
//! Pure functions over JSON. The file keeps keys that are not understood, so the typed view is
//! derived last.

use serde_json::{Map, Value};

use super::Settings;
use super::keys::{keys, remove_nulls};
use crate::tool_change::ToolChange;

/// Migrates keys of older versions.
pub(super) fn migrate(layer: &mut Map<String, Value>) {
    if !layer.contains_key("steeringMode")
        && let Some(mode) = layer.shift_remove("queueMode")
    {
        layer.insert("steeringMode".to_owned(), mode);
    }
    if !layer.contains_key("transport")
        && let Some(&Value::Bool(websockets)) = layer.get("websockets")
    {
        layer.shift_remove("websockets");
        let transport = if websockets { "websocket" } else { "sse" };
        layer.insert("transport".to_owned(), transport.into());
    }
    migrate_skills(layer);
    if let Some(Value::Object(retry)) = layer.get_mut("retry") {
        migrate_retry(retry);
    }
}

/// In older versions `skills` was an object with two fields.
fn migrate_skills(layer: &mut Map<String, Value>) {
    let Some(Value::Object(old)) = layer.get_mut("skills") else { return };
    let commands = old.shift_remove("enableSkillCommands");
    match old.shift_remove("customDirectories") {
        Some(Value::Array(directories)) if !directories.is_empty() => {
            layer.insert("skills".to_owned(), directories.into());
        }
        _ => {
            layer.shift_remove("skills");
        }
    }
    if let Some(commands) = commands
        && !layer.contains_key("enableSkillCommands")
    {
        layer.insert("enableSkillCommands".to_owned(), commands);
    }
}

fn migrate_retry(retry: &mut Map<String, Value>) {
    if !retry.get("maxDelayMs").is_some_and(Value::is_number) {
        return;
    }
    let Some(limit) = retry.shift_remove("maxDelayMs") else { return };
    if let Value::Object(provider) =
        retry.entry("provider").or_insert_with(|| Value::Object(Map::new()))
        && !provider.contains_key("maxRetryDelayMs")
    {
        provider.insert("maxRetryDelayMs".to_owned(), limit);
    }
}

/// Removes the keys that only the user's file may have, and returns their names.
pub(super) fn remove_user_only(layer: &mut Map<String, Value>) -> Vec<&'static str> {
    let user_only = keys().filter(|key| key.user_only).map(|key| key.name);
    user_only.filter(|name| layer.shift_remove(*name).is_some()).collect()
}

/// A value that was removed because it is invalid.
pub(super) struct InvalidEntry {
    /// Path of the value, with dots.
    pub(super) key: String,
    /// Description of the problem.
    pub(super) problem: String,
}

/// Removes invalid values, each as small a part as possible.
pub(super) fn prune(layer: &mut Map<String, Value>) -> Vec<InvalidEntry> {
    let mut invalid = Vec::new();
    // Almost always the whole layer is valid.
    if typed(layer).is_err() {
        prune_below(layer, &mut Vec::new(), &mut invalid);
    }
    invalid
}

fn prune_below(
    object: &mut Map<String, Value>,
    path: &mut Vec<String>,
    invalid: &mut Vec<InvalidEntry>,
) {
    let names: Vec<String> = object.keys().cloned().collect();
    for name in names {
        path.push(name.clone());
        let mut value = object.get(&name).cloned().unwrap_or_default();
        if let Err(problem) = typed(&wrapped(path, &value)) {
            if let Value::Object(inner) = &mut value
                && typed(&wrapped(path, &Value::Object(Map::new()))).is_ok()
            {
                prune_below(inner, path, invalid);
                object.insert(name, value);
            } else {
                let problem = without_type_names(&problem.to_string());
                invalid.push(InvalidEntry { key: path.join("."), problem });
                object.shift_remove(&name);
            }
        }
        path.pop();
    }
}

/// Removes the names of our types from an error message.
pub(super) fn without_type_names(problem: &str) -> String {
    match problem.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected an object"),
        None => problem.to_owned(),
    }
}

/// Returns settings that consist of one value at a path.
pub(super) fn wrapped(path: &[String], value: &Value) -> Map<String, Value> {
    let mut wrapped = value.clone();
    for name in path.iter().rev() {
        wrapped = Value::Object(Map::from_iter([(name.clone(), wrapped)]));
    }
    match wrapped {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Returns the typed view of a layer.
pub(super) fn typed(layer: &Map<String, Value>) -> Result<Settings, serde_json::Error> {
    let mut layer = layer.clone();
    remove_nulls(&mut layer);
    serde::Deserialize::deserialize(&layer)
}

/// Lists that are concatenated over all layers: a rule file for one run must not replace those for
/// every run.
const CONCATENATED: [&str; 3] = ["rules", "writableRoots", "guardrails"];

/// Merges a layer into the one below: objects field by field, other values as a whole.
pub(super) fn merge(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (name, value) in above {
        match (below.get_mut(name), value) {
            (Some(Value::Object(below)), Value::Object(above)) if name == "hooks" => {
                concatenate(below, above);
            }
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (Some(Value::Array(below)), Value::Array(above))
                if name == "defaultTools" && only_modifies(above)
                    || CONCATENATED.contains(&name.as_str()) =>
            {
                below.extend(above.iter().cloned());
            }
            _ => {
                below.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Merges lists by name: the hooks of each layer run.
fn concatenate(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (name, value) in above {
        match (below.get_mut(name), value) {
            (Some(Value::Array(below)), Value::Array(above)) => below.extend(above.iter().cloned()),
            _ => {
                below.insert(name.clone(), value.clone());
            }
        }
    }
}

fn only_modifies(tools: &[Value]) -> bool {
    tools.iter().all(|tool| tool.as_str().is_some_and(|tool| ToolChange::parse(tool).is_some()))
}
