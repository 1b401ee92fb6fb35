//! The protocol over real pipes, with our own client at the other end.

use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::rpc::{Client, LineWriter, Record, RpcUi, serve};
use pi_coding_agent::runtime::{AgentRuntime, BuildError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::stage::Stage;

async fn connect(stage: &Stage) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (from, to) = tokio::io::split(far);
    let output = LineWriter::default();
    let ui = Arc::new(RpcUi::new(output.clone()));
    let build: pi_coding_agent::runtime::Build =
        Arc::new(|_| Box::pin(async { Err(BuildError("not in this test".to_owned())) }));
    let runtime = Arc::new(AgentRuntime::new(stage.session.clone(), build, "startup").await);
    let task = tokio::spawn(async move {
        serve(runtime, ui, output, BufReader::new(from), to).await;
    });
    (near, task)
}

async fn settled(events: &mut mpsc::Receiver<Record>) -> Vec<String> {
    let mut kinds = Vec::new();
    while let Some(record) = events.recv().await {
        kinds.push(record.kind().to_owned());
        if record.kind() == "agent_settled" {
            return kinds;
        }
    }
    panic!("the agent ended: {kinds:?}")
}

#[tokio::test]
async fn a_client_drives_a_session() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Hello").chunks_of(2));
    let (near, task) = connect(&stage).await;
    let (from, to) = tokio::io::split(near);
    let (client, mut events) = Client::new(BufReader::new(from), to);
    assert_eq!(client.prompt("hi").await.unwrap(), "started");
    let kinds = settled(&mut events).await;
    assert_eq!(kinds.first().map(String::as_str), Some("agent_start"));
    assert_eq!(kinds.iter().filter(|kind| *kind == "message_update").count(), 5);
    let state = client.state().await.unwrap();
    assert_eq!((state.message_count, state.is_streaming), (3, false));
    assert_eq!(client.last_text().await.unwrap().as_deref(), Some("Hello"));
    assert_eq!(client.bash("echo hi").await.unwrap().output, "hi\n");
    assert_eq!(client.steer("later").await.unwrap(), "queued");
    let error = client.compact(None).await.unwrap_err();
    assert_eq!(error.to_string(), "compact: Nothing to compact (session too small)");
    client.close().await.unwrap();
    drop(events);
    task.await.unwrap();
}

/// Sends lines, ends the input, and returns what comes.
async fn exchange(stage: &Stage, input: &str) -> Vec<Value> {
    let (near, task) = connect(stage).await;
    let (from, mut to) = tokio::io::split(near);
    to.write_all(input.as_bytes()).await.unwrap();
    to.shutdown().await.unwrap();
    let mut lines = BufReader::new(from).lines();
    let mut records = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        records.push(serde_json::from_str(&line).unwrap());
    }
    task.await.unwrap();
    records
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let stage = Stage::new();
    let input = "{nope\n\r\n[1]\n{\"type\":\"nope\",\"id\":\"2\"}\n{\"type\":\"prompt\",\"id\":3}\n{\"id\":\"4\",\"type\":\"set_session_name\",\"name\":\" \"}\n{\"type\":\"get_last_assistant_text\"}\n{\"type\":\"set_thinking_level\",\"level\":\"x\"}";
    let records = exchange(&stage, input).await;
    let errors: Vec<(&Value, &str)> = records
        .iter()
        .filter(|record| record["success"] == false)
        .map(|record| (&record["id"], record["error"].as_str().unwrap()))
        .collect();
    assert_eq!(errors.len(), 7, "{records:#?}");
    assert!(errors[0].1.starts_with("Failed to parse command: "));
    assert_eq!(errors[2], (&Value::Null, "Unknown command: undefined"));
    assert_eq!(errors[3], (&json!("2"), "Unknown command: nope"));
    assert_eq!(errors[4], (&json!(3), "Invalid prompt command: missing field `message`"));
    assert_eq!(errors[5], (&json!("4"), "Session name cannot be empty"));
    let last = records.iter().find(|record| record["command"] == "get_last_assistant_text");
    assert_eq!(last.unwrap()["data"], json!({}));
}

#[tokio::test]
async fn a_deep_tree_is_answered_and_entries_can_be_asked_from_one_on() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("a"));
    stage.session.prompt("q", pi_coding_agent::session::PromptOptions::default()).await.unwrap();
    let records = exchange(
        &stage,
        "{\"type\":\"get_entries\"}\n{\"type\":\"get_tree\"}\n{\"type\":\"hello\"}\n{\"type\":\"get_entries\",\"since\":\"x\"}\n",
    )
    .await;
    assert_eq!(records[0]["data"]["entries"].as_array().unwrap().len(), 5);
    assert_eq!(records[1]["data"]["leafId"], records[0]["data"]["leafId"]);
    assert!(records[1]["data"]["tree"][0]["children"][0]["entry"]["id"].is_string());
    assert_eq!(records[2]["data"]["protocolVersion"], 1);
    assert_eq!(records[3]["error"], "Entry not found: x");
}
