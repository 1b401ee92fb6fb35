//! Sessions that are opened anew: with another profile, or as a later request for them says.

use pi_ai::faux::Reply;
use pi_host::OpenError;
use serde_json::{Value, json};

use crate::client::{Client, Stage};

fn mode(session: &str, mode: &str) -> Value {
    json!({ "sessionId": session, "modeId": mode })
}

/// Returns the value of an option in the last report on the options.
fn option(client: &Client, id: &str) -> Value {
    let reported = client.updates("config_option_update").pop().unwrap();
    let options = reported["configOptions"].as_array().unwrap();
    options.iter().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
}

#[tokio::test]
async fn a_session_of_another_directory_keeps_its_history() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Noted."));
    stage.model.push(Reply::new().text("Lamp."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "Remember the word lamp").await.unwrap();
    client.close().await;
    let other = stage.project().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "sessionId": session, "cwd": other, "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
    client.call("session/set_mode", mode(&session, "careful")).await.unwrap();
    client.prompt(&session, "Which word?").await.unwrap();
    let request = stage.model.requests().pop().unwrap();
    assert!(format!("{:?}", request.context.messages).contains("the word lamp"));
}

#[tokio::test]
async fn the_thinking_level_stays() {
    let stage = Stage::new();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let params = json!({ "sessionId": session, "configId": "thinking", "value": "high" });
    client.call("session/set_config_option", params).await.unwrap();
    client.call("session/set_mode", mode(&session, "careful")).await.unwrap();
    assert_eq!(option(&client, "profile"), "careful");
    assert_eq!(option(&client, "thinking"), "high");
}

#[tokio::test]
async fn requests_for_permission_stay_complete() {
    let stage = Stage::new();
    stage.write("a.txt", "old\n");
    let write = json!({ "path": "a.txt", "content": "new\n" });
    stage.model.push(Reply::new().tool_call("write", &write));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.call("session/set_mode", mode(&session, "careful")).await.unwrap();
    client.prompt(&session, "go").await.unwrap();
    let asked = client.requests("session/request_permission").pop().unwrap();
    let path = stage.project().join("a.txt");
    assert_eq!(asked["toolCall"]["rawInput"], write);
    assert_eq!(asked["toolCall"]["locations"], json!([{ "path": path }]));
    let diff = json!({ "type": "diff", "path": path, "oldText": "old\n", "newText": "new\n" });
    assert_eq!(asked["toolCall"]["content"][0], diff);
}

#[tokio::test]
async fn a_cancelled_change_leaves_a_session_that_works() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Here."));
    let mut client = stage.client(1, json!({ "session": { "notices": {} } })).await;
    let session = client.new_session(&stage.project()).await;
    let gate = stage.gate.lock().await;
    let id = client.start("session/set_mode", mode(&session, "careful")).await;
    let next = client.start("session/set_mode", mode(&session, "unattended")).await;
    // The first is in flight when it is cancelled: the second waits for it.
    let said = "the profile becomes unattended when the run has ended";
    client.until(|frame| frame["params"]["update"]["title"] == said).await;
    client.notify("$/cancel_request", json!({ "requestId": id })).await;
    assert_eq!(client.response(id).await.unwrap_err()["code"], -32800);
    drop(gate);
    client.response(next).await.unwrap();
    assert_eq!(option(&client, "profile"), "unattended");
    let answer = client.prompt(&session, "still there?").await;
    assert_eq!(answer, Ok(json!({ "stopReason": "end_turn" })));
}

#[tokio::test]
async fn a_change_during_a_run_follows_the_run() {
    let stage = Stage::new();
    stage.write("a.txt", "old\n");
    let write = json!({ "path": "a.txt", "content": "new\n" });
    stage.model.push(Reply::new().text("working").hang());
    stage.model.push(Reply::new().tool_call("write", &write));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, json!({ "session": { "notices": {} } })).await;
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let running = client.start("session/prompt", params.clone()).await;
    client.until(|f| f["params"]["update"]["content"]["text"] == "working").await;
    let changing = client.start("session/set_mode", mode(&session, "careful")).await;
    let said = "the profile becomes careful when the run has ended";
    client.until(|frame| frame["params"]["update"]["title"] == said).await;
    let next = client.start("session/prompt", params).await;
    assert!(client.updates("current_mode_update").is_empty());
    client.notify("$/cancel_request", json!({ "requestId": running })).await;
    assert_eq!(client.response(running).await, Ok(json!({ "stopReason": "cancelled" })));
    client.response(changing).await.unwrap();
    assert_eq!(option(&client, "profile"), "careful");
    // The prompt that was waiting behind the change runs under the new profile.
    assert_eq!(client.response(next).await, Ok(json!({ "stopReason": "end_turn" })));
    assert_eq!(client.requests("session/request_permission").len(), 1);
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_again_is_closed() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("One."));
    stage.model.push(Reply::new().text("Two."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "one").await.unwrap();
    let failed = |text: &str| Some(OpenError::Failed(text.to_owned()));
    // One failure: the session continues with its profile.
    stage.refusals.lock().unwrap().extend([failed("no sandbox")]);
    let error = client.call("session/set_mode", mode(&session, "careful")).await.unwrap_err();
    assert_eq!(error["message"], "no sandbox");
    client.prompt(&session, "two").await.unwrap();
    // Two: the client can load it again.
    stage.refusals.lock().unwrap().extend([failed("no sandbox"), failed("no disk")]);
    let error = client.call("session/set_mode", mode(&session, "careful")).await.unwrap_err();
    assert_eq!(error["message"], "no sandbox");
    assert_eq!(client.prompt(&session, "three").await.unwrap_err()["code"], -32002);
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
    assert!(client.text("agent_message_chunk").ends_with("One.Two."));
}

#[tokio::test]
async fn a_session_can_be_closed_while_it_is_opened_anew() {
    let stage = Stage::new();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let gate = stage.gate.lock().await;
    let changing = client.start("session/set_mode", mode(&session, "careful")).await;
    let closing = client.start("session/close", json!({ "sessionId": session })).await;
    // The answer to a later request: the others are waiting.
    client.call("session/list", json!({})).await.unwrap();
    drop(gate);
    client.response(changing).await.unwrap();
    client.response(closing).await.unwrap();
    assert_eq!(client.prompt(&session, "gone?").await.unwrap_err()["code"], -32002);
}

#[tokio::test]
async fn a_session_that_is_open_gets_the_servers_of_a_later_request() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("One."));
    stage.model.push(Reply::new().text("Two."));
    let mut client = stage.client(1, json!({ "session": { "notices": {} } })).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "one").await.unwrap();
    let started = stage.project().join("started");
    let made = std::process::Command::new("mkfifo").arg(&started).status().unwrap();
    assert!(made.success());
    // Writing waits for the reader below; then the server ends, which costs only itself.
    let script = format!("echo ready > {}", started.display());
    let server = json!({ "name": "tiny", "command": "sh", "args": ["-c", script], "env": [] });
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [server] });
    client.call("session/load", params.clone()).await.unwrap();
    client.prompt(&session, "two").await.unwrap();
    let started = tokio::task::spawn_blocking(|| std::fs::read_to_string(started).unwrap());
    assert_eq!(started.await.unwrap(), "ready\n");
    let context = stage.model.requests().pop().unwrap().context;
    assert!(format!("{:?}", context.messages).contains("one"));

    // During a run the session stays as it is, and the client is told so.
    stage.model.push(Reply::new().text("working").hang());
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let prompt = json!({ "sessionId": session, "prompt": prompt });
    let running = client.start("session/prompt", prompt).await;
    client.until(|f| f["params"]["update"]["content"]["text"] == "working").await;
    let other = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/resume", other).await.unwrap();
    let said = "the session is running: its directories and MCP servers stay as they are";
    client.until(|frame| frame["params"]["update"]["title"] == said).await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.response(running).await, Ok(json!({ "stopReason": "cancelled" })));
}
