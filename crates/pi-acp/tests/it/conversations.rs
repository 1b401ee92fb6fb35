//! Conversations in version 1.

use pi_ai::faux::Reply;
use serde_json::{Value, json};

use crate::client::Stage;

#[tokio::test]
async fn a_turn_with_tools_is_reported() {
    let stage = Stage::new();
    stage.write("a.txt", "one\ntwo\n");
    let edit = json!({ "path": "a.txt", "edits": [{ "oldText": "two", "newText": "three" }] });
    stage.model.push(
        Reply::new()
            .thinking("Read first.")
            .text("I read it.")
            .tool_call("read", &json!({ "path": "a.txt", "offset": 2 })),
    );
    stage.model.push(
        Reply::new()
            .raw_tool_call("e", "edit", edit.to_string())
            .raw_tool_call("w", "write", r#"{"path":"new.txt","content":"fresh\n"}"#)
            .raw_tool_call("b", "bash", r#"{"command":"echo hello"}"#),
    );
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let answer = client.prompt(&session, "Change it").await.unwrap();
    assert_eq!(answer, json!({ "stopReason": "end_turn" }));
    assert_eq!(client.text("agent_thought_chunk"), "Read first.");
    assert_eq!(client.text("agent_message_chunk"), "I read it.Done.");
    assert!(client.updates("user_message_chunk").is_empty());

    let calls = client.updates("tool_call");
    assert_eq!(calls.len(), 4);
    let changes = client.updates("tool_call_update");
    let last = |at: usize, field: &str| -> Value {
        let mut value = calls[at][field].clone();
        for change in changes.iter().filter(|one| one["toolCallId"] == calls[at]["toolCallId"]) {
            if let Some(new) = change.get(field) {
                value = new.clone();
            }
        }
        value
    };
    let path = |name: &str| stage.project().join(name).to_string_lossy().into_owned();
    assert_eq!(last(0, "kind"), "read");
    assert_eq!(last(0, "title"), "read a.txt:2");
    assert_eq!(last(0, "locations"), json!([{ "path": path("a.txt"), "line": 2 }]));
    assert_eq!(last(1, "kind"), "edit");
    let diff =
        json!({ "type": "diff", "path": path("a.txt"), "oldText": "two", "newText": "three" });
    assert_eq!(last(1, "content"), json!([diff]));
    assert_eq!(last(1, "locations"), json!([{ "path": path("a.txt"), "line": 2 }]));
    let diff = json!({ "type": "diff", "path": path("new.txt"), "newText": "fresh\n" });
    assert_eq!(last(2, "content"), json!([diff]));
    assert_eq!(last(3, "kind"), "execute");
    assert_eq!(last(3, "title"), "echo hello");
    assert_eq!(last(3, "rawInput"), json!({ "command": "echo hello" }));
    assert!(last(3, "content")[0]["content"]["text"].as_str().unwrap().contains("hello"));
    for at in 0..4 {
        assert_eq!(last(at, "status"), "completed");
    }
    let usage = client.updates("usage_update");
    assert_eq!(usage.len(), 3);
    assert!(usage[2]["used"].as_u64().unwrap() > 0);
    assert_eq!(usage[2]["cost"]["currency"], "USD");
    let (ended, _) = client.close().await;
    assert_eq!(ended, pi_acp::Ended::Eof);
}

#[tokio::test]
async fn commands_follow_the_response_of_a_new_session() {
    let stage = Stage::new();
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "cwd": stage.project(), "mcpServers": [] });
    let answer = client.call("session/new", params).await.unwrap();
    assert_eq!(answer["modes"]["currentModeId"], "explore");
    let options = answer["configOptions"].as_array().unwrap();
    assert_eq!(options[0]["category"], "mode");
    assert_eq!(options[1]["category"], "model");
    let is_commands =
        |frame: &Value| frame["params"]["update"]["sessionUpdate"] == "available_commands_update";
    let commands = client.until(is_commands).await;
    let commands = &commands["params"]["update"]["availableCommands"];
    assert_eq!(commands[0]["name"], "compact");
    let at = |found: &dyn Fn(&Value) -> bool| client.frames.iter().position(found).unwrap();
    assert!(at(&is_commands) > at(&|frame| frame["result"]["sessionId"].is_string()));
}

#[tokio::test]
async fn permission_is_asked_and_the_answer_counts() {
    // The option, the status of the call, and what the file says.
    let cases = [
        ("once", "completed", Some("made\n")),
        ("session", "completed", Some("made\n")),
        ("reject", "failed", None),
        ("nothing of this kind", "failed", None),
    ];
    for (choice, status, content) in cases {
        let stage = Stage::careful();
        let write = json!({ "path": "made.txt", "content": "made\n" });
        stage.model.push(Reply::new().tool_call("write", &write));
        stage.model.push(Reply::new().text("Done."));
        let mut client = stage.client(1, json!({})).await;
        client.choice = choice.to_owned();
        let session = client.new_session(&stage.project()).await;
        client.prompt(&session, "Go").await.unwrap();
        let asked = client.requests("session/request_permission");
        assert_eq!(asked.len(), 1, "{choice}");
        let options = asked[0]["options"].as_array().unwrap();
        let kinds: Vec<&str> = options.iter().map(|one| one["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds.first(), Some(&"allow_once"));
        assert_eq!(kinds.last(), Some(&"reject_once"));
        assert!(kinds.contains(&"allow_always"));
        assert_eq!(asked[0]["toolCall"]["content"][0]["type"], "diff");
        let last = client.updates("tool_call_update").pop().unwrap();
        assert_eq!(last["status"], status, "{choice}");
        let made = std::fs::read_to_string(stage.project().join("made.txt")).ok();
        assert_eq!(made.as_deref(), content, "{choice}");
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled() {
    for by_request in [false, true] {
        let stage = Stage::new();
        stage.model.push(Reply::new().text("thinking").hang());
        stage.model.push(Reply::new().text("again"));
        let mut client = stage.client(1, json!({})).await;
        let session = client.new_session(&stage.project()).await;
        let prompt = json!([{ "type": "text", "text": "go" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        let id = client.start("session/prompt", params).await;
        client.until(|f| f["params"]["update"]["content"]["text"] == "thinking").await;
        match by_request {
            false => client.notify("session/cancel", json!({ "sessionId": session })).await,
            true => client.notify("$/cancel_request", json!({ "requestId": id })).await,
        }
        assert_eq!(client.response(id).await, Ok(json!({ "stopReason": "cancelled" })));
        let answer = client.prompt(&session, "go on").await;
        assert_eq!(answer, Ok(json!({ "stopReason": "end_turn" })));
        assert!(client.text("agent_message_chunk").ends_with("again"));
    }
}

#[tokio::test]
async fn a_cancellation_right_after_the_prompt_counts() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("never seen").hang());
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let id =
        client.start("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.response(id).await, Ok(json!({ "stopReason": "cancelled" })));
}

#[tokio::test]
async fn a_cancelled_run_withdraws_its_question() {
    let stage = Stage::careful();
    let write = json!({ "path": "made.txt", "content": "made\n" });
    stage.model.push(Reply::new().tool_call("write", &write));
    let mut client = stage.client(1, json!({})).await;
    client.silent = vec!["session/request_permission"];
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let id =
        client.start("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
    let asked = client.until(|frame| frame["method"] == "session/request_permission").await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.response(id).await, Ok(json!({ "stopReason": "cancelled" })));
    let withdrawn = client.until(|frame| frame["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert!(!stage.project().join("made.txt").exists());
}

#[tokio::test]
async fn a_failed_turn_is_an_error() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Well").fail("the key is wrong"));
    stage.model.push(Reply::new().text("Cut").stop_reason(pi_ai::StopReason::Length));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let error = client.prompt(&session, "go").await.unwrap_err();
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().contains("the key is wrong"));
    let answer = client.prompt(&session, "again").await;
    assert_eq!(answer, Ok(json!({ "stopReason": "max_tokens" })));
}

#[tokio::test]
async fn sessions_are_listed_loaded_resumed_and_deleted() {
    let stage = Stage::new();
    stage.write("a.txt", "one\n");
    stage.model.push(
        Reply::new()
            .thinking("Hm.")
            .text("Reading.")
            .tool_call("read", &json!({ "path": "a.txt" })),
    );
    stage.model.push(Reply::new().text("It says one."));
    stage.model.push(Reply::new().text("Lamp."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "Remember the word lamp").await.unwrap();
    let before = client.updates("agent_message_chunk");
    client.close().await;

    let mut client = stage.client(1, json!({})).await;
    let listed = client.call("session/list", json!({ "cwd": stage.project() })).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(listed["sessions"][0]["sessionId"], *session);
    assert_eq!(listed["sessions"][0]["title"], "Remember the word lamp");
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    let loaded = client.call("session/load", params.clone()).await.unwrap();
    assert_eq!(loaded["modes"]["currentModeId"], "explore");
    assert_eq!(client.text("user_message_chunk"), "Remember the word lamp");
    assert_eq!(client.text("agent_thought_chunk"), "Hm.");
    assert_eq!(client.text("agent_message_chunk"), "Reading.It says one.");
    let ids = |updates: &[Value]| -> Vec<Value> {
        let mut ids: Vec<Value> = updates.iter().map(|one| one["messageId"].clone()).collect();
        ids.dedup();
        ids
    };
    assert_eq!(ids(&client.updates("agent_message_chunk")), ids(&before));
    assert_eq!(client.updates("tool_call_update").pop().unwrap()["status"], "completed");
    client.prompt(&session, "Which word?").await.unwrap();
    assert_eq!(stage.model.requests().len(), 3);
    client.close().await;

    let mut client = stage.client(1, json!({})).await;
    client.call("session/resume", params).await.unwrap();
    assert!(client.updates("user_message_chunk").is_empty());
    client.call("session/close", json!({ "sessionId": session })).await.unwrap();
    let error = client.prompt(&session, "Gone?").await.unwrap_err();
    assert_eq!(error["code"], -32002);
    client.call("session/delete", json!({ "sessionId": session })).await.unwrap();
    let listed = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn options_and_modes_change() {
    let stage = Stage::new();
    stage.model.push(Reply::new().tool_call("write", &json!({ "path": "a", "content": "x" })));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let set =
        |id: &str, value: &str| json!({ "sessionId": session, "configId": id, "value": value });
    let mode = json!({ "sessionId": session, "modeId": "careful" });
    client.call("session/set_mode", mode).await.unwrap();
    assert_eq!(client.updates("current_mode_update")[0]["currentModeId"], "careful");
    client.prompt(&session, "go").await.unwrap();
    assert_eq!(client.requests("session/request_permission").len(), 1);
    let answer = client.call("session/set_config_option", set("profile", "explore")).await.unwrap();
    assert_eq!(answer["configOptions"][0]["currentValue"], "explore");
    for (id, value) in [("profile", "free"), ("model", "none"), ("thinking", "deep"), ("x", "y")] {
        let error = client.call("session/set_config_option", set(id, value)).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{id} {value}");
    }
    // The history is still there.
    stage.model.push(Reply::new().text("Yes."));
    client.prompt(&session, "still there?").await.unwrap();
    assert!(stage.model.requests().pop().unwrap().context.messages.len() > 4);
}

#[tokio::test]
async fn a_client_cannot_go_below_the_profile_of_the_program() {
    let stage = Stage::careful();
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "cwd": stage.project(), "mcpServers": [] });
    let answer = client.call("session/new", params).await.unwrap();
    let modes = answer["modes"]["availableModes"].as_array().unwrap();
    let modes: Vec<&str> = modes.iter().map(|mode| mode["id"].as_str().unwrap()).collect();
    assert_eq!(modes, ["careful", "unattended"]);
    let mode = json!({ "sessionId": answer["sessionId"], "modeId": "explore" });
    assert_eq!(client.call("session/set_mode", mode).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn sessions_run_at_the_same_time() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("first").hang());
    stage.model.push(Reply::new().text("second"));
    let mut client = stage.client(1, json!({})).await;
    let one = client.new_session(&stage.project()).await;
    let two = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let id = client.start("session/prompt", json!({ "sessionId": one, "prompt": prompt })).await;
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "first").await;
    let answer = client.prompt(&two, "go").await;
    assert_eq!(answer, Ok(json!({ "stopReason": "end_turn" })));
    client.notify("session/cancel", json!({ "sessionId": one })).await;
    assert_eq!(client.response(id).await, Ok(json!({ "stopReason": "cancelled" })));
}
