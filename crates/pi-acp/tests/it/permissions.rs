//! Requests for permission: what they show, and what becomes of their calls.

use std::sync::{Arc, Mutex};

use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Command, Dialog, DialogOptions, Handlers};
use pi_protocol::CancelToken;
use serde_json::{Value, json};

use crate::client::{Client, Stage};

/// Lets a model write a file that is approved, and returns the question.
async fn approved(stage: &Stage, client: &mut Client, tool: &str, arguments: &Value) -> Value {
    stage.model.push(Reply::new().tool_call(tool, arguments));
    stage.model.push(Reply::new().text("Done."));
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "Done.").await;
    client.requests("session/request_permission").pop().unwrap()
}

#[tokio::test]
async fn a_question_shows_what_would_change() {
    // The file before, and the old side of the difference.
    for old in [None, Some("one\ntwo\n")] {
        let stage = Stage::careful();
        if let Some(old) = old {
            stage.write("a.txt", old);
        }
        let write = json!({ "path": "a.txt", "content": "one\n2\n" });
        let mut client = stage.client(1, json!({})).await;
        let asked = approved(&stage, &mut client, "write", &write).await;
        let shown = &asked["toolCall"]["content"][0];
        assert_eq!(shown.get("oldText"), old.map(Value::from).as_ref());
        assert_eq!(shown["newText"], "one\n2\n");
        // The call was running, and runs on, without the question in it.
        assert_eq!(asked["toolCall"].get("status"), None);
        let changes = client.updates("tool_call_update");
        let statuses: Vec<&Value> = changes.iter().map(|change| &change["status"]).collect();
        assert_eq!(statuses, ["in_progress", "in_progress", "completed"]);
        assert_eq!(changes[1]["title"], changes[0]["title"]);
        assert_eq!(changes[1]["content"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_draft_shows_patches_with_absolute_paths() {
    let stage = Stage::careful();
    let path = stage.write("a.txt", "one\ntwo\n").to_string_lossy().into_owned();
    let edit = json!({ "path": "a.txt", "edits": [{ "oldText": "two", "newText": "2" }] });
    let write = json!({ "path": "a.txt", "content": "1\n2\n" });
    let header = format!("diff --git {path} {path}\n--- {path}\n+++ {path}\n");
    for (tool, arguments, hunks) in [
        ("edit", edit, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"),
        ("write", write, "@@ -1,2 +1,2 @@\n-one\n+1\n 2\n"),
    ] {
        let mut client = stage.client(2, json!({})).await;
        let asked = approved(&stage, &mut client, tool, &arguments).await;
        let expected = json!({ "format": "git_patch", "text": format!("{header}{hunks}") });
        assert_eq!(asked["subject"]["toolCall"]["content"][0]["patch"], expected, "{tool}");
        let last = client.updates("tool_call_update").pop().unwrap();
        assert_eq!(last["status"], "completed");
        let patch = last["content"][0]["patch"]["text"].as_str().unwrap();
        assert!(patch.starts_with(&header), "{tool}: {patch}");
    }
}

/// An extension whose command asks a question that ends with a token.
fn asking(cancel: CancelToken, answers: Arc<Mutex<Vec<bool>>>) -> Handlers {
    let command = Command::new("ask", "Asks.", move |_, context| {
        let (cancel, answers) = (cancel.clone(), Arc::clone(&answers));
        async move {
            let title = "Which one?".to_owned();
            let options = vec!["this".to_owned(), "that".to_owned()];
            let options = Dialog::Select { title, options };
            let limits = DialogOptions { cancel: Some(cancel), ..DialogOptions::default() };
            let answer = context.ui().dialog(options, limits).await;
            answers.lock().unwrap().push(answer.is_some());
            Ok(())
        }
    });
    Handlers::new("test:asking").command(command)
}

#[tokio::test]
async fn the_call_of_a_choice_ends_with_the_question() {
    // The option that the client chooses, and the last status in both versions.
    let cases = [("0", "completed", "completed"), ("unknown", "failed", "cancelled")];
    for version in [1, 2] {
        for (choice, first, second) in cases {
            let extension = asking(CancelToken::new(), Arc::default());
            let stage = Stage { extensions: vec![Arc::new(extension)], ..Stage::new() };
            let mut client = stage.client(version, json!({})).await;
            client.choice = choice.to_owned();
            let session = client.new_session(&stage.project()).await;
            client.prompt(&session, "/ask").await.unwrap();
            let status = if version == 1 { first } else { second };
            client.until(|frame| frame["params"]["update"]["status"] == status).await;
            let kind = if version == 1 { "tool_call" } else { "tool_call_update" };
            let announced = client.updates(kind).remove(0);
            assert_eq!(announced["title"], "Which one?");
            let is_announced = |frame: &Value| frame["params"]["update"] == announced;
            let asked = |frame: &Value| frame["method"] == "session/request_permission";
            let frames = &client.frames;
            assert!(frames.iter().position(is_announced) < frames.iter().position(asked));
        }
    }
}

#[tokio::test]
async fn a_question_that_is_given_up_leaves_nothing_behind() {
    let (cancel, answers) = (CancelToken::new(), Arc::default());
    let extension = asking(cancel.clone(), Arc::clone(&answers));
    let stage = Stage { extensions: vec![Arc::new(extension)], ..Stage::new() };
    let mut client = stage.client(2, json!({})).await;
    client.silent = vec!["session/request_permission"];
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "/ask").await.unwrap();
    client.until(|frame| frame["method"] == "session/request_permission").await;
    cancel.cancel();
    client.until(|frame| frame["params"]["update"]["stopReason"] == "end_turn").await;
    assert_eq!(*answers.lock().unwrap(), [false]);
    let states = client.updates("state_update");
    let states: Vec<&Value> = states.iter().map(|update| &update["state"]).collect();
    assert_eq!(states, ["running", "requires_action", "running", "idle"]);
    let last = client.updates("tool_call_update").pop().unwrap();
    assert_eq!(last["status"], "cancelled");
    assert_eq!(client.frames.iter().filter(|f| f["method"] == "$/cancel_request").count(), 1);
}
