//! Observations of a session file as JSON, in the form of `tests/peer.mjs`, which makes them with
//! the TypeScript pi, and the rules for comparing the two.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use pi_protocol::json::from_str_repairing;
use pi_protocol::{AgentMessage, History};
use pi_session::{ForkPosition, NewSession, OpenOptions, Session, SessionContext, SessionError};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Number of entries at which a session is observed; the same as in `tests/peer.mjs`.
const POINTS: usize = 6;

/// Returns the observation of a file.
pub(crate) fn observe(file: &Path) -> Value {
    match try_observe(file) {
        Ok(observation) => observation,
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn try_observe(file: &Path) -> Result<Value, SessionError> {
    let directory = TempDir::new().unwrap();
    let copy = directory.path().join(file.file_name().unwrap());
    fs::copy(file, &copy).unwrap();
    let mut session = Session::open(&copy, &OpenOptions::read())?;
    let nodes: Vec<Value> =
        session.tree()?.nodes().map(|node| json!([node.id, node.depth, node.label])).collect();
    let context = context_json(&session.context()?);
    let ids: Vec<String> =
        session.entries().map(|entry| entry.map(|entry| entry.id)).collect::<Result<_, _>>()?;
    let mut seen = Vec::new();
    let step = ids.len().div_ceil(POINTS).max(1);
    let points = ids.iter().enumerate().filter(|(at, _)| (ids.len() - 1 - at).is_multiple_of(step));
    for (_, leaf) in points {
        seen.push(json!({
            "leaf": leaf,
            "branch": session.branch_ids(Some(leaf))?,
            "context": context_json(&session.context_at(Some(leaf))?),
            "fork": lines(&session.fork(leaf, ForkPosition::At)?.session)?,
        }));
    }
    let copied = Session::fork_from(&session, elsewhere(directory.path().join("copies")))?;
    Ok(json!({
        "header": session.header(),
        "leaf": session.leaf_id(),
        "ids": ids,
        "name": session.name(),
        "tree": nodes,
        "context": context,
        "points": seen,
        "copy": lines(&copied)?,
    }))
}

fn elsewhere(directory: PathBuf) -> NewSession {
    NewSession::new("/elsewhere").directory(directory)
}

/// Returns all entries, as they are in the file.
fn lines(session: &Session) -> Result<Vec<Value>, SessionError> {
    let mut lines = Vec::new();
    for entry in session.entries() {
        let line = session.raw_entry(&entry?.id)?;
        lines.push(from_str_repairing(&line).map_err(SessionError::Encode)?);
    }
    Ok(lines)
}

fn context_json(context: &SessionContext) -> Value {
    let model = context
        .model
        .as_ref()
        .map(|model| json!({ "provider": model.provider, "modelId": model.model_id }));
    json!({
        "messages": messages_json(&context.messages),
        "thinkingLevel": context.thinking_level,
        "model": model,
    })
}

fn messages_json(messages: &History<AgentMessage>) -> Vec<Value> {
    messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect()
}

/// Makes two observations of one file comparable: numbers have one form, messages are read and
/// written as [`AgentMessage`], and new ids are replaced by numbers.
pub(crate) fn normalize(mut observation: Value) -> Value {
    let Some(ids) = observation.get("ids").and_then(Value::as_array).cloned() else {
        // The error messages of the programs differ.
        return json!({ "error": observation.get("error").is_some() });
    };
    let mut names = HashMap::new();
    for (at, id) in ids.iter().enumerate() {
        names.entry(id.as_str().unwrap_or_default().to_owned()).or_insert(format!("#{at}"));
    }
    normalize_context(&mut observation["context"]);
    for point in observation["points"].as_array_mut().into_iter().flatten() {
        normalize_context(&mut point["context"]);
        let mut names = names.clone();
        for entry in point["fork"].as_array().into_iter().flatten() {
            let id = entry["id"].as_str().unwrap_or_default().to_owned();
            let new = format!("new{}", names.len());
            names.entry(id).or_insert(new);
        }
        rename(&mut point["fork"], &names);
    }
    rename(&mut observation, &names);
    canonical(&mut observation);
    observation
}

fn normalize_context(context: &mut Value) {
    for message in context["messages"].as_array_mut().into_iter().flatten() {
        if let Ok(read) = AgentMessage::from_json(&message.to_string()) {
            *message = serde_json::to_value(read).unwrap();
        }
    }
}

/// Replaces every string that is an id.
fn rename(value: &mut Value, names: &HashMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, names)),
        _ => {}
    }
}

/// Gives every number one form, and sorts fields.
pub(crate) fn canonical(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(canonical),
        Value::Object(fields) => {
            let mut sorted: Vec<_> = std::mem::take(fields).into_iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            *fields = sorted.into_iter().collect::<Map<_, _>>();
            fields.values_mut().for_each(canonical);
        }
        _ => {}
    }
}

/// Describes the first difference of two values.
pub(crate) fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    fn walk(ours: &Value, theirs: &Value, at: &mut Vec<String>) -> Option<String> {
        let step = |at: &mut Vec<String>, name: String, a: &Value, b: &Value| {
            at.push(name);
            let found = walk(a, b, at);
            at.pop();
            found
        };
        match (ours, theirs) {
            (Value::Array(a), Value::Array(b)) => (0..a.len().max(b.len())).find_map(|i| {
                let (a, b) = (a.get(i).unwrap_or(&Value::Null), b.get(i).unwrap_or(&Value::Null));
                step(at, i.to_string(), a, b)
            }),
            (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|name| {
                let none = &Value::Null;
                step(at, name.clone(), a.get(name).unwrap_or(none), b.get(name).unwrap_or(none))
            }),
            (a, b) if a == b => None,
            (a, b) => Some(format!("at {}: ours {a}, theirs {b}", at.join("."))),
        }
    }
    walk(ours, theirs, &mut Vec::new())
}
