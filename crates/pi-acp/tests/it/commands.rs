//! Slash commands: those of extensions, and `/compact`.

use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{Command, ExtensionContext, Handlers};
use pi_coding_agent::session::{Delivery, PromptOptions};
use pi_protocol::MessageContent;
use pi_session::ExtensionMessage;
use serde_json::{Value, json};

use crate::client::{Client, Stage};

/// Asks the model and does not wait for the answer, as `sendUserMessage` does.
async fn ask_model(context: ExtensionContext, text: &str) {
    let session = context.session().unwrap();
    let begun = session.turn(text, PromptOptions::default().literal()).begin().await;
    if let Some(run) = begun.ok().and_then(|begun| begun.into_run()) {
        tokio::spawn(run.finish());
    }
}

/// An extension with a command for each thing that commands do.
fn commands() -> Handlers {
    Handlers::new("test:commands")
        .command(Command::new("ask", "Asks the model.", |_, context| async move {
            ask_model(context, "from the extension").await;
            Ok(())
        }))
        .command(Command::new("show", "Shows a message.", |_, context| async move {
            let session = context.session().unwrap();
            for (text, display) in [("seen", true), ("hidden", false)] {
                let content = MessageContent::Text(text.to_owned());
                let message = ExtensionMessage { content, display, ..ExtensionMessage::default() };
                session.add_message(message, Delivery::Steer).await.unwrap();
            }
            Ok(())
        }))
        .command(Command::new("new", "Starts a new session.", |_, context| async move {
            context.runtime().unwrap().new_session(None).await.unwrap();
            Ok(())
        }))
        .command(Command::new("name", "Names the session.", |name, context| async move {
            context.session().unwrap().set_name(&name).await.unwrap();
            Ok(())
        }))
}

fn stage() -> Stage {
    Stage { extensions: vec![Arc::new(commands())], ..Stage::new() }
}

async fn until_idle(client: &mut Client, stop: &str) {
    client.until(|frame| frame["params"]["update"]["stopReason"] == stop).await;
}

#[tokio::test]
async fn a_prompt_ends_after_the_run_that_its_command_started() {
    let stage = stage();
    stage.model.push(Reply::new().text("Answered."));
    stage.model.push(Reply::new().text("Again."));
    stage.model.push(Reply::new().text("Cut").stop_reason(pi_ai::StopReason::Length));
    stage.model.push(Reply::new().fail("the disk is full"));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let answer = client.prompt(&session, "/ask").await;
    assert_eq!(answer, Ok(json!({ "stopReason": "end_turn" })));
    assert_eq!(client.text("agent_message_chunk"), "Answered.");
    // The client knows its own prompt, and not the message of the extension.
    assert_eq!(client.text("user_message_chunk"), "from the extension");
    client.prompt(&session, "next").await.unwrap();
    assert_eq!(client.text("user_message_chunk"), "from the extension");
    let answer = client.prompt(&session, "/ask").await;
    assert_eq!(answer, Ok(json!({ "stopReason": "max_tokens" })));
    let error = client.prompt(&session, "/ask").await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("the disk is full"));
}

#[tokio::test]
async fn the_run_of_a_command_can_be_cancelled() {
    for version in [1, 2] {
        let stage = stage();
        stage.model.push(Reply::new().text("thinking").hang());
        let mut client = stage.client(version, json!({})).await;
        let session = client.new_session(&stage.project()).await;
        let prompt = json!([{ "type": "text", "text": "/ask" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        let id = client.start("session/prompt", params).await;
        client.until(|frame| frame["params"]["update"]["content"]["text"] == "thinking").await;
        client.notify("session/cancel", json!({ "sessionId": session })).await;
        let answer = client.response(id).await.unwrap();
        match version {
            1 => assert_eq!(answer["stopReason"], "cancelled"),
            _ => until_idle(&mut client, "cancelled").await,
        }
    }
}

#[tokio::test]
async fn displayed_messages_of_extensions_are_seen_now_and_later() {
    for version in [1, 2] {
        let stage = stage();
        stage.model.push(Reply::new().text("Answered."));
        let mut client = stage.client(version, json!({})).await;
        let session = client.new_session(&stage.project()).await;
        client.prompt(&session, "/show").await.unwrap();
        client.until(|frame| frame["params"]["update"]["content"]["text"] == "seen").await;
        client.prompt(&session, "hi").await.unwrap();
        client.until(|frame| frame["params"]["update"]["content"]["text"] == "Answered.").await;
        assert_eq!(client.text("agent_message_chunk"), "seenAnswered.");
        client.close().await;
        let mut client = stage.client(version, json!({})).await;
        let mut params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
        let method = if version == 1 { "session/load" } else { "session/resume" };
        params["replayFrom"] = json!({ "type": "start" });
        client.call(method, params).await.unwrap();
        assert_eq!(client.text("agent_message_chunk"), "seenAnswered.");
    }
}

#[tokio::test]
async fn a_session_keeps_its_id_for_the_client() {
    let stage = stage();
    stage.model.push(Reply::new().text("Answered."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "/new").await.unwrap();
    let mode = json!({ "sessionId": session, "modeId": "careful" });
    client.call("session/set_mode", mode).await.unwrap();
    client.prompt(&session, "hi").await.unwrap();
    let updates = client.requests("session/update");
    assert!(updates.iter().all(|update| update["sessionId"] == *session), "{updates:#?}");
}

#[tokio::test]
async fn a_name_is_a_title_and_can_be_removed() {
    let stage = stage();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    client.prompt(&session, "/name Lamps").await.unwrap();
    client.prompt(&session, "/name").await.unwrap();
    let titles: Vec<Value> = client.updates("session_info_update");
    let titles: Vec<&Value> = titles.iter().filter_map(|update| update.get("title")).collect();
    assert_eq!(titles, [&json!("Lamps"), &Value::Null]);
}

const SUMMARY: &str = "## Goal\nTalk.\n\n## Constraints & Preferences\n- none\n\n## Progress\n\
    ### Done\n- talked\n\n### In Progress\n- none\n\n### Blocked\n- none\n\n\
    ## Key Decisions\n- none\n\n## Next Steps\n1. talk\n\n## Critical Context\n- none";

/// A stage where short sessions can be compacted. Every answer of the model is a summary and costs
/// two dollars.
fn compactable() -> Stage {
    let cost = pi_ai::Cost { total: 2.0, ..pi_ai::Cost::default() };
    let usage = pi_ai::Usage { cost, ..pi_ai::Usage::default() };
    let answer = move |_: &_| Reply::new().text(SUMMARY).usage(usage.clone());
    let mut stage = Stage { model: Faux::responding(answer), ..Stage::new() };
    stage.settings.insert("compaction".to_owned(), json!({ "keepRecentTokens": 1 }));
    stage
}

/// Sends prompts that are longer than a summary, and waits until they are answered.
async fn talk(client: &mut Client, session: &str) {
    for _ in 0..2 {
        let before = client.updates("usage_update").len();
        client.prompt(session, &"hello ".repeat(2_000)).await.unwrap();
        while client.updates("usage_update").len() == before {
            client.step().await;
        }
    }
}

#[tokio::test]
async fn a_compaction_can_be_cancelled() {
    for version in [1, 2] {
        let stage = compactable();
        let mut client = stage.client(version, json!({})).await;
        let session = client.new_session(&stage.project()).await;
        talk(&mut client, &session).await;
        stage.model.push(Reply::new().text("## Goal").hang());
        let requests = stage.model.requests().len();
        let prompt = json!([{ "type": "text", "text": "/compact" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        let id = client.start("session/prompt", params).await;
        while stage.model.requests().len() == requests {
            tokio::task::yield_now().await;
        }
        client.notify("session/cancel", json!({ "sessionId": session })).await;
        let answer = client.response(id).await.unwrap();
        match version {
            1 => assert_eq!(answer["stopReason"], "cancelled"),
            _ => until_idle(&mut client, "cancelled").await,
        }
    }
}

#[tokio::test]
async fn compactions_have_messages_of_their_own_and_cost_something() {
    let stage = compactable();
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    for _ in 0..2 {
        talk(&mut client, &session).await;
        let before = client.updates("usage_update");
        client.prompt(&session, "/compact").await.unwrap();
        let after = client.updates("usage_update");
        assert_eq!(after.len(), before.len() + 1);
        let cost = |all: &[Value]| all.last().unwrap()["cost"]["amount"].as_f64().unwrap();
        assert!(cost(&after) >= cost(&before) + 2.0);
        // Estimated: no provider has counted the new context.
        assert!(after.last().unwrap()["used"].as_u64().unwrap() > 0);
    }
    let chunks = client.updates("agent_message_chunk");
    let said = |chunk: &&Value| chunk["content"]["text"] == "The session was compacted.";
    let ids: Vec<&Value> = chunks.iter().filter(said).map(|chunk| &chunk["messageId"]).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}
