//! Scripts of operations on a session, as JSON, so that two programs can run the same ones.
//!
//! A step refers to entries by the number of the step that created them. `tests/peer.mjs` runs the
//! same scripts with the TypeScript pi.

use pi_protocol::{AgentMessage, BranchSummary, Compaction, CustomEntryMessage, UsageRecord};
use pi_session::{Session, SessionError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The result of a script.
#[derive(Debug)]
pub(crate) struct Performed {
    /// The entry that each step created.
    pub(crate) made: Vec<Option<String>>,
    /// The steps that failed.
    pub(crate) failed: Vec<usize>,
}

/// Runs all steps of a script.
pub(crate) fn perform(session: &mut Session, script: &[Value]) -> Performed {
    let mut done = Performed { made: Vec::new(), failed: Vec::new() };
    for (number, step) in script.iter().enumerate() {
        match perform_step(session, step, &done.made) {
            Ok(id) => done.made.push(id),
            Err(_) => {
                done.made.push(None);
                done.failed.push(number);
            }
        }
    }
    done
}

/// Runs one step; `made` are the entries of earlier steps.
pub(crate) fn perform_step(
    session: &mut Session,
    step: &Value,
    made: &[Option<String>],
) -> Result<Option<String>, SessionError> {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let optional = |name: &str| step.get(name).cloned();
    let entry = |name: &str| match &step[name] {
        Value::Number(number) => made[number.as_u64().unwrap() as usize].clone(),
        Value::String(id) => Some(id.clone()),
        _ => None,
    };
    let needed =
        |name: &str| entry(name).ok_or_else(|| SessionError::UnknownEntry("none".to_owned()));
    let id = match text("do") {
        "message" => {
            session.append_message(AgentMessage::from_json(&step["message"].to_string())?)?
        }
        "level" => session.append_thinking_level(text("level"))?,
        "model" => session.append_model(text("provider"), text("model"))?,
        "usage" => session.append_usage(read::<UsageRecord>(step)?)?,
        "custom" => session.append_custom(text("customType"), optional("data"))?,
        "customMessage" => session.append_custom_message(CustomEntryMessage {
            custom_type: text("customType").to_owned(),
            content: read(&step["content"])?,
            display: step["display"] == true,
            details: optional("details"),
        })?,
        "edit" => {
            let content = step["replacement"].get("content").cloned();
            session.append_context_edit(&needed("target")?, content)?
        }
        "label" => session.append_label(&needed("target")?, step["label"].as_str())?,
        "name" => session.append_name(text("name"))?,
        "compaction" => session.append_compaction(Compaction {
            summary: text("summary").to_owned(),
            first_kept_entry_id: entry("kept").unwrap_or_default(),
            tokens_before: step["tokens"].as_f64().unwrap_or_default(),
            details: optional("details"),
            usage: optional("usage").map(|usage| read(&usage)).transpose()?,
            from_hook: step["fromHook"].as_bool(),
            system_message: None,
        })?,
        "summary" => session.branch_with_summary(
            entry("to").as_deref(),
            BranchSummary {
                summary: text("summary").to_owned(),
                details: optional("details"),
                usage: optional("usage").map(|usage| read(&usage)).transpose()?,
                from_hook: step["fromHook"].as_bool(),
                ..BranchSummary::default()
            },
        )?,
        "branch" => return session.branch(&needed("to")?).map(|()| None),
        "reset" => {
            session.reset();
            return Ok(None);
        }
        other => panic!("unknown step {other}"),
    };
    Ok(Some(id))
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, SessionError> {
    Ok(T::deserialize(value)?)
}

/// A deterministic generator of pseudo-random numbers.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants; the low bits of such a generator are not random.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Returns a script of `length` random steps of all kinds.
pub(crate) fn random_script(rng: &mut Rng, length: usize) -> Vec<Value> {
    let mut script: Vec<Value> = Vec::new();
    // Steps that may have created an entry.
    let mut entries: Vec<usize> = Vec::new();
    while script.len() < length {
        let number = script.len();
        let target = target(rng, &entries);
        // Unlike the TypeScript pi, this crate rejects a first kept entry that does not exist.
        let kept = if target.is_string() { Value::Null } else { target.clone() };
        let step = match rng.below(24) {
            0..=8 => json!({ "do": "message", "message": random_message(rng, number) }),
            9 => json!({ "do": "level", "level": rng.pick(&["off", "high", "max"]) }),
            10 => json!({ "do": "model", "provider": "p", "model": format!("m{number}") }),
            11 => json!({ "do": "usage", "kind": "cache_warm", "provider": "p", "model": "m",
                "usage": usage(number), "note": "n" }),
            12 => rng.pick(&[
                json!({ "do": "custom", "customType": "t", "data": { "a": [1, null, 2.5] } }),
                json!({ "do": "custom", "customType": "t" }),
                json!({ "do": "custom", "customType": "t", "data": null }),
            ]),
            13 => rng.pick(&[
                json!({ "do": "customMessage", "customType": "t", "content": "c", "display": true }),
                json!({ "do": "customMessage", "customType": "t", "display": false,
                    "content": [{ "type": "text", "text": "c" }], "details": { "d": 1 } }),
            ]),
            14 | 15 => json!({ "do": "edit", "target": target,
                "replacement": rng.pick(&[
                    Value::Null,
                    json!({ "content": format!("edited {number}") }),
                    json!({ "content": [{ "type": "text", "text": format!("edited {number}") }] }),
                    json!({ "content": "" }),
                    json!({ "content": [] }),
                ]) }),
            16 => rng.pick(&[
                json!({ "do": "label", "target": target, "label": format!("L{number}") }),
                json!({ "do": "label", "target": target }),
                json!({ "do": "label", "target": target, "label": "" }),
            ]),
            17 => json!({ "do": "name", "name": rng.pick(&[" a\nname ", "b\r\n\r\nc", "", "\n", "d\n\ne"]) }),
            18 | 19 => rng.pick(&[
                json!({ "do": "compaction", "summary": format!("S{number}"), "tokens": 12,
                    "kept": kept }),
                json!({ "do": "compaction", "summary": format!("S{number}"), "tokens": 1.5,
                    "kept": null, "details": { "readFiles": [] }, "fromHook": true, "usage": usage(3) }),
                json!({ "do": "compaction", "summary": "", "tokens": 0,
                    "kept": kept, "fromHook": false }),
            ]),
            20 => rng.pick(&[
                json!({ "do": "summary", "to": target, "summary": format!("B{number}") }),
                json!({ "do": "summary", "to": null, "summary": "B", "details": { "x": 1 },
                    "fromHook": true, "usage": usage(2) }),
                json!({ "do": "summary", "to": target, "summary": "" }),
            ]),
            21 | 22 => json!({ "do": "branch", "to": target }),
            _ if rng.below(4) == 0 => json!({ "do": "reset" }),
            _ => json!({ "do": "message", "message": { "role": "user", "content": "go on", "timestamp": number } }),
        };
        if !matches!(step["do"].as_str(), Some("branch" | "reset")) {
            entries.push(number);
        }
        script.push(step);
    }
    script
}

/// Returns an earlier entry, usually a recent one, and sometimes one that does not exist.
fn target(rng: &mut Rng, entries: &[usize]) -> Value {
    match rng.below(30) {
        0 => json!("deadbeef"),
        _ if entries.is_empty() => json!("deadbeef"),
        1..=15 => {
            let recent = entries.len().min(6);
            json!(entries[entries.len() - 1 - rng.below(recent)])
        }
        _ => json!(rng.pick(entries)),
    }
}

fn usage(number: usize) -> Value {
    json!({ "input": number, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": number + 9,
        "cost": { "input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3 } })
}

fn random_message(rng: &mut Rng, number: usize) -> Value {
    let text = json!({ "type": "text", "text": format!("text {number} \u{1f600}\u{2028}") });
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let call = json!({ "type": "toolCall", "id": format!("c{number}"), "name": "read",
        "arguments": { "path": "x", "n": 1.0, "deep": { "a": [null, true] } } });
    let thinking = json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": "sig" });
    let unknown = json!({ "type": "audio", "x": [1] });
    match rng.below(16) {
        0..=3 => json!({ "role": "user", "content": format!("question {number}"), "timestamp": number }),
        4 => json!({ "role": "user", "content": [text, image, unknown], "timestamp": number, "extra": { "k": 1 } }),
        5 => json!({ "role": "user", "content": null, "timestamp": number }),
        6..=8 => json!({ "role": "assistant", "content": [thinking, text, call], "api": "x",
            "provider": format!("p{}", number % 3), "model": format!("m{number}"), "usage": usage(number),
            "stopReason": rng.pick(&["stop", "toolUse", "aborted", "error", "length", "strange"]),
            "timestamp": number }),
        9 => json!({ "role": "assistant", "content": null, "api": "x", "provider": "p", "model": "m",
            "usage": usage(1), "stopReason": "stop", "timestamp": number, "more": [1, 2] }),
        10 | 11 => json!({ "role": "toolResult", "toolCallId": "c", "toolName": "read",
            "content": [text, image], "details": { "d": null }, "isError": number.is_multiple_of(2),
            "timestamp": number, "nestedCalls": [{ "id": "n1", "name": "write", "arguments": {} }] }),
        12 => json!({ "role": "bashExecution", "command": "ls", "output": "a\nb", "exitCode": 1,
            "cancelled": false, "truncated": true, "fullOutputPath": "/o", "timestamp": number,
            "excludeFromContext": number.is_multiple_of(2) }),
        13 => json!({ "role": "custom", "customType": "ct", "content": "cc", "display": true, "timestamp": number }),
        14 => json!({ "role": "system", "content": rng.pick(&["", "be brief"]),
            "sections": { "a": format!("A{number}"), "b": null },
            "toolsAdded": [{ "name": format!("t{}", number % 4), "description": "d", "parameters": { "type": "object" } }],
            "timestamp": number }),
        _ => rng.pick(&[
            json!({ "role": "mystery", "payload": { "x": [1, 2.5, "y"] } }),
            json!({ "role": "system", "content": "more", "toolsRemoved": [{ "name": "t1" }], "timestamp": number }),
            json!({ "role": "user", "timestamp": number }),
            json!({ "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": null, "isError": false, "timestamp": number }),
        ]),
    }
}
