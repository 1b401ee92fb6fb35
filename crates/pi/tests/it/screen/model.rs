//! The model of the recorded screens: the first word of a prompt chooses a script.
//!
//! `tests/fixtures/screens/scripts.json` has the scripts with which pi 1.5.0 was recorded. Each
//! script is a list of answers, each answer a list of parts; `hold` waits until the test opens the
//! gate of that name. Scripts of a test are added to those of the file.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::scenarios::format::{Call, Part, Reply, Status};
use crate::scenarios::server::Server;

const SCRIPTS: &str = include_str!("../../fixtures/screens/scripts.json");

/// Tokens of a prompt and of its part that was in the cache, and tokens of an answer.
const USAGE: [u64; 3] = [1234, 1000, 56];

/// Starts the model. `home` replaces the home directory of the recording in arguments.
pub(crate) fn start(home: &str, more: &Value) -> Server {
    let text = SCRIPTS.replace("/home/user", home);
    let mut scripts: Value = serde_json::from_str(&text).unwrap();
    for (name, script) in more.as_object().into_iter().flatten() {
        scripts[name] = script.clone();
    }
    // How often a part with a limit has been answered.
    let given: Mutex<HashMap<String, u64>> = Mutex::default();
    Server::choosing(move |request, index| {
        let (name, turn) = chosen(request, &scripts);
        let script = scripts[&name].as_array().unwrap();
        let answer = script.get(turn).unwrap_or(&scripts["default"][0]);
        let mut parts: Vec<&Value> = answer.as_array().unwrap().iter().collect();
        let limit = parts.first().and_then(|part| part["times"].as_u64());
        if let Some(limit) = limit {
            let mut given = given.lock().unwrap();
            let count = given.entry(name).or_default();
            *count += 1;
            parts = if *count > limit { parts.split_off(1) } else { parts[..1].to_vec() };
        }
        Reply::Parts(reply(&parts, index))
    })
    .unwrap()
}

/// Returns the script for a request and the number of answers since its prompt.
fn chosen(request: &Value, scripts: &Value) -> (String, usize) {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let at = messages.iter().rposition(|message| message["role"] == "user");
    let text = at.map(|at| content(&messages[at]["content"])).unwrap_or_default();
    let is_summary = text.contains("<conversation>") || text.starts_with("# Conversation\n");
    let word =
        if is_summary { "summary" } else { text.split_whitespace().next().unwrap_or_default() };
    let known = scripts.get(word).is_some();
    let after = messages.iter().skip(at.unwrap_or(0));
    let turn = after.filter(|message| message["role"] == "assistant").count();
    if known { (word.to_owned(), turn) } else { ("default".to_owned(), 0) }
}

/// Returns the text of a message.
fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn reply(script: &[&Value], index: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut reason = "stop";
    let [prompt, cached, answer] = USAGE;
    let mut usage = json!({
        "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": cached},
    });
    for part in script {
        let text = |key: &str| part[key].as_str().map(ToOwned::to_owned);
        if let Some(code) = part["status"].as_u64() {
            let kind = if code >= 500 { "server_error" } else { "invalid_request_error" };
            let body = json!({"error": {"message": part["message"], "type": kind}});
            let headers = Default::default();
            return vec![Part::Status(Status { code: code as u16, headers, body })];
        }
        if let Some(text) = text("text") {
            parts.push(Part::Text(text));
        } else if let Some(text) = text("think") {
            parts.push(Part::Thinking(text));
        } else if let Some(gate) = text("hold") {
            parts.push(Part::Gate(gate));
        } else if let Some(name) = text("call") {
            reason = "tool_calls";
            let id = format!("call_{index}_{}", parts.len());
            let args = part["args"].clone();
            let length = args.to_string().chars().count();
            let pieces = part["chunk"].as_u64().map(|chunk| length.div_ceil(chunk as usize));
            parts.push(Part::Call(Call { id, name, args, pieces }));
        } else if let Some(finish) = part["finish"].as_str() {
            reason = match finish {
                "length" => "length",
                other => panic!("unknown reason: {other}"),
            };
        } else if part["usage"].is_object() {
            usage = part["usage"].clone();
        } else {
            panic!("unknown part of a script: {part}");
        }
    }
    let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    parts.push(Part::Data(finish));
    parts.push(Part::Data(json!({"choices": [], "usage": usage})));
    parts.push(Part::End);
    parts
}

#[test]
fn the_first_word_chooses_the_script_and_turns_are_counted() {
    let scripts: Value = serde_json::from_str(SCRIPTS).unwrap();
    let user = |text: &str| json!({"role": "user", "content": text});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "cut it"}]});
    let assistant = json!({"role": "assistant", "content": ""});
    let tool = json!({"role": "tool", "content": "x"});
    let cases = [
        (vec![user("hello")], ("default", 0)),
        (vec![user("bash-ok please")], ("bash-ok", 0)),
        (vec![user("bash-ok"), assistant.clone(), tool], ("bash-ok", 1)),
        (vec![user("one"), assistant, parts], ("cut", 0)),
        (vec![user("<conversation>\nbash-ok")], ("summary", 0)),
    ];
    for (messages, (name, turn)) in cases {
        let request = json!({"messages": messages});
        assert_eq!(chosen(&request, &scripts), (name.to_owned(), turn), "{request}");
    }
}
