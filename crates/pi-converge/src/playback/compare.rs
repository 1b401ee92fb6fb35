//! Compares a request with the recorded one.

use serde_json::{Map, Value};

use super::divergence::{Cause, Divergence};
use super::recording::RecordedRequest;
use crate::record::CanonicalRequest;

/// Returns the first difference between a recorded request and the request now.
pub(super) fn compare(
    recorded: &RecordedRequest,
    now: &CanonicalRequest,
    hashes: &[String],
) -> Option<Divergence> {
    let step = recorded.number;
    let different = |cause, subject: &str, one: &Value, other: &Value| {
        (one != other).then(|| Divergence::new(step, cause, subject, &pretty(one), &pretty(other)))
    };
    let shape = &recorded.shape;
    if let Some(found) = different(Cause::Model, "the model", &shape.model, &now.shape.model) {
        return Some(found);
    }
    let first = recorded.messages.iter().zip(hashes).position(|(one, hash)| one.hash != *hash);
    if let Some(at) = first {
        let other = now.messages.get(at)?;
        return Some(message(step, at, &recorded.messages.get(at)?.value, other));
    }
    let options = (&shape.options, &now.shape.options);
    if let Some(found) = different(Cause::Options, "the options", options.0, options.1) {
        return Some(found);
    }
    let (before, after) = (recorded.messages.len(), now.messages.len());
    match before.cmp(&after) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => {
            let subject = format!("message {} is new", before + 1);
            let text = now.messages.get(before).map(readable).unwrap_or_default();
            Some(Divergence::new(step, Cause::Message, subject, "", &text))
        }
        std::cmp::Ordering::Greater => {
            let subject = format!("message {} is missing", after + 1);
            let text = recorded.messages.get(after).map(|one| readable(&one.value));
            Some(Divergence::new(step, Cause::Message, subject, &text.unwrap_or_default(), ""))
        }
    }
}

/// Returns the difference of two messages at the same place.
fn message(step: u32, at: usize, recorded: &Value, now: &Value) -> Divergence {
    let role = |value: &Value| value["role"].as_str().unwrap_or("?").to_owned();
    if role(recorded) == "system"
        && role(now) == "system"
        && let Some(found) = system(step, recorded, now)
    {
        return found;
    }
    let subject = match (role(recorded), role(now)) {
        (one, other) if one == other => format!("message {} ({one})", at + 1),
        (one, other) => format!("message {} ({one}, now {other})", at + 1),
    };
    let (mut one, mut other) = (readable(recorded), readable(now));
    if one == other {
        (one, other) = (pretty(recorded), pretty(now));
    }
    Divergence::new(step, Cause::Message, subject, &one, &other)
}

/// Returns the difference of two system messages: a section, a tool, or the text.
fn system(step: u32, recorded: &Value, now: &Value) -> Option<Divergence> {
    let empty = Map::new();
    let sections = |value: &Value| value["sections"].as_object().unwrap_or(&empty).clone();
    let (before, after) = (sections(recorded), sections(now));
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        let (one, other) = (text_of(before.get(name)), text_of(after.get(name)));
        if one != other {
            let subject = format!("section \"{name}\" of the system prompt");
            return Some(Divergence::new(step, Cause::SystemPrompt, subject, &one, &other));
        }
    }
    if let Some(found) = tools(step, recorded, now) {
        return Some(found);
    }
    let (one, other) = (readable(recorded), readable(now));
    (one != other)
        .then(|| Divergence::new(step, Cause::SystemPrompt, "the system prompt", &one, &other))
}

fn tools(step: u32, recorded: &Value, now: &Value) -> Option<Divergence> {
    let list = |value: &Value| value["toolsAdded"].as_array().cloned().unwrap_or_default();
    let (before, after) = (list(recorded), list(now));
    let find =
        |tools: &[Value], name: &Value| tools.iter().find(|tool| tool["name"] == *name).cloned();
    let added = after.iter().filter(|tool| find(&before, &tool["name"]).is_none());
    for tool in before.iter().chain(added) {
        let name = &tool["name"];
        let shown = name.as_str().unwrap_or("?");
        let (one, other) = match (find(&before, name), find(&after, name)) {
            (Some(one), Some(other)) if one == other => continue,
            (Some(one), Some(other)) => (one, other),
            (one, other) => {
                let change = if one.is_some() { "missing" } else { "new" };
                let subject = format!("tool \"{shown}\" is {change}");
                let text = |tool: Option<Value>| tool.as_ref().map(pretty).unwrap_or_default();
                return Some(Divergence::new(step, Cause::Tool, subject, &text(one), &text(other)));
            }
        };
        let part = match one["description"] == other["description"] {
            true => "parameters",
            false => "description",
        };
        let subject = format!("{part} of the tool \"{shown}\"");
        let (one, other) = (text_of(one.get(part)), text_of(other.get(part)));
        return Some(Divergence::new(step, Cause::Tool, subject, &one, &other));
    }
    None
}

/// Returns a text as it is, and any other value as JSON.
fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => pretty(value),
        None => String::new(),
    }
}

/// Returns the texts of a message.
fn readable(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let block = |block: &Value| match block["text"].as_str() {
                Some(text) => text.to_owned(),
                None => pretty(block),
            };
            blocks.iter().map(block).collect::<Vec<_>>().join("\n")
        }
        other => pretty(other),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
