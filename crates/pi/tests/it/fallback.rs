//! Runs that continue with another model when one cannot answer.

use std::fs;

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply, Status};

fn refused(code: u16, body: Value) -> Reply {
    Reply::Parts(vec![Part::Status(Status { code, headers: Default::default(), body })])
}

fn overloaded() -> Reply {
    refused(503, json!("overloaded"))
}

fn quota() -> Reply {
    refused(429, json!({ "error": { "code": "insufficient_quota", "message": "no quota" } }))
}

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

/// An environment with four models, of which the last one has no key.
fn env(replies: Vec<Reply>) -> ServerEnv {
    let env = ServerEnv::new(replies);
    let model = |id: &str, input: f64| {
        json!({ "id": id, "contextWindow": 100_000, "maxTokens": 1000, "reasoning": true,
            "cost": { "input": input, "output": 10, "cacheRead": 0, "cacheWrite": 0 } })
    };
    let mut first = model("m1", 3.0);
    first["fallbacks"] = json!(["mock/m2"]);
    let url = format!("{}/v1", env.server.url());
    let provider = json!({ "baseUrl": url, "apiKey": "key", "api": "openai-completions",
        "models": [first, model("m2", 1.25), model("m3", 3.0)] });
    let keyless = json!({ "baseUrl": url, "apiKey": "$NO_SUCH_KEY", "api": "openai-completions",
        "models": [model("m4", 3.0)] });
    let file = json!({ "providers": { "mock": provider, "other": keyless } });
    env.write("models.json", file.to_string());
    settings(&env, &json!({}));
    env
}

fn settings(env: &ServerEnv, fallbacks: &Value) {
    let retry = json!({ "baseDelayMs": 1, "maxRetries": 1 });
    let settings = json!({ "defaultProvider": "mock", "defaultModel": "m1", "retry": retry,
        "modelFallbacks": fallbacks });
    env.write("settings.json", settings.to_string());
}

fn models(env: &ServerEnv) -> Vec<String> {
    let requests = env.server.requests();
    requests.iter().map(|request| request["model"].as_str().unwrap().to_owned()).collect()
}

/// Returns the entries of the only session.
fn entries(env: &ServerEnv) -> Vec<Value> {
    let text = fs::read_to_string(&env.sessions()[0]).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_successor_answers_after_the_retries() {
    let env = env(vec![overloaded(), overloaded(), text("From the second.")]);
    let result = env.run(&["-p", "Hello"]);
    assert_eq!(result.stdout, "From the second.\n", "{result:?}");
    assert_eq!(models(&env), ["m1", "m1", "m2"]);
    let message = "mock/m1 is not available; the run continues with mock/m2 (input $1.25 instead \
                   of $3 per million tokens)";
    assert!(result.stderr.contains(message), "{result:?}");
    // The failed attempts are in the log, and not in the conversation.
    assert_eq!(env.server.requests()[2]["messages"], env.server.requests()[0]["messages"]);
    let entries = entries(&env);
    let at = entries.iter().position(|entry| entry["customType"] == "pi.model-fallback").unwrap();
    assert_eq!(entries[at]["data"]["reason"], "outage");
    assert_eq!(entries[at]["data"]["to"], json!({ "provider": "mock", "id": "m2" }));
    assert_eq!(entries[at + 1]["type"], "model_change");
    assert_eq!(entries[at + 1]["modelId"], "m2");
}

#[test]
fn exhausted_quota_is_not_retried() {
    let env = env(vec![quota(), text("Done.")]);
    let result = env.run(&["-p", "Hello"]);
    assert_eq!((result.stdout.as_str(), result.code), ("Done.\n", Some(0)), "{result:?}");
    assert_eq!(models(&env), ["m1", "m2"]);
    assert!(result.stderr.contains("mock/m1 has no quota left"), "{result:?}");
}

#[test]
fn successors_are_tried_in_order_and_each_once() {
    let env = env(vec![quota(); 9]);
    settings(&env, &json!({ "mock/*": ["other/m4", "mock/m2:high", "mock/m1", "m3"] }));
    let result = env.run(&["-p", "Hello"]);
    result.assert_failed(1, &["no quota"]);
    assert_eq!(models(&env), ["m1", "m2", "m3"]);
    let skipped = result.stderr.matches("The successor other/m4 is skipped").count();
    assert_eq!(skipped, 1, "{result:?}");
    let effort = |at: usize| env.server.requests()[at]["reasoning_effort"].clone();
    assert_eq!(effort(1), "high");
}

#[test]
fn options_name_successors_too() {
    let env = env(vec![quota(), text("Done.")]);
    let result = env.run(&["--fallback", "mock/m3", "-p", "Hello"]);
    assert_eq!(result.stdout, "Done.\n", "{result:?}");
    assert_eq!(models(&env), ["m1", "m3"]);
    // A misspelled successor is reported before it is needed.
    let result = env.run(&["--fallback", "no-such-model", "-p", "Hello"]);
    result.assert_failed(5, &["no-such-model"]);
    assert_eq!(models(&env), ["m1", "m3"]);
}

#[test]
fn wrong_requests_and_keys_have_no_successor() {
    for (code, body, exit) in [(401, "no", 5), (400, "odd", 1), (404, "no such model", 1)] {
        let env = env(vec![refused(code, json!(body)), text("Done.")]);
        let result = env.run(&["-p", "Hello"]);
        assert_eq!(result.code, Some(exit), "{result:?}");
        assert_eq!(models(&env), ["m1"], "{code}");
    }
}

#[test]
fn a_switch_comes_between_turns() {
    let args = json!({ "command": "echo hello" });
    let call = Call { id: "call_1".to_owned(), name: "bash".to_owned(), args, pieces: None };
    let env = env(vec![Reply::Parts(vec![Part::Call(call)]), quota(), text("Done.")]);
    let result = env.run(&["--mode", "json", "Hello"]);
    assert_eq!(models(&env), ["m1", "m1", "m2"]);
    let last = &env.server.requests()[2];
    let roles: Vec<&str> =
        last["messages"].as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
    assert!(roles.ends_with(&["user", "assistant", "tool"]), "{roles:?}");
    let events: Vec<Value> =
        result.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = |kind: &str| events.iter().position(|event| event["type"] == kind).unwrap();
    let switch = &events[at("model_fallback")];
    assert_eq!(switch["from"], json!({ "provider": "mock", "id": "m1" }));
    assert_eq!(switch["reason"], "quota");
    let end = &events[at("agent_end")];
    assert_eq!(end["willRetry"], true);
    assert!(at("agent_end") < at("model_fallback") && at("model_fallback") < at("agent_settled"));
}

#[test]
fn a_resumed_session_keeps_the_successor() {
    let env = env(vec![quota(), text("Done."), text("Again.")]);
    env.run(&["-p", "Hello"]);
    let result = env.run(&["-c", "-p", "More"]);
    assert_eq!(result.stdout, "Again.\n", "{result:?}");
    assert_eq!(models(&env), ["m1", "m2", "m2"]);
}
