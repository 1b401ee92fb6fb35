//! Starting and resuming sessions: first entries, diagnostics and refusals.

use std::fs;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, Created, CustomModel, SessionSelector, create_agent_session};
use serde_json::Value;

use crate::env::TestEnv as Scratch;

fn options(scratch: &Scratch, model: &Faux, selector: SessionSelector) -> AgentOptions {
    let mut options = AgentOptions::new(scratch.environment("home/proj"));
    options.session.selector = selector;
    options.model.custom = Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
    options.guard.checkpoints = false;
    options
}

async fn answered(created: &Created, model: &Faux) -> Vec<Value> {
    model.push(Reply::new().text("Yes."));
    let session = created.runtime.session();
    session.prompt("Well?", PromptOptions::default()).await.unwrap();
    let text = fs::read_to_string(session.file().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(entries: &[Value]) -> Vec<&str> {
    let kind = |entry: &'_ Value| entry["message"]["role"].as_str().is_some();
    entries
        .iter()
        .map(|entry| match kind(entry) {
            true => entry["message"]["role"].as_str().unwrap(),
            false => entry["type"].as_str().unwrap(),
        })
        .collect()
}

#[tokio::test]
async fn a_new_session_records_its_model_and_level() {
    let beginning = ["model_change", "thinking_level_change", "system", "user", "assistant"];
    for (name, first) in [(None, &["session"][..]), (Some("Mine"), &["session", "session_info"])] {
        let (scratch, model) = (Scratch::new(), Faux::new());
        let mut options = options(&scratch, &model, SessionSelector::New);
        options.session.name = name.map(str::to_owned);
        let created = create_agent_session(options).await.unwrap();
        let entries = answered(&created, &model).await;
        assert_eq!(kinds(&entries), [first, &beginning].concat());
    }
}

/// A conversation of another program, which says nothing about thinking.
fn old_session(scratch: &Scratch, cwd: &str) -> String {
    let cwd = scratch.path(cwd);
    let lines = [
        serde_json::json!({"type": "session", "version": 3, "id": "old", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd}),
        serde_json::json!({"type": "message", "id": "aaaaaaaa", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "one", "timestamp": 1767225600000_u64}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    scratch.write("old.jsonl", text).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_resumed_session_without_a_level_gets_one_once() {
    let (scratch, model) = (Scratch::new(), Faux::new());
    let conversation = SessionSelector::Existing(old_session(&scratch, "home/proj"));
    let created = create_agent_session(options(&scratch, &model, conversation.clone())).await;
    let entries = answered(&created.unwrap(), &model).await;
    let expected = ["session", "user", "thinking_level_change", "system", "user", "assistant"];
    assert_eq!(kinds(&entries), expected);
    let created = create_agent_session(options(&scratch, &model, conversation)).await.unwrap();
    let entries = answered(&created, &model).await;
    assert_eq!(kinds(&entries), [&expected[..], &["user", "assistant"]].concat());
}

#[tokio::test]
async fn a_session_whose_directory_is_gone_is_refused_and_unchanged() {
    let (scratch, model) = (Scratch::new(), Faux::new());
    let file = old_session(&scratch, "gone");
    let before = fs::read_to_string(&file).unwrap();
    let conversation = SessionSelector::Existing(file.clone());
    let error = create_agent_session(options(&scratch, &model, conversation)).await.unwrap_err();
    let said = scratch.placeholder(&error.to_string());
    let first = said.as_str();
    assert_eq!(first, "Stored session working directory does not exist: $ROOT/gone");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);

    let created =
        create_agent_session(options(&scratch, &model, SessionSelector::New)).await.unwrap();
    let error = created.runtime.switch_session(file.as_ref()).await.unwrap_err();
    assert!(error.to_string().starts_with(first.split(": ").next().unwrap()), "{error}");
}

#[tokio::test]
async fn an_unknown_id_is_reported_and_used() {
    let (scratch, model) = (Scratch::new(), Faux::new());
    let conversation = SessionSelector::WithId("mine".to_owned());
    let created = create_agent_session(options(&scratch, &model, conversation.clone())).await;
    let created = created.unwrap();
    let said: Vec<String> = created.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["No project session found with id 'mine'; creating a new session with that id."]
    );
    answered(&created, &model).await;
    drop(created);
    let created = create_agent_session(options(&scratch, &model, conversation)).await.unwrap();
    assert_eq!(created.diagnostics, []);
    assert_eq!(created.runtime.session().id(), "mine");
}
