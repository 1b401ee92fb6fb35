//! One settings file as a value: brought up to date, freed of what does not fit, put over another.
//!
//! Pure functions over JSON: the file keeps what is not understood, so the typed view is made last.

use serde_json::{Map, Value};

use super::{KEYS, Settings};
use crate::create::ToolChange;

/// Brings keys of older versions up to date.
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

/// `skills` was an object with two fields once.
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

/// Takes out what only the user's own file may say, and names it.
pub(super) fn take_out_global(layer: &mut Map<String, Value>) -> Vec<&'static str> {
    let global = KEYS.iter().filter(|key| key.global).map(|key| key.name);
    global.filter(|name| layer.shift_remove(*name).is_some()).collect()
}

/// Takes out what is not of the type it should be: the smallest part that can go. Returns what was
/// taken out and why.
pub(super) fn prune(layer: &mut Map<String, Value>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    // Almost always there is nothing to look for.
    if typed(layer).is_err() {
        let mut path = Vec::new();
        prune_below(layer, &mut path, &mut problems);
    }
    problems
}

fn prune_below(
    object: &mut Map<String, Value>,
    path: &mut Vec<String>,
    problems: &mut Vec<(String, String)>,
) {
    let names: Vec<String> = object.keys().cloned().collect();
    for name in names {
        path.push(name.clone());
        let mut value = object.get(&name).cloned().unwrap_or_default();
        if let Err(problem) = typed(&wrapped(path, &value)) {
            if let Value::Object(inner) = &mut value
                && typed(&wrapped(path, &Value::Object(Map::new()))).is_ok()
            {
                prune_below(inner, path, problems);
                object.insert(name, value);
            } else {
                problems.push((path.join("."), in_words(&problem.to_string())));
                object.shift_remove(&name);
            }
        }
        path.pop();
    }
}

/// What a value should have been, without the names of our types.
fn in_words(problem: &str) -> String {
    match problem.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected an object in braces"),
        None => problem.to_owned(),
    }
}

/// Settings with nothing but one value at a path.
fn wrapped(path: &[String], value: &Value) -> Map<String, Value> {
    let mut wrapped = value.clone();
    for name in path.iter().rev() {
        wrapped = Value::Object(Map::from_iter([(name.clone(), wrapped)]));
    }
    match wrapped {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The typed view.
pub(super) fn typed(layer: &Map<String, Value>) -> Result<Settings, serde_json::Error> {
    serde::Deserialize::deserialize(layer)
}

/// Lists of which every layer has its part: a rule file that is named for one run must not take
/// away those that are named for every run.
const ADDED: [&str; 2] = ["rules", "writableRoots"];

/// Puts one layer over another: objects field by field, everything else as a whole.
pub(super) fn merge(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (name, value) in above {
        match (below.get_mut(name), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (Some(Value::Array(below)), Value::Array(above))
                if name == "defaultTools" && only_modifies(above)
                    || ADDED.contains(&name.as_str()) =>
            {
                below.extend(above.iter().cloned());
            }
            _ => {
                below.insert(name.clone(), value.clone());
            }
        }
    }
}

fn only_modifies(tools: &[Value]) -> bool {
    tools.iter().all(|tool| tool.as_str().is_some_and(|tool| ToolChange::parse(tool).is_some()))
}
