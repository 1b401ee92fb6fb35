//! `pi acp` over real pipes: an editor that writes lines and reads them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Part, Reply};

/// Returns an answer of the model that ends for a reason.
fn answer(delta: &Value, reason: &str) -> Reply {
    let chunk = json!({ "choices": [{ "delta": delta, "finish_reason": reason }] });
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    Reply::Parts(vec![Part::Raw(format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ))])
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[test]
fn an_editor_runs_a_turn_and_leaves_a_session() {
    let arguments = json!({ "path": "made.txt", "content": "made\n" }).to_string();
    let call = json!({ "index": 0, "id": "c1", "type": "function",
        "function": { "name": "write", "arguments": arguments } });
    let env = ServerEnv::new(vec![
        answer(&json!({ "tool_calls": [call] }), "tool_calls"),
        answer(&json!({ "content": "Done." }), "stop"),
    ]);
    let mut command = env.command(&["acp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut frames: Vec<Value> = Vec::new();
    let mut exchange = |message: &Value| -> Value {
        writeln!(input, "{message}").unwrap();
        loop {
            let line = lines.next().expect("the program ended").unwrap();
            let frame: Value = serde_json::from_str(&line).expect("only messages are on stdout");
            frames.push(frame.clone());
            if frame["id"] == message["id"] && frame.get("method").is_none() {
                return frame;
            }
        }
    };
    let started = exchange(&request(1, "initialize", &json!({ "protocolVersion": 1 })));
    assert_eq!(started["result"]["agentInfo"]["name"], "pi");
    let project = env.project();
    let new = exchange(&request(2, "session/new", &json!({ "cwd": project, "mcpServers": [] })));
    let session = new["result"]["sessionId"].clone();
    let prompt = json!([{ "type": "text", "text": "Write it" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let answer = exchange(&request(3, "session/prompt", &params));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(project.join("made.txt")).unwrap(), "made\n");
    let text: Vec<&Value> = frames
        .iter()
        .map(|frame| &frame["params"]["update"])
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
        .collect();
    assert_eq!(text.len(), 1);
    assert_eq!(text[0]["content"]["text"], "Done.");
    let shown = env.run(&["sessions", "show", session.as_str().unwrap()]);
    assert!(shown.stdout.contains("Write it"), "{shown:?}");
}

#[test]
fn requests_that_end_with_the_input_are_answered() {
    let env = ServerEnv::new(Vec::new());
    let mut command = env.command(&["acp", "--profile", "careful"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "no message").unwrap();
    let start = request(1, "initialize", &json!({ "protocolVersion": 2, "info": {} }));
    writeln!(input, "{start}").unwrap();
    drop(input);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    let frames: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(frames.len(), 2, "{output}");
    assert!(frames.iter().any(|frame| frame["error"]["code"] == -32700));
    assert!(frames.iter().any(|frame| frame["result"]["protocolVersion"] == 2));
}

/// Starts `pi acp`, opens a session in a directory and sends a prompt. Returns the responses.
fn converse(env: &ServerEnv, arguments: &[&str], cwd: &Path) -> [Value; 2] {
    let mut command = env.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut exchange = |message: &Value| -> Value {
        writeln!(input, "{message}").unwrap();
        loop {
            let line = lines.next().expect("the program ended").unwrap();
            let frame: Value = serde_json::from_str(&line).expect("only messages are on stdout");
            if frame["id"] == message["id"] && frame.get("method").is_none() {
                return frame;
            }
        }
    };
    exchange(&request(1, "initialize", &json!({ "protocolVersion": 1 })));
    let new = exchange(&request(2, "session/new", &json!({ "cwd": cwd, "mcpServers": [] })));
    let prompt = json!([{ "type": "text", "text": "Hi" }]);
    let params = json!({ "sessionId": new["result"]["sessionId"], "prompt": prompt });
    let answer = exchange(&request(3, "session/prompt", &params));
    drop(input);
    assert!(child.wait().unwrap().success());
    [new, answer]
}

#[test]
fn the_directory_of_sessions_does_not_depend_on_theirs() {
    let env = ServerEnv::new(vec![answer(&json!({ "content": "Done." }), "stop")]);
    let (here, other) = (env.project(), env.project().join("other"));
    std::fs::create_dir(&other).unwrap();
    let arguments = ["acp", "--session-dir", "kept"];
    let [_, answered] = converse(&env, &arguments, &other);
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    assert!(!other.join("kept").exists());
    assert_eq!(std::fs::read_dir(here.join("kept")).unwrap().count(), 1);
}

#[test]
fn a_model_without_credentials_asks_for_them() {
    let env = ServerEnv::new(Vec::new());
    let provider = json!({
        "baseUrl": format!("{}/v1", env.server.url()), "apiKey": "$A_VARIABLE_THAT_IS_NOT_SET",
        "api": "openai-completions", "models": [{ "id": "m1" }],
    });
    env.write("models.json", json!({ "providers": { "mock": provider } }).to_string());
    let [new, _] = converse(&env, &["acp"], &env.project());
    assert_eq!(new["error"]["code"], -32000, "{new}");
}
