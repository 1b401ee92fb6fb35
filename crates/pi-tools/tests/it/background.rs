//! Background processes as a model sees them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{AgentTool, FnTool};
use pi_protocol::CancelToken;
use pi_tools::{BackgroundProcesses, BackgroundState, Workspace, bash, process, toolset};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bash::{settings, workspace};
use crate::call::{call, call_with, text};
use crate::processes::{marked, marked_settings, marker, wait_until};

struct Session {
    background: Arc<BackgroundProcesses>,
    bash: FnTool,
    process: FnTool,
}

impl Session {
    fn new(marker: &str) -> Self {
        let background = Arc::new(BackgroundProcesses::default());
        let plain = workspace(Path::new("/"), marked_settings(marker));
        let workspace = Workspace::clone(&plain).with_background(Arc::clone(&background));
        let bash = bash(Arc::new(workspace));
        Self { process: process(Arc::clone(&background)), background, bash }
    }

    async fn start(&self, command: &str) -> String {
        text(&call(&self.bash, &json!({ "command": command, "background": true })).await)
    }

    async fn process(&self, arguments: Value) -> String {
        text(&call(&self.process, &arguments).await)
    }

    /// Waits until a condition is true.
    async fn until(&self, happened: impl Fn(&BackgroundProcesses) -> bool) {
        let waiting = async {
            while !happened(&self.background) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap();
    }
}

#[tokio::test]
async fn process_is_started_listed_read_and_stopped() {
    let marker = marker();
    let session = Session::new(&marker);
    assert_eq!(session.process(json!({ "action": "list" })).await, "No background processes");
    let directory = TempDir::new().unwrap();
    let gate = directory.path().join("gate");
    let command = format!(
        "echo up\nuntil [ -e {} ]; do sleep 0.01; done; echo more; setsid sleep 1000",
        gate.display()
    );
    let started = session.start(&command).await;
    let expected = "[Process 1 is running. Use the process tool to read its output or to stop it.]";
    // The output so far depends on the machine.
    assert!(started.ends_with(expected), "{started}");
    assert_eq!(session.process(json!({ "action": "list" })).await, "1 is running: echo up ...");
    fs::write(&gate, "").unwrap();
    let id = session.background.list()[0].id;
    session.until(|background| background.output(id).unwrap().content == "up\nmore\n").await;
    assert_eq!(
        session.process(json!({ "action": "output", "id": 1 })).await,
        "up\nmore\n\n\n[Process 1 is running]"
    );
    assert!(!marked(&marker).is_empty());
    assert_eq!(
        session.process(json!({ "action": "stop", "id": 1 })).await,
        "Process 1 was stopped."
    );
    assert!(marked(&marker).is_empty());
    assert_eq!(
        session.process(json!({ "action": "output", "id": 1 })).await,
        "up\nmore\n\n\n[Process 1 was stopped]"
    );
    let listed = call(&session.process, &json!({ "action": "list" })).await.unwrap();
    let expected = json!({ "processes": [
        { "id": 1, "command": command, "state": "stopped", "exitCode": null }
    ] });
    assert_eq!(listed.details, Some(expected));
}

#[tokio::test]
async fn command_that_fails_at_once_is_a_failed_call() {
    let marker = marker();
    let session = Session::new(&marker);
    let failing =
        json!({ "command": "sleep 1000 & echo port taken >&2; exit 3", "background": true });
    let failed = call(&session.bash, &failing).await.unwrap();
    assert!(failed.is_error);
    assert_eq!(text(&Ok(failed)), "port taken\n\nCommand exited with code 3");
    assert!(marked(&marker).is_empty(), "no process is left");
    assert_eq!(session.background.list(), []);

    // A model that writes `&` nevertheless gets a background process.
    let started = session.start("sleep 1000 >/dev/null 2>&1 & echo daemon").await;
    assert_eq!(
        started,
        "daemon\n\n[Process 2 exited with code 0. Processes that it left running continue. Use the process tool with action stop to end them.]"
    );
    assert!(!marked(&marker).is_empty());
    assert_eq!(
        session.process(json!({ "action": "stop", "id": 2 })).await,
        "Process 2 exited with code 0."
    );
    assert!(marked(&marker).is_empty());
}

#[tokio::test]
async fn exit_code_and_long_output_are_shown() {
    let session = Session::new(&marker());
    let directory = TempDir::new().unwrap();
    let gate = directory.path().join("gate");
    let wait = format!("until [ -e {} ]; do sleep 0.01; done", gate.display());
    session.start(&format!("{wait}; exit 7")).await;
    session.start(&format!("{wait}; seq 1 2500; sleep 1000")).await;
    fs::write(&gate, "").unwrap();
    let ids: Vec<_> = session.background.list().iter().map(|info| info.id).collect();
    session
        .until(|background| {
            background.info(ids[0]).unwrap().state == BackgroundState::Exited(Some(7))
                && background.output(ids[1]).unwrap().total_lines == 2500
        })
        .await;
    assert_eq!(
        session.process(json!({ "action": "output", "id": 1 })).await,
        "(no output)\n\n[Process 1 exited with code 7]"
    );
    let long = session.process(json!({ "action": "output", "id": 2 })).await;
    assert!(long.starts_with("501\n"), "{long}");
    let end = "2500\n\n[Showing lines 501-2500 of 2500. Process 2 is running]";
    assert!(long.ends_with(end), "{long}");
}

#[tokio::test]
async fn invalid_calls_are_errors() {
    let session = Session::new(&marker());
    let hint = "Use action list to see all background processes.";
    let unknown = |id: &str| format!("error: No background process has the id {id}. {hint}");
    for (arguments, expected) in [
        (json!({ "action": "output", "id": 1 }), unknown("1")),
        (json!({ "action": "stop", "id": -1 }), unknown("-1")),
        (json!({ "action": "stop", "id": 1.5 }), unknown("1.5")),
        (json!({ "action": "stop" }), format!("error: id is required for this action. {hint}")),
    ] {
        assert_eq!(session.process(arguments.clone()).await, expected, "{arguments}");
    }
    let timed = json!({ "command": "true", "background": true, "timeout": 5 });
    assert_eq!(
        text(&call(&session.bash, &timed).await),
        "error: timeout cannot be used with background: true. Use the process tool to stop the command."
    );
    let cancel = CancelToken::new();
    cancel.cancel();
    let aborted = json!({ "command": "sleep 1000", "background": true });
    let aborted = call_with(&session.bash, &aborted, cancel).await;
    assert_eq!(text(&aborted), "error: Command aborted");
    assert_eq!(session.background.list(), []);
}

#[tokio::test]
async fn dropping_the_session_kills_all_processes() {
    let marker = marker();
    let session = Session::new(&marker);
    session.start("setsid sleep 1000 & sleep 1000").await;
    assert!(!marked(&marker).is_empty());
    drop(session);
    wait_until("dropping kills all processes", || marked(&marker).is_empty());
}

#[tokio::test]
async fn disabled_without_background_processes() {
    let workspace = workspace(Path::new("/"), settings());
    assert!(toolset::all(&workspace).iter().all(|tool| tool.declaration().name != "process"));
    let tool = bash(Arc::clone(&workspace));
    assert!(tool.declaration().parameters["properties"].get("background").is_none());
    // An undeclared argument is ignored.
    let result = call(&tool, &json!({ "command": "echo a", "background": true })).await;
    assert_eq!(text(&result), "a\n");
}
