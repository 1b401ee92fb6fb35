//! The transcript of a scenario: one value that is equal for two runs and for two programs.
//!
//! Events keep their order; responses arrive in any order, so they are sorted by id. A completed
//! message is written once, in the Nth `message_end`, and as `=mN` everywhere else. A request
//! contains only the difference from the previous one.

use serde_json::{Map, Value, json};

use super::normal::Names;
use super::runner::{Observed, ObservedRun};

/// Returns the transcript of a scenario.
pub(super) fn transcript(observed: &Observed) -> Value {
    let mut names = Names::new(observed.placeholders.clone());
    let runs: Vec<Value> = observed.runs.iter().map(|run| one_run(run, &mut names)).collect();
    let mut result = json!({ "runs": runs });
    if !observed.requests.is_empty() {
        result["requests"] = requests(&observed.requests, &mut names).into();
    }
    if !observed.sessions.is_empty() {
        result["sessions"] = sessions(observed, &mut names);
    }
    if !observed.files.is_empty() {
        let file = |(path, text): (&String, &Option<String>)| {
            (path.clone(), text.as_ref().map(|text| names.text(text)).into())
        };
        result["files"] = observed.files.iter().map(file).collect::<Map<_, _>>().into();
    }
    refer(result)
}

fn one_run(run: &ObservedRun, names: &mut Names) -> Value {
    let mut result = json!({ "exit": run.exit });
    if !run.stderr.is_empty() {
        let first = first_line(&names.text(&run.stderr));
        // A stack trace quotes the program.
        result["stderr"] =
            if first.starts_with("file://") { "<crash>".into() } else { first.into() };
    }
    if !run.records {
        result["stdout"] = names.text(&run.stdout).into();
        return result;
    }
    let (mut events, mut responses) = (Vec::new(), Vec::new());
    for line in run.stdout.split_terminator('\n') {
        match serde_json::from_str::<Value>(line) {
            Ok(record) if record["type"] == "response" => responses.push(record),
            Ok(record) => events.extend(event(record)),
            Err(_) => events.push(json!({ "not JSON": line })),
        }
    }
    // Joined first, since long texts are shortened below.
    let events: Vec<Value> = join(events).iter().map(|record| names.value(record)).collect();
    responses.sort_by_key(|record| order(&record["id"]));
    let responses: Vec<Value> = responses.iter().map(|record| response(record, names)).collect();
    result["events"] = events.into();
    if !responses.is_empty() {
        result["responses"] = responses.into();
    }
    result
}

fn response(record: &Value, names: &mut Names) -> Value {
    let mut record = names.value(record);
    if let Some(error) = record["error"].as_str() {
        record["error"] = first_line(error).into();
    }
    record
}

/// Returns the first line of an error; the advice below it differs between the programs.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns the sort key of an id: numbers by value. The sort is stable for missing ids.
fn order(id: &Value) -> (u64, String) {
    let text = id.as_str().unwrap_or_default();
    (text.parse().unwrap_or(0), text.to_owned())
}

/// Removes everything from an event that depends on timing.
fn event(mut record: Value) -> Option<Value> {
    match record["type"].as_str() {
        // The number of progress events depends on timing; the result is complete.
        Some("tool_execution_update") => return None,
        // Intermediate usage.
        Some("message_update") => drop(record.as_object_mut()?.remove("usage")),
        // The intermediate message may be ahead of the events.
        Some("message_start") if record["message"]["role"] == "assistant" => {
            let message = &record["message"];
            record["message"] = json!({
                "role": "assistant", "api": message["api"], "provider": message["provider"], "model": message["model"],
            });
        }
        _ => {}
    }
    Some(record)
}

/// Joins consecutive deltas of one text, since their boundaries have no meaning.
fn join(events: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events {
        if let Some(last) = joined.last_mut()
            && let Some(more) = delta(&event)
            && delta(last).is_some()
            && without_delta(last) == without_delta(&event)
        {
            let text = format!("{}{more}", delta(last).unwrap_or_default());
            *slot(last) = text.into();
        } else {
            joined.push(event);
        }
    }
    joined
}

fn delta(event: &Value) -> Option<&str> {
    match event["type"].as_str()? {
        "message_update" => event["assistantMessageEvent"]["delta"].as_str(),
        "bash_execution_update" => event["delta"].as_str(),
        _ => None,
    }
}

fn slot(event: &mut Value) -> &mut Value {
    if event["type"] == "message_update" {
        &mut event["assistantMessageEvent"]["delta"]
    } else {
        &mut event["delta"]
    }
}

fn without_delta(event: &Value) -> Value {
    let mut event = event.clone();
    *slot(&mut event) = Value::Null;
    event
}

fn requests(bodies: &[Value], names: &mut Names) -> Vec<Value> {
    let mut before = Map::new();
    let mut result = Vec::new();
    for body in bodies {
        let body = names.value(body).as_object().cloned().unwrap_or_default();
        result.push(difference(&before, &body));
        before = body;
    }
    result
}

/// Returns the fields of `body` that differ from `before`, and only the new messages.
fn difference(before: &Map<String, Value>, body: &Map<String, Value>) -> Value {
    let mut new = Map::new();
    for (key, value) in body {
        match (before.get(key), value) {
            (Some(old), _) if old == value => {}
            (Some(Value::Array(old)), Value::Array(messages)) if key == "messages" => {
                let same = old.iter().zip(messages).take_while(|(a, b)| a == b).count();
                let as_before = (same > 0).then(|| Value::from(format!("{same} as before")));
                new.insert(
                    key.clone(),
                    as_before.into_iter().chain(messages[same..].iter().cloned()).collect(),
                );
            }
            _ => drop(new.insert(key.clone(), value.clone())),
        }
    }
    for key in before.keys().filter(|key| !body.contains_key(*key)) {
        new.insert(key.clone(), "absent".into());
    }
    new.into()
}

fn sessions(observed: &Observed, names: &mut Names) -> Value {
    // Sorted by name, that is by time, since the paths contain ids.
    let mut files: Vec<(&String, &String)> = observed.sessions.iter().collect();
    files.sort_by_key(|(path, _)| path.rsplit('/').next().map(ToOwned::to_owned));
    let mut result = Vec::new();
    for (path, text) in files {
        let lines = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
            Ok(entry) => names.value(&entry),
            Err(_) => json!({ "not JSON": line }),
        });
        let entries: Vec<Value> = lines.collect();
        result.push(json!({ "path": names.text(path), "entries": entries }));
    }
    result.into()
}

/// Replaces every repetition of a completed message by a reference.
fn refer(mut transcript: Value) -> Value {
    let mut ended: Vec<Value> = Vec::new();
    for run in transcript["runs"].as_array().into_iter().flatten() {
        for event in run["events"].as_array().into_iter().flatten() {
            if event["type"] == "message_end" && !ended.contains(&event["message"]) {
                ended.push(event["message"].clone());
            }
        }
    }
    let mut written = vec![false; ended.len()];
    replace(&mut transcript, &ended, &mut written, false);
    transcript
}

fn replace(value: &mut Value, ended: &[Value], written: &mut [bool], ending: bool) {
    if value.get("role").is_some()
        && let Some(at) = ended.iter().position(|message| message == value)
    {
        if ending && !written[at] {
            written[at] = true;
        } else {
            *value = format!("=m{}", at + 1).into();
        }
        return;
    }
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| replace(item, ended, written, false));
        }
        Value::Object(fields) => {
            let ending = fields.get("type").is_some_and(|kind| kind == "message_end");
            fields.values_mut().for_each(|item| replace(item, ended, written, ending));
        }
        _ => {}
    }
}

#[test]
fn a_transcript_is_normalized() {
    let update = |text: &str| {
        let event = json!({"type": "text_delta", "contentIndex": 0, "delta": text});
        json!({"type": "message_update", "usage": {}, "assistantMessageEvent": event})
    };
    let message = json!({"role": "user", "content": "hi"});
    let records = [
        json!({"type": "response", "id": "10"}),
        json!({"type": "message_start", "message": message}),
        json!({"type": "message_end", "message": message}),
        update("Hel"),
        update("lo"),
        json!({"type": "tool_execution_update"}),
        json!({"type": "response", "id": "2", "error": "wrong\nadvice"}),
    ];
    let stdout: String = records.iter().map(|record| format!("{record}\n")).collect();
    let run = ObservedRun { records: true, stdout, stderr: String::new(), exit: Some(0) };
    let body = |texts: &[&str]| json!({"model": "m", "messages": texts});
    let observed = Observed {
        placeholders: Vec::new(),
        runs: vec![run],
        requests: vec![body(&["a"]), body(&["a", "b"])],
        sessions: Default::default(),
        files: Default::default(),
    };
    let expected = json!({
        "runs": [{
            "exit": 0,
            "events": [
                {"type": "message_start", "message": "=m1"},
                {"type": "message_end", "message": message},
                {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "Hello"}},
            ],
            "responses": [
                {"type": "response", "id": "2", "error": "wrong"},
                {"type": "response", "id": "10"},
            ],
        }],
        "requests": [{"model": "m", "messages": ["a"]}, {"messages": ["1 as before", "b"]}],
    });
    assert_eq!(transcript(&observed), expected);
}
