//! Files, terminals and forms of the client.

use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Command, Handlers, NotifyKind};
use serde_json::{Value, json};

use crate::client::Stage;

fn files() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true })
}

/// Returns the texts of the last request to the model.
fn last_request(stage: &Stage) -> String {
    format!("{:?}", stage.model.requests().pop().unwrap().context.messages)
}

#[tokio::test]
async fn unsaved_buffers_are_read_and_writes_go_through_the_client() {
    let stage = Stage::new();
    let path = stage.write("a.txt", "saved\n").to_string_lossy().into_owned();
    let edit = json!({ "path": "a.txt", "edits": [{ "oldText": "unsaved", "newText": "new" }] });
    stage.model.push(Reply::new().tool_call("read", &json!({ "path": "a.txt" })));
    stage.model.push(Reply::new().tool_call("edit", &edit));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, files()).await;
    client.buffers.insert(path.clone(), "unsaved\n".to_owned());
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    assert!(last_request(&stage).contains("unsaved"));
    assert_eq!(client.written, [(path.clone(), "new\n".to_owned())]);
    // This client saved nothing, so the agent did.
    assert_eq!(std::fs::read_to_string(path).unwrap(), "new\n");
}

#[tokio::test]
async fn a_buffer_that_was_never_saved_can_be_read() {
    let stage = Stage::new();
    let path = stage.project().join("new.txt").to_string_lossy().into_owned();
    stage.model.push(Reply::new().tool_call("read", &json!({ "path": "new.txt" })));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, files()).await;
    client.buffers.insert(path, "only in the editor\n".to_owned());
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    assert!(last_request(&stage).contains("only in the editor"));
}

#[tokio::test]
async fn in_a_sandbox_the_client_has_no_part_in_files() {
    let stage = Stage::careful();
    let path = stage.write("a.txt", "saved\n").to_string_lossy().into_owned();
    stage.model.push(Reply::new().tool_call("read", &json!({ "path": "a.txt" })));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, files()).await;
    client.buffers.insert(path, "unsaved\n".to_owned());
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    let sandboxed = client.requests("fs/read_text_file").is_empty();
    assert_eq!(last_request(&stage).contains("unsaved"), !sandboxed);
    if pi_guard_is_available() {
        assert!(sandboxed);
    }
}

/// Returns true if this machine can sandbox commands.
fn pi_guard_is_available() -> bool {
    pi_guard::confine::Machine::detect().level() > pi_guard::confine::ConfinementLevel::None
}

#[tokio::test]
async fn commands_run_in_terminals_if_the_program_wants_it() {
    for wanted in [true, false] {
        let stage = Stage { client_terminal: wanted, ..Stage::new() };
        let command = json!({ "command": "echo here" });
        stage.model.push(Reply::new().tool_call("bash", &command));
        stage.model.push(Reply::new().text("Done."));
        let mut client = stage.client(1, files()).await;
        let session = client.new_session(&stage.project()).await;
        client.prompt(&session, "go").await.unwrap();
        let created = client.requests("terminal/create");
        assert_eq!(created.len(), usize::from(wanted));
        let seen = last_request(&stage);
        assert_eq!(seen.contains("from the terminal"), wanted);
        if wanted {
            assert_eq!(created[0]["cwd"], json!(stage.project()));
            assert!(seen.contains("code 3"), "{seen}");
            let last = client.updates("tool_call_update").pop().unwrap();
            let terminal = json!([{ "type": "terminal", "terminalId": "t1" }]);
            assert_eq!(last["content"], terminal);
            client.until(|frame| frame["method"] == "terminal/release").await;
        }
    }
}

#[tokio::test]
async fn an_unsaved_buffer_that_was_read_can_be_replaced() {
    let stage = Stage::new();
    let path = stage.write("a.txt", "saved, and longer\n").to_string_lossy().into_owned();
    let write = json!({ "path": "a.txt", "content": "new\n" });
    stage.model.push(Reply::new().tool_call("read", &json!({ "path": "a.txt" })));
    stage.model.push(Reply::new().tool_call("write", &write));
    stage.model.push(Reply::new().text("Done."));
    let mut client = stage.client(1, files()).await;
    client.buffers.insert(path.clone(), "unsaved\n".to_owned());
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    let results = client.updates("tool_call_update");
    let output = &results.last().unwrap()["rawOutput"]["output"];
    assert_eq!(output, "Successfully wrote to a.txt");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "new\n");
}

#[tokio::test]
async fn a_command_that_starts_during_a_cancellation_is_ended() {
    let stage = Stage { client_terminal: true, ..Stage::new() };
    stage.model.push(Reply::new().tool_call("bash", &json!({ "command": "sleep 1000" })));
    let mut client = stage.client(1, files()).await;
    client.silent = vec!["terminal/create"];
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "go" }]);
    let id =
        client.start("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
    let asked = client.until(|frame| frame["method"] == "terminal/create").await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.response(id).await, Ok(json!({ "stopReason": "cancelled" })));
    let result = json!({ "terminalId": "late" });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    client.send_line(&answer.to_string()).await;
    for method in ["terminal/kill", "terminal/release"] {
        let ended = client.until(|frame| frame["method"] == method).await;
        assert_eq!(ended["params"]["terminalId"], "late");
    }
}

/// An extension whose command asks the user and reports the answer.
fn asking() -> Handlers {
    Handlers::new("test:asking").command(Command::new("ask", "Ask.", |_, context| async move {
        let sure = context.ui().confirm("Sure?", "It cannot be undone.").await;
        context.ui().notify(format!("sure: {sure}"), NotifyKind::Info);
        Ok(())
    }))
}

#[tokio::test]
async fn dialogs_are_forms_or_else_choices() {
    let forms = json!({ "elicitation": { "form": {} } });
    for (version, capabilities, method) in [
        (1, forms.clone(), "elicitation/create"),
        (1, json!({}), "session/request_permission"),
        (2, forms, "elicitation/create"),
        (2, json!({}), "session/request_permission"),
    ] {
        let stage = Stage { extensions: vec![Arc::new(asking())], ..Stage::new() };
        let mut client = stage.client(version, capabilities).await;
        client.choice = "0".to_owned();
        let session = client.new_session(&stage.project()).await;
        client.prompt(&session, "/ask").await.unwrap();
        assert_eq!(client.requests(method).len(), 1, "{version} {method}");
        let shown = client.until(|frame| frame.to_string().contains("sure: true")).await;
        let kind = if version == 1 { "agent_message_chunk" } else { "notice" };
        assert_eq!(shown["params"]["update"]["sessionUpdate"], kind);
        assert!(stage.model.requests().is_empty());
    }
}
