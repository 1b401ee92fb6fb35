//! Extensions that are programs of their own.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::{Invocation, Updates};
use pi_ai::faux::Reply;
use pi_protocol::CancelToken;
use serde_json::json;

use crate::trial::{Setup, Trial};

fn program() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/process/extension.json"))
}

async fn start() -> Trial {
    let trial = Setup::new().existing(program()).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    trial
}

#[tokio::test]
async fn a_program_registers_tools_and_reports_progress() {
    let trial = start().await;
    let registry = trial.runtime.session().extensions().registry().clone();
    let tool = registry.tools().into_iter().next().unwrap().tool;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&seen);
    let updates = Updates::new(move |output| received.lock().unwrap().push(output));
    let arguments = json!({ "word": "hey" }).as_object().unwrap().clone();
    let output =
        tool.execute(Invocation::new("c1", arguments, CancelToken::default(), updates)).await;
    let output = output.unwrap();
    assert_eq!(serde_json::to_value(&output.content).unwrap()[0]["text"], "hey!");
    assert_eq!(output.details, Some(json!({ "loud": true })));
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(registry.flags()[0].0.name, "loud");
}

#[tokio::test]
async fn a_program_answers_questions() {
    let trial = start().await;
    trial.model.push(Reply::new().tool_call("shout", &json!({ "word": "forbidden" })));
    trial.model.push(Reply::new().text("done"));
    trial.runtime.session().prompt_text("hello").await.unwrap();
    let requests = trial.model.requests();
    let sent = serde_json::to_string(&requests[0].context.messages).unwrap();
    assert!(sent.contains("goodbye") && !sent.contains("hello"), "{sent}");
    let sent = serde_json::to_string(&requests[1].context.messages).unwrap();
    assert!(sent.contains("that word is forbidden"), "{sent}");
}

#[tokio::test]
async fn a_program_makes_requests_during_a_command() {
    let trial = start().await;
    let session = trial.runtime.session();
    session.prompt_text("/ask").await.unwrap();
    let entries = session.with_log(|log| log.entries().map(Result::unwrap).collect::<Vec<_>>());
    let found = entries
        .iter()
        .any(|entry| serde_json::to_value(entry).unwrap()["data"] == json!({ "by": "program" }));
    assert!(found, "{entries:?}");
}

#[tokio::test]
async fn a_program_that_ends_costs_its_calls_and_starts_again() {
    let trial = start().await;
    let error = trial.call_tool("shout", json!({ "word": "die" })).await.unwrap_err();
    assert_eq!(error, "the program has ended");
    let error = trial.call_tool("shout", json!({ "word": "hey" })).await.unwrap_err();
    assert_eq!(error, "the program has ended");
    trial.runtime.reload().await;
    assert_eq!(trial.tool_text("shout", json!({ "word": "hey" })).await, "hey!");
    assert_eq!(trial.tool_text("shout", json!({ "word": "garbage" })).await, "garbage!");
}

#[tokio::test]
async fn a_broken_manifest_is_reported() {
    for (text, problem) in [
        ("{", "invalid manifest"),
        (r#"{ "command": [] }"#, "names no program"),
        (r#"{ "command": ["./no-such-program"] }"#, "cannot start"),
    ] {
        let trial = Setup::new().extension("project/extension.json", text).start().await;
        let problems = trial.problems().join("\n");
        assert!(problems.contains(problem), "{text}: {problems}");
    }
}

/// The fixture of a program that starts another one, which would outlive it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_sees_the_variables_of_extensions_and_ends_with_its_session() {
    let script = r#"#!/bin/sh
sleep 600 & echo "$! $EXTENSION_VALUE ${HOME:-none} ${CARGO:-none}" > started
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    echo "{\"id\":$id,\"result\":{}}"
done
"#;
    let setup = Setup::new()
        .file("project/run.sh", script)
        .extension("project/extension.json", r#"{ "command": ["sh", "run.sh"] }"#)
        .variable("EXTENSION_VALUE", &"seen");
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let started = std::fs::read_to_string(trial.root.path().join("project/started")).unwrap();
    let fields: Vec<&str> = started.split_whitespace().collect();
    let home = trial.root.path().join("home").display().to_string();
    assert_eq!(fields[1..], ["seen", &home, "none"], "{started}");
    let child = format!("/proc/{}/stat", fields[0]);
    assert!(Path::new(&child).exists());
    trial.runtime.shut_down().await;
    drop(trial);
    // The process is gone, or a zombie that its new parent has not waited for.
    let is_gone = || std::fs::read_to_string(&child).map_or(true, |text| text.contains(") Z "));
    while !is_gone() {
        tokio::task::yield_now().await;
    }
}
