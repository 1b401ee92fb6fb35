//! The draft of version 2.

use pi_ai::faux::Reply;
use serde_json::{Value, json};

use crate::client::{Client, Stage};

fn states(client: &Client) -> Vec<String> {
    let state = |update: &Value| {
        let stop = update["stopReason"].as_str().map(|stop| format!(" {stop}"));
        format!("{}{}", update["state"].as_str().unwrap(), stop.unwrap_or_default())
    };
    client.updates("state_update").iter().map(state).collect()
}

async fn until_idle(client: &mut Client) {
    client.until(|frame| frame["params"]["update"]["state"] == "idle").await;
}

#[tokio::test]
async fn a_prompt_is_acknowledged_and_its_end_is_a_state() {
    let stage = Stage::careful();
    let write = json!({ "path": "made.txt", "content": "made\n" });
    stage.model.push(Reply::new().thinking("Hm.").tool_call("write", &write));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(2, json!({})).await;
    let params = json!({ "cwd": stage.project() });
    let answer = client.call("session/new", params).await.unwrap();
    assert_eq!(answer["configOptions"][0]["configId"], "profile");
    assert_eq!(answer["availableCommands"][0]["type"], "command");
    let session = answer["sessionId"].as_str().unwrap().to_owned();
    let answer = client.prompt(&session, "Go").await.unwrap();
    until_idle(&mut client).await;
    assert_eq!(states(&client), ["running", "requires_action", "running", "idle end_turn"]);
    let message = &client.updates("user_message")[0];
    assert_eq!(message["messageId"], answer["messageId"]);
    assert_eq!(message["content"], json!([{ "type": "text", "text": "Go" }]));
    let asked = &client.requests("session/request_permission")[0];
    assert!(asked["title"].as_str().unwrap().contains("made.txt"));
    assert_eq!(asked["subject"]["type"], "tool_call");
    assert!(client.updates("tool_call").is_empty());
    let last = client.updates("tool_call_update").pop().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["content"][0]["changes"][0]["operation"], "add");
    let patch = last["content"][0]["patch"]["text"].as_str().unwrap();
    assert!(patch.ends_with("@@ -0,0 +1,1 @@\n+made\n"), "{patch}");
    assert_eq!(client.text("agent_message_chunk"), "Done.");
}

#[tokio::test]
async fn failures_and_cancellations_are_states() {
    let stage = Stage::new();
    stage.model.push(Reply::new().fail("the key is wrong"));
    stage.model.push(Reply::new().text("thinking").hang());
    let mut client = stage.client(2, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    until_idle(&mut client).await;
    let last = client.updates("state_update").pop().unwrap();
    assert_eq!(last["stopReason"], "error");
    assert!(last["error"]["message"].as_str().unwrap().contains("the key is wrong"));
    client.prompt(&session, "go").await.unwrap();
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "thinking").await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    client.until(|frame| frame["params"]["update"]["stopReason"] == "cancelled").await;
}

#[tokio::test]
async fn a_session_is_resumed_with_its_history_and_the_same_ids() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Hello."));
    let mut client = stage.client(2, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let answer = client.prompt(&session, "Hi").await.unwrap();
    until_idle(&mut client).await;
    let answered = client.updates("agent_message_chunk")[0]["messageId"].clone();
    client.close().await;

    let mut client = stage.client(2, json!({})).await;
    let params =
        |from: Value| json!({ "sessionId": session, "cwd": stage.project(), "replayFrom": from });
    let error = client.call("session/resume", params(json!({ "type": "_x" }))).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    client.call("session/resume", params(json!({ "type": "start" }))).await.unwrap();
    assert_eq!(client.updates("user_message")[0]["messageId"], answer["messageId"]);
    assert_eq!(client.updates("agent_message_chunk")[0]["messageId"], answered);
    assert_eq!(states(&client), ["idle"]);
    let last = client.frames.iter().rev().nth(1).unwrap();
    assert_eq!(last["params"]["update"]["sessionUpdate"], "state_update");
    let error = client.call("session/load", params(Value::Null)).await.unwrap_err();
    assert_eq!(error["code"], -32601);
}

#[tokio::test]
async fn commands_are_subjects_of_permissions() {
    let stage = Stage::careful();
    let command = json!({ "command": "touch a b" });
    stage.model.push(Reply::new().tool_call("bash", &command));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(2, json!({})).await;
    client.choice = "reject".to_owned();
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "Go").await.unwrap();
    until_idle(&mut client).await;
    for asked in client.requests("session/request_permission") {
        assert_eq!(asked["subject"]["type"], "command");
        assert_eq!(asked["subject"]["command"], "touch a b");
    }
}
