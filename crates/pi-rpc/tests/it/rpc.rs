//! The protocol over real pipes, with our own client at the other end.

use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{ExtensionError, Handlers};
use pi_coding_agent::session::{PromptOptions, SessionEvent};
use pi_coding_agent::{AgentOptions, AgentRuntime, CustomModel, create_agent_session};
use pi_rpc::{Client, LineWriter, Record, RpcUi, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::env::TestEnv;

/// An agent behind the protocol, with a scripted model.
struct Server {
    model: Faux,
    runtime: AgentRuntime,
    output: LineWriter,
    ui: Arc<RpcUi>,
    _env: TestEnv,
}

impl Server {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut AgentOptions)) -> Self {
        let env = TestEnv::new();
        let mut environment = env.environment("home/proj");
        let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
        environment.variables = Arc::new([("PATH".to_owned(), path)].into());
        let model = Faux::new();
        let output = LineWriter::default();
        let ui = Arc::new(RpcUi::new(output.clone()));
        let mut options = AgentOptions::new(environment);
        options.model.custom =
            Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
        options.guard.checkpoints = false;
        options.ui = ui.clone();
        change(&mut options);
        let created = create_agent_session(options).await.unwrap();
        Self { model, runtime: created.runtime, output, ui, _env: env }
    }

    fn connect(&self) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (from, to) = tokio::io::split(far);
        let (runtime, ui, output) = (self.runtime.clone(), self.ui.clone(), self.output.clone());
        let task = tokio::spawn(async move {
            serve(runtime, ui, output, BufReader::new(from), to).await;
        });
        (near, task)
    }

    /// Sends lines, ends the input, and returns the records of the output.
    async fn exchange(&self, input: &[u8]) -> Vec<Value> {
        let (near, task) = self.connect();
        let (from, mut to) = tokio::io::split(near);
        let sending = async {
            to.write_all(input).await.unwrap();
            to.shutdown().await.unwrap();
        };
        let receiving = async {
            let mut lines = BufReader::new(from).lines();
            let mut records: Vec<Value> = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                records.push(serde_json::from_str(&line).unwrap());
            }
            records
        };
        let ((), records) = tokio::join!(sending, receiving);
        task.await.unwrap();
        records
    }
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
    let server = Server::new().await;
    server.model.push(Reply::new().text("Hello").chunks_of(2));
    let (near, task) = server.connect();
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

#[tokio::test]
async fn invalid_lines_are_answered_with_the_problem() {
    let server = Server::new().await;
    let input = "{nope\n\r\n[1]\n{\"type\":\"nope\",\"id\":\"2\"}\n{\"type\":\"prompt\",\"id\":3}\n{\"id\":\"4\",\"type\":\"set_session_name\",\"name\":\" \"}\n{\"type\":\"get_last_assistant_text\"}\n{\"type\":\"set_thinking_level\",\"level\":\"x\"}";
    let records = server.exchange(input.as_bytes()).await;
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
async fn entries_tree_and_hello_are_answered() {
    let server = Server::new().await;
    server.model.push(Reply::new().text("a"));
    server.runtime.session().prompt("q", PromptOptions::default()).await.unwrap();
    let records = server.exchange(
        b"{\"type\":\"get_entries\"}\n{\"type\":\"get_tree\"}\n{\"type\":\"hello\"}\n{\"type\":\"get_entries\",\"since\":\"x\"}\n",
    )
    .await;
    assert_eq!(records[0]["data"]["entries"].as_array().unwrap().len(), 5);
    assert_eq!(records[1]["data"]["leafId"], records[0]["data"]["leafId"]);
    assert!(records[1]["data"]["tree"][0]["children"][0]["entry"]["id"].is_string());
    assert_eq!(records[2]["data"]["protocolVersion"], 1);
    assert_eq!(records[3]["error"], "Entry not found: x");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let server = Server::new().await;
    let mut input = b"{\"type\":\"prompt\",\"message\":\"".to_vec();
    input.resize(input.len() + 65 * 1024 * 1024, b'x');
    input.extend_from_slice(b"\"}\n{\"type\":\"get_last_assistant_text\",\"id\":\"next\"}\n");
    let records = server.exchange(&input).await;
    assert_eq!(records[0]["error"], "Failed to parse command: the line is longer than 64 MiB");
    assert_eq!((&records[1]["id"], &records[1]["success"]), (&json!("next"), &json!(true)));
    assert_eq!(records.len(), 2);
}

#[tokio::test]
async fn events_of_a_new_session_reach_the_client_from_the_first_one() {
    // The extension names each session as soon as it starts: the event comes before the response
    // to the command that replaced the session.
    let naming = || {
        Handlers::new("test:naming").on_event(|event, context| async move {
            if let (SessionEvent::SessionStart { .. }, Some(session)) = (event, context.session()) {
                session.set_name("named at start").await.map_err(ExtensionError::with_source)?;
            }
            Ok(())
        })
    };
    for command in ["new_session", "clone"] {
        let extension = Arc::new(naming());
        let server = Server::with(|options| options.extensions.own = vec![extension]).await;
        server.model.push(Reply::new().text("a"));
        let session = server.runtime.session();
        session.prompt("q", PromptOptions::default()).await.unwrap();
        let input = format!("{{\"type\":\"{command}\",\"id\":\"1\"}}\n");
        let records = server.exchange(input.as_bytes()).await;
        let types: Vec<&str> =
            records.iter().map(|record| record["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["session_info_changed", "response"], "{command}: {records:#?}");
    }
}
