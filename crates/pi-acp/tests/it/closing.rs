//! The end of sessions, and directories with several names.

use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::extension::Handlers;
use pi_coding_agent::session::SessionEvent;
use pi_host::OpenError;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client::Stage;

#[tokio::test]
async fn a_run_reports_its_end_before_its_session_is_closed() {
    // The run is over when an extension has heard of it.
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let extension = Handlers::new("test:slow").on_event(move |event, _| {
        let gate = Arc::clone(&held);
        async move {
            if matches!(event, SessionEvent::AgentSettled { .. }) {
                gate.acquire().await.unwrap().forget();
            }
            Ok(())
        }
    });
    let stage = Stage { extensions: vec![Arc::new(extension)], ..Stage::new() };
    stage.model.push(Reply::new().text("thinking").hang());
    let mut client = stage.client(2, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "go").await.unwrap();
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "thinking").await;
    let closing = client.start("session/close", json!({ "sessionId": session })).await;
    // The answer to a later request: the run has ended meanwhile.
    for _ in 0..3 {
        client.call("session/list", json!({})).await.unwrap();
    }
    gate.add_permits(1);
    client.response(closing).await.unwrap();
    // Reports that follow the response are there before the end of the connection.
    let (_, frames) = client.close().await;
    let at = |fits: &dyn Fn(&Value) -> bool| frames.iter().position(fits).unwrap();
    let idle = at(&|frame| frame["params"]["update"]["stopReason"] == "cancelled");
    let closed = at(&|frame| frame["id"] == closing);
    assert!(idle < closed, "{frames:#?}");
    assert!(frames[closed + 1..].iter().all(|frame| frame["method"] != "session/update"));
}

#[tokio::test]
async fn sessions_that_do_not_exist_are_closed_and_deleted() {
    for version in [1, 2] {
        let stage = Stage::new();
        let mut client = stage.client(version, json!({})).await;
        let session = client.new_session(&stage.project()).await;
        // Nothing was said, so that there is no file.
        for id in [&session, &session, "none"] {
            client.call("session/delete", json!({ "sessionId": id })).await.unwrap();
            client.call("session/close", json!({ "sessionId": id })).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_directory_has_one_name() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Hello."));
    let link = stage.directory.path().join("link");
    std::os::unix::fs::symlink(stage.project(), &link).unwrap();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&link).await;
    client.prompt(&session, "hi").await.unwrap();
    for cwd in [link, stage.project()] {
        let listed = client.call("session/list", json!({ "cwd": cwd })).await.unwrap();
        assert_eq!(listed["sessions"][0]["sessionId"], *session);
        assert_eq!(listed["sessions"][0]["cwd"], json!(stage.project()));
    }
}

#[tokio::test]
async fn missing_credentials_are_asked_for() {
    let stage = Stage::new();
    let refusal = OpenError::Credentials("faux has no key".to_owned());
    stage.refusals.lock().unwrap().push_back(Some(refusal));
    stage.model.push(Reply::new().fail("401: invalid x-api-key"));
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "cwd": stage.project(), "mcpServers": [] });
    let error = client.call("session/new", params).await.unwrap_err();
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains("faux has no key"));
    let session = client.new_session(&stage.project()).await;
    let error = client.prompt(&session, "go").await.unwrap_err();
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains("invalid x-api-key"));
}

#[tokio::test]
async fn a_sign_in_gives_an_open_session_a_model() {
    let mut stage = Stage { real_models: true, ..Stage::new() };
    stage.settings.insert("retry".to_owned(), json!({ "enabled": false }));
    // No one listens there.
    let provider = json!({
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": "$A_VARIABLE_THAT_IS_NOT_SET",
        "models": [{ "id": "m" }],
    });
    let models = json!({ "providers": { "mine": provider } });
    let file = |name: &str| stage.agent_directory().join(name);
    std::fs::write(file("models.json"), models.to_string()).unwrap();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let error = client.prompt(&session, "hello").await.unwrap_err();
    assert_eq!(error["code"], -32000, "{error}");
    let credentials = json!({ "mine": { "type": "api_key", "key": "k" } });
    std::fs::write(file("auth.json"), credentials.to_string()).unwrap();
    let error = client.prompt(&session, "hello").await.unwrap_err();
    assert_eq!(error["code"], -32603, "{error}");
    let options = client.updates("config_option_update").pop().unwrap();
    let options = options["configOptions"].as_array().unwrap();
    let model = options.iter().find(|option| option["id"] == "model").unwrap();
    assert_eq!(model["currentValue"], "mine/m");
}

#[tokio::test]
async fn an_earlier_session_is_reported_with_its_commands_and_its_usage() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Hello."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "hi").await.unwrap();
    let is_new = |client: &crate::client::Client| {
        (client.updates("available_commands_update").len(), client.updates("usage_update").len())
    };
    assert_eq!(is_new(&client), (1, 1));
    // The session is still open.
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
    client.call("session/list", json!({})).await.unwrap();
    let (_, frames) = client.close().await;
    let count = |kind: &str| {
        let is_kind = |frame: &&Value| frame["params"]["update"]["sessionUpdate"] == kind;
        frames.iter().filter(is_kind).count()
    };
    assert_eq!((count("available_commands_update"), count("usage_update")), (2, 2));
}
