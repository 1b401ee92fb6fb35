//! Results of print mode: schemas, repairs, the result object, and the file.

use std::fs;

use serde_json::{Value, json};

use crate::bad_input::{Finished, ServerEnv};
use crate::scenarios::format::{Call, Part, Reply, Status};

const SCHEMA: &str = r##"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}
    },
    "required": ["name"],
    "additionalProperties": false,
    "$defs": {"tag": {"oneOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}}
}"##;

fn text(text: &str) -> Reply {
    let finish = vec![json!("stop"), json!(10), json!(5)];
    Reply::Parts(vec![Part::Text(text.to_owned()), Part::Finish(finish)])
}

fn submission(args: Value) -> Reply {
    let call =
        Call { id: "call_1".to_owned(), name: "submit_result".to_owned(), args, pieces: None };
    let finish = vec![json!("tool_calls"), json!(10), json!(5)];
    Reply::Parts(vec![Part::Call(call), Part::Finish(finish)])
}

fn env(replies: Vec<Reply>) -> ServerEnv {
    let env = ServerEnv::new(replies);
    fs::write(env.project().join("schema.json"), SCHEMA).unwrap();
    env
}

/// Runs print mode with the schema and more arguments.
fn ask(env: &ServerEnv, arguments: &[&str]) -> Finished {
    let first = ["--output-schema", "schema.json"];
    env.run(&[&first[..], arguments, &["-p", "Describe the project"]].concat())
}

fn result(finished: &Finished) -> Value {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

fn tool_names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// Returns the last message of a request, as JSON.
fn last_message(request: &Value) -> String {
    request["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn a_valid_submission_is_the_result() {
    let env = env(vec![submission(json!({"name": "pi", "tags": ["2026-11-16", 3]}))]);
    let finished = ask(&env, &[]);
    assert_eq!(result(&finished), json!({"name": "pi", "tags": ["2026-11-16", 3]}));
    let requests = env.server.requests();
    assert_eq!(requests.len(), 1, "the submission ends the turn");
    let tools = requests[0]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "submit_result").unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(tool["function"]["parameters"], schema);
}

#[test]
fn the_tool_is_there_whatever_tools_the_user_selects() {
    let cases: [&[&str]; 4] = [
        &["--no-tools"],
        &["--tools", "read"],
        &["--exclude-tools", "submit_*"],
        &["--profile", "careful", "--approval", "never"],
    ];
    for options in cases {
        let env = env(vec![submission(json!({"name": "pi"}))]);
        let finished = ask(&env, options);
        assert_eq!(result(&finished), json!({"name": "pi"}), "{options:?}");
    }
}

#[test]
fn a_result_of_another_type_than_an_object_is_submitted_as_an_argument() {
    let env = env(vec![
        submission(json!({"result": ["one", 2]})),
        submission(json!({"result": ["one", "two"]})),
    ]);
    let schema = r#"{"type": "array", "items": {"type": "string"}}"#;
    let finished = env.run(&["--json-schema", schema, "-p", "List"]);
    assert_eq!(result(&finished), json!(["one", "two"]));
    assert!(last_message(&env.server.requests()[1]).contains("/1: expected string, got number"));
}

#[test]
fn problems_go_back_to_the_model() {
    let env = env(vec![
        text("I looked at it. The name is pi."),
        submission(json!({"name": "p", "tags": ["soon"], "more": 1})),
        text("Here:\n```json\n{\"name\": \"pi\"}\n```"),
    ]);
    let finished = ask(&env, &[]);
    assert_eq!(result(&finished), json!({"name": "pi"}));
    let requests = env.server.requests();
    assert_eq!(requests.len(), 3);
    let repair = last_message(&requests[1]);
    assert!(repair.contains("the answer is not JSON"), "{repair}");
    assert!(repair.contains("Call submit_result"), "{repair}");
    let refusal = last_message(&requests[2]);
    for problem in [
        "unexpected property \\\"more\\\"",
        "/name: expected at least 2 characters, got 1",
        "/tags/0: matches none of the alternatives",
    ] {
        assert!(refusal.contains(problem), "{refusal}");
    }
}

#[test]
fn a_result_that_stays_invalid_is_a_failure() {
    let replies: [fn() -> Reply; 2] =
        [|| text("The name is pi."), || submission(json!({"name": 1}))];
    for reply in replies {
        let env = env((0..20).map(|_| reply()).collect());
        let file = env.project().join("out.json");
        fs::write(&file, "old").unwrap();
        let finished = ask(&env, &["-o", "out.json"]);
        finished.assert_failed(12, &["the result does not match the schema", "pi sessions show"]);
        assert_eq!(finished.stdout, "");
        assert_eq!(env.server.requests().len(), 4, "one attempt and three repairs");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        let session = fs::read_to_string(&env.sessions()[0]).unwrap();
        assert!(session.contains("pi") || session.contains("\"name\":1"));
    }
}

#[test]
fn the_last_answer_is_not_lost_without_a_session() {
    let env = env((0..4).map(|_| text("The name is pi.")).collect());
    let finished = ask(&env, &["--no-session"]);
    finished.assert_failed(12, &["the last answer:", "The name is pi."]);
}

#[test]
fn a_valid_result_of_the_wrong_meaning_stays_valid() {
    let env = env(vec![submission(json!({"name": "no idea"}))]);
    assert_eq!(result(&ask(&env, &[])), json!({"name": "no idea"}));
}

#[test]
fn a_schema_that_cannot_be_used_sends_no_request() {
    let cases = [
        (["--json-schema", "{"], "--json-schema: EOF"),
        (["--json-schema", r#"{"type": 3}"#], "the schema is invalid at /type"),
        (["--json-schema", r#"{"$ref": "http://x/y"}"#], "the schema refers to http://x/y"),
        (["--output-schema", "missing.json"], "missing.json"),
    ];
    for (options, expected) in cases {
        let env = env(Vec::new());
        let finished = env.run(&[&options[..], &["-p", "Hi"]].concat());
        finished.assert_failed(2, &[expected]);
        assert_eq!(env.server.requests().len(), 0);
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let cases: [(&[&str], &str); 5] = [
        (&["--output-format", "json", "--mode", "json"], "--output-format json cannot be combined"),
        (&["--json-schema", "{}", "--mode", "rpc"], "--json-schema cannot be combined"),
        (&["-o", "f", "--output-format", "stream-json"], "--output cannot be combined"),
        (&["--json-schema", "{}", "--output-schema", "f"], "only one schema can be given"),
        (&["--output-format", "yaml"], "Invalid output format \"yaml\""),
    ];
    for (options, expected) in cases {
        let env = env(Vec::new());
        env.run(&[options, &["-p", "Hi"]].concat()).assert_failed(2, &[expected]);
    }
}

/// An environment whose model enforces schemas, also beside tools.
fn constrained(replies: Vec<Reply>) -> ServerEnv {
    let env = env(replies);
    let model = json!({"id": "m1", "contextWindow": 100_000, "maxTokens": 1000,
        "compat": {"supportsOutputSchema": true, "supportsOutputSchemaWithTools": true}});
    let provider = json!({ "baseUrl": format!("{}/v1", env.server.url()), "apiKey": "key",
        "api": "openai-completions", "models": [model] });
    env.write("models.json", json!({ "providers": { "mock": provider } }).to_string());
    env
}

const PLAIN: &str = r#"{"type": "object", "properties": {"name": {"type": "string"},
    "note": {"type": "string"}}, "required": ["name"]}"#;

#[test]
fn a_model_that_enforces_the_schema_answers_with_the_result() {
    let env = constrained(vec![text(r#"{"name": "pi", "note": null}"#)]);
    let finished = env.run(&["--json-schema", PLAIN, "-p", "Hi"]);
    // Strict sampling writes null for an optional property that the schema leaves out.
    assert_eq!(result(&finished), json!({"name": "pi"}));
    let request = &env.server.requests()[0];
    let schema = &request["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["name", "note"]));
    assert!(!tool_names(request).contains(&"submit_result"));
}

#[test]
fn a_model_that_ignores_the_schema_gets_the_tool() {
    let env = constrained(vec![text("Sure!"), submission(json!({"name": "pi"}))]);
    let finished = env.run(&["--json-schema", PLAIN, "-p", "Hi"]);
    assert_eq!(result(&finished), json!({"name": "pi"}));
    let requests = env.server.requests();
    assert!(requests[0].get("response_format").is_some());
    assert!(requests[1].get("response_format").is_none());
    assert!(tool_names(&requests[1]).contains(&"submit_result"));
}

#[test]
fn a_provider_that_rejects_the_schema_is_asked_without_it() {
    let body = json!({"error": {"message": "response_format is not supported with tools"}});
    let refusal = Status { code: 400, headers: Default::default(), body };
    let env = constrained(vec![
        Reply::Parts(vec![Part::Status(refusal)]),
        text("No structure here."),
        submission(json!({"name": "pi"})),
    ]);
    let finished = env.run(&["--json-schema", PLAIN, "-p", "Hi"]);
    assert_eq!(result(&finished), json!({"name": "pi"}));
    let requests = env.server.requests();
    let sent: Vec<bool> =
        requests.iter().map(|request| request.get("response_format").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
}

#[test]
fn a_large_result_is_complete() {
    let value = "x".repeat(10 << 20);
    let env = env(vec![submission(json!({ "name": value }))]);
    let finished = ask(&env, &["-o", "out.json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let printed: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert!(printed["name"].as_str() == Some(value.as_str()));
    assert!(fs::read_to_string(env.project().join("out.json")).unwrap() == finished.stdout);
}

#[test]
fn the_object_describes_the_run() {
    let env = env(vec![submission(json!({"name": "p"})), submission(json!({"name": "pi"}))]);
    let finished = ask(&env, &["--output-format", "json", "-o", "out.json"]);
    let object = result(&finished);
    assert_eq!(object["result"], json!({"name": "pi"}));
    assert_eq!((&object["ok"], &object["exitCode"]), (&json!(true), &json!(0)));
    assert_eq!(object["numTurns"], 2);
    assert_eq!(object["usage"]["input"], 20);
    assert_eq!(object["usage"]["totalTokens"], 30);
    assert_eq!(object["stopReason"], "toolUse");
    assert_eq!(object["model"], "mock/m1");
    assert!(object["cost"].is_number() && object["durationMs"].is_number());
    let file = object["sessionFile"].as_str().unwrap();
    assert!(file.contains(object["sessionId"].as_str().unwrap()));
    assert!(object.get("error").is_none() && object.get("problems").is_none());
    assert_eq!(fs::read_to_string(env.project().join("out.json")).unwrap(), finished.stdout);
    assert_eq!(finished.stdout.lines().count(), 1);
}

#[test]
fn the_object_is_there_after_a_failure_too() {
    let failed = |finished: &Finished, code: i32| {
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert_eq!(finished.stdout.lines().count(), 1, "{finished:?}");
        let object: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!((&object["ok"], &object["exitCode"]), (&json!(false), &json!(code)));
        assert!(object.get("result").is_none());
        object
    };
    // A result that stays invalid.
    let env_ = env((0..4).map(|_| submission(json!({"name": 1}))).collect());
    let object = failed(&ask(&env_, &["--output-format", "json"]), 12);
    assert_eq!(object["problems"], json!(["/name: expected string, got number"]));
    assert_eq!(
        serde_json::from_str::<Value>(object["text"].as_str().unwrap()).unwrap(),
        json!({"name": 1})
    );
    // A failure of the provider.
    let refusal = Status { code: 401, headers: Default::default(), body: json!({"error": "no"}) };
    let env_ = env(vec![Reply::Parts(vec![Part::Status(refusal)])]);
    let object = failed(&env_.run(&["--output-format", "json", "-p", "Hi"]), 5);
    assert!(object["error"]["message"].as_str().unwrap().contains("401"), "{object}");
    // A limit.
    let env_ = env(vec![text("prose"), text("prose")]);
    let object = failed(&ask(&env_, &["--output-format", "json", "--max-turns", "1"]), 4);
    assert!(object["error"]["message"].as_str().unwrap().contains("turns"), "{object}");
    // No session at all.
    let env_ = env(Vec::new());
    let object = failed(&ask(&env_, &["--output-format", "json", "--model", "nothing/such"]), 5);
    assert!(object.get("sessionId").is_none(), "{object}");
    assert_eq!(object["text"], Value::Null);
}

#[test]
fn a_file_receives_the_answer_only_on_success() {
    let env = env(vec![text("An answer.")]);
    let finished = env.run(&["-o", "out.txt", "-p", "Hi"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "An answer.\n"));
    let file = env.project().join("out.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "An answer.\n");
    // The script has no more answers.
    let finished = env.run(&["-o", "out.txt", "-p", "Hi"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "An answer.\n");
    assert_eq!(fs::read_dir(env.project()).unwrap().count(), 2, "no temporary file is left");
    // A file that cannot be written is a failure.
    let env = self::env(vec![text("An answer.")]);
    let finished = env.run(&["-o", "missing/out.txt", "-p", "Hi"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), "An answer.\n"));
    finished.assert_stderr(&["cannot write", "missing/out.txt"]);
}
