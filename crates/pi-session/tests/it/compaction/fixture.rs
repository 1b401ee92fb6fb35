//! Paths of entries in the short form of the fixtures.
//!
//! `["assistant", 12, {"calls": [["read", {"path": "/a"}]]}]` is an answer of twelve characters
//! and a call. The entry at index `i` has the id `e<i>` and the parent `e<i-1>`; entry and message
//! are from `i` seconds after [`BASE`].

use std::fs;
use std::path::Path;

use pi_protocol::{AgentMessage, Entry};
use serde_json::{Value, json};

/// The time of the first entry, 2026-01-01T00:00:00Z.
pub(super) const BASE: u64 = 1_767_225_600_000;

/// Reads the cases of a fixture.
pub(super) fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/compaction").join(name);
    let mut file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let Value::Array(cases) = file["cases"].take() else { panic!("{name} has no cases") };
    assert!(!cases.is_empty());
    cases
}

/// Returns the entries of a path in short form.
pub(super) fn path(short: &Value) -> Vec<Entry> {
    let short = short.as_array().unwrap();
    short.iter().enumerate().map(|(index, short)| entry(index, short)).collect()
}

/// Returns the number of seconds from [`BASE`] to a message.
pub(super) fn second(message: &AgentMessage) -> u64 {
    let value = serde_json::to_value(message).unwrap();
    (value["timestamp"].as_f64().unwrap() as u64 - BASE) / 1000
}

fn entry(index: usize, short: &Value) -> Entry {
    let nothing = json!({});
    let kind = short[0].as_str().unwrap();
    let text = "x".repeat(short[1].as_u64().unwrap_or(0) as usize);
    let options = short.get(2).unwrap_or(&nothing);
    let time = BASE + index as u64 * 1000;
    let mut fields = match kind {
        "injected" => {
            json!({"type": "custom_message", "customType": "t", "content": text, "display": true})
        }
        "branch" => json!({"type": "branch_summary", "fromId": "root", "summary": text}),
        "compaction" => compaction(index, &text, options, time),
        "edit" => {
            let replacement =
                if short[1].is_null() { Value::Null } else { json!({"content": text}) };
            let target = format!("e{}", options["target"]);
            json!({"type": "context_edit", "targetId": target, "replacement": replacement})
        }
        "label" => json!({"type": "label", "targetId": "e0", "label": "l"}),
        "model" => json!({"type": "model_change", "provider": "p", "modelId": "m"}),
        "level" => json!({"type": "thinking_level_change", "thinkingLevel": "low"}),
        "spent" => json!({"type": "usage", "kind": "k", "provider": "p", "model": "m"}),
        "state" => json!({"type": "custom", "customType": "t", "data": {}}),
        "name" => json!({"type": "session_info", "name": "n"}),
        role => {
            let mut message = message(index, role, &text, options);
            message["timestamp"] = time.into();
            json!({"type": "message", "message": message})
        }
    };
    if let Some(details) = options.get("details") {
        fields["details"] = details.clone();
    }
    if options.get("hook").is_some() {
        fields["fromHook"] = true.into();
    }
    fields["id"] = format!("e{index}").into();
    fields["parentId"] = index.checked_sub(1).map(|parent| format!("e{parent}")).into();
    let (hours, minutes, seconds) = (index / 3600, index / 60 % 60, index % 60);
    let (days, hours) = (hours / 24 + 1, hours % 24);
    fields["timestamp"] =
        format!("2026-01-{days:02}T{hours:02}:{minutes:02}:{seconds:02}.000Z").into();
    Entry::from_json(&fields.to_string()).unwrap()
}

fn compaction(index: usize, text: &str, options: &Value, time: u64) -> Value {
    let kept = options["kept"].as_u64().unwrap_or(index as u64);
    let mut fields = json!({
        "type": "compaction", "summary": text, "firstKeptEntryId": format!("e{kept}"), "tokensBefore": 1,
    });
    if let Some(length) = options["system"].as_u64().filter(|length| *length > 0) {
        let content = "x".repeat(length as usize);
        fields["systemMessage"] = json!({"role": "system", "content": content, "timestamp": time});
    }
    fields
}

fn message(index: usize, role: &str, text: &str, options: &Value) -> Value {
    match role {
        "user" => match options["images"].as_u64() {
            None => json!({"role": "user", "content": text}),
            Some(images) => {
                let mut content = vec![json!({"type": "text", "text": text})];
                let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
                content.extend((0..images).map(|_| image.clone()));
                json!({"role": "user", "content": content})
            }
        },
        "assistant" => assistant(index, text, options),
        "result" => {
            let mut message = json!({
                "role": "toolResult", "toolCallId": options.get("call").unwrap_or(&json!("c")),
                "toolName": "read", "content": [{"type": "text", "text": text}], "isError": false,
            });
            if let Some(nested) = options.get("nested") {
                message["nestedCalls"] = nested.clone();
            }
            message
        }
        "bash" => {
            let mut message = json!({
                "role": "bashExecution", "command": "ls", "output": text, "exitCode": 0,
                "cancelled": false, "truncated": false,
            });
            if options.get("exclude").is_some() {
                message["excludeFromContext"] = true.into();
            }
            message
        }
        "note" => json!({"role": "custom", "customType": "t", "content": text, "display": true}),
        "system" => {
            let mut message = json!({"role": "system", "content": text});
            for (from, to) in [("sections", "sections"), ("tools", "toolsAdded")] {
                if let Some(value) = options.get(from) {
                    message[to] = value.clone();
                }
            }
            message
        }
        other => panic!("unknown kind {other}"),
    }
}

fn assistant(index: usize, text: &str, options: &Value) -> Value {
    let mut content = Vec::new();
    if let Some(length) = options["think"].as_u64().filter(|length| *length > 0) {
        content.push(json!({"type": "thinking", "thinking": "x".repeat(length as usize)}));
    }
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    for (at, call) in options["calls"].as_array().into_iter().flatten().enumerate() {
        let id = format!("c{index}_{at}");
        content.push(json!({"type": "toolCall", "id": id, "name": call[0], "arguments": call[1]}));
    }
    let tokens = options["usage"].as_u64().unwrap_or(0);
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens},
        "stopReason": options["stop"].as_str().unwrap_or("stop"),
    })
}
