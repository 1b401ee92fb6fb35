//! Two clients of one session, each over a connection of its own.

use pi_ai::faux::Reply;
use serde_json::{Value, json};

use crate::client::{Client, Stage};

fn notices() -> Value {
    json!({ "session": { "notices": {} } })
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

async fn load(client: &mut Client, stage: &Stage, session: &str) {
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
}

#[tokio::test]
async fn both_are_asked_and_the_first_answer_wins() {
    let stage = Stage::careful();
    let host = stage.host();
    let mut desk = stage.client_of(&host, "desk", notices()).await;
    let mut phone = stage.client_of(&host, "phone", notices()).await;
    stage.model.push(Reply::new().text("Hello."));
    let session = desk.new_session(&stage.project()).await;
    desk.prompt(&session, "hi").await.unwrap();
    load(&mut phone, &stage, &session).await;
    assert_eq!(phone.text("agent_message_chunk"), "Hello.");

    let write = json!({ "path": "a.txt", "content": "x" });
    stage.model.push(Reply::new().tool_call("write", &write));
    stage.model.push(Reply::new().text("Done."));
    desk.silent.push("session/request_permission");
    let running = desk.start("session/prompt", prompt(&session, "go")).await;
    desk.until(|frame| frame["method"] == "session/request_permission").await;
    phone.until(|frame| frame["params"]["update"]["content"]["text"] == "Done.").await;
    assert!(phone.text("user_message_chunk").ends_with("go"));
    assert_eq!(desk.response(running).await, Ok(json!({ "stopReason": "end_turn" })));
    assert!(desk.frames.iter().any(|frame| frame["method"] == "$/cancel_request"));
    let is_told = |frame: &Value| {
        let title = frame["params"]["update"]["title"].as_str();
        title.is_some_and(|title| title.starts_with("phone answered: write: "))
    };
    desk.until(is_told).await;
    assert!(!phone.frames.iter().any(is_told));
    let log = std::fs::read_to_string(&host.find(&session).await.unwrap().path).unwrap();
    let recorded = log.lines().find(|line| line.contains("pi:answer")).unwrap();
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    assert_eq!(recorded["data"]["by"], "phone");
    assert_eq!(recorded["data"]["answer"], "once");

    // One of them leaves: the session stays for the other one.
    desk.call("session/close", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(desk.prompt(&session, "gone?").await.unwrap_err()["code"], -32002);
    stage.model.push(Reply::new().text("Still here."));
    phone.prompt(&session, "and now?").await.unwrap();
    assert!(phone.text("agent_message_chunk").ends_with("Still here."));
    phone.close().await;
    assert!(host.open_sessions().is_empty());
    desk.close().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_back_neither_the_agent_nor_others() {
    let stage = Stage::new();
    let host = stage.host();
    let mut desk = stage.client_of(&host, "desk", json!({})).await;
    let mut phone = stage.client_of(&host, "phone", json!({})).await;
    let session = desk.new_session(&stage.project()).await;
    stage.model.push(Reply::new().text("Hello."));
    desk.prompt(&session, "hi").await.unwrap();
    load(&mut phone, &stage, &session).await;
    // More than the pipe and the queues of a connection hold.
    let long = "word ".repeat(20_000);
    stage.model.push(Reply::new().text(long.as_str()).chunks_of(20));
    let running = desk.start("session/prompt", prompt(&session, "go")).await;
    phone.until(|frame| frame["params"]["update"]["sessionUpdate"] == "session_info_update").await;
    assert_eq!(phone.text("agent_message_chunk"), format!("Hello.{long}"));
    // The other one has missed nothing when it reads again, and gets it in larger pieces.
    assert_eq!(desk.response(running).await, Ok(json!({ "stopReason": "end_turn" })));
    assert_eq!(desk.text("agent_message_chunk"), format!("Hello.{long}"));
    let pieces = desk.updates("agent_message_chunk").len();
    assert!(pieces < long.len() / 20, "{pieces}");
}
