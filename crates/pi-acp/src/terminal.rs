//! Commands in terminals of the client.
//!
//! The protocol has no stream for the output: the user sees it in the client while the command
//! runs, and the agent reads it at the end.

use std::io;

use pi_tools::{Command, Process, ProcessTree};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use crate::client::Client;
use crate::events::Reporter;

/// Most output that a terminal keeps, in bytes.
const OUTPUT: u64 = 4 << 20;

/// Starts a command in a terminal.
pub(crate) async fn spawn(
    client: &Client,
    session: &str,
    reporter: &Reporter,
    command: &Command,
) -> io::Result<Process> {
    let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
    // The client has an environment of its own; only the variables of the agent are added.
    let own = |name: &str| name == "AI_AGENT" || name.starts_with("PI_");
    let variables = command.environment.iter().map(|(name, value)| (text(name), text(value)));
    let env: Vec<Value> = variables
        .filter(|(name, _)| own(name))
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let args: Vec<String> = command.arguments.iter().map(|argument| text(argument)).collect();
    let params = json!({
        "sessionId": session,
        "command": text(command.program.as_os_str()),
        "args": args,
        "env": env,
        "cwd": text(command.cwd.as_os_str()),
        "outputByteLimit": OUTPUT,
    });
    let (output, sink) = tokio::io::duplex(64 << 10);
    let (ended, exit) = oneshot::channel();
    let (lease, killed) = oneshot::channel::<()>();
    let (left, gone) = oneshot::channel::<()>();
    let (created, creating) = oneshot::channel();
    let (client, session) = (client.clone(), session.to_owned());
    // A task of its own: a call that is cancelled while the client starts its command drops the
    // lease, and the command ends.
    tokio::spawn(async move {
        match Terminal::create(client, session, params).await {
            Ok(terminal) => {
                // Without a receiver there is no lease either.
                let _ = created.send(Ok(terminal.id.clone()));
                terminal.run(sink, ended, killed).await;
            }
            Err(error) => {
                let _ = created.send(Err(error));
            }
        }
        drop(left);
    });
    let id = creating.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
    if let Some(script) = args.last() {
        reporter.show_terminal(script, &id);
    }
    let exit = async { exit.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())) };
    let gone = async {
        // Resolves when the sender is dropped.
        let _ = gone.await;
    };
    Ok(Process {
        output: Box::pin(output),
        exit: Box::pin(exit),
        tree: ProcessTree::new(lease, Box::pin(gone)),
    })
}

struct Terminal {
    client: Client,
    session: String,
    id: String,
}

impl Terminal {
    async fn create(client: Client, session: String, params: Value) -> io::Result<Self> {
        let created = client.call("terminal/create", params).await;
        let created = created.map_err(|error| io::Error::other(format!("terminal: {error}")))?;
        match created["terminalId"].as_str() {
            Some(id) => Ok(Self { client, session, id: id.to_owned() }),
            None => Err(io::Error::other("terminal: the client returned no id")),
        }
    }

    async fn call(&self, method: &str) -> Result<Value, pi_jsonrpc::CallError> {
        let params = json!({ "sessionId": self.session, "terminalId": self.id });
        self.client.call(method, params).await
    }

    /// Waits for the end of the command, or ends it when the lease is gone. Then passes on the
    /// output and gives the terminal back.
    async fn run(
        self,
        mut sink: tokio::io::DuplexStream,
        ended: oneshot::Sender<io::Result<Option<i32>>>,
        mut killed: oneshot::Receiver<()>,
    ) {
        let (status, mut is_leased) = tokio::select! {
            biased;
            _ = &mut killed => {
                // A command that has ended cannot be killed, which is no problem.
                let _ = self.call("terminal/kill").await;
                (Ok(Value::Null), false)
            }
            status = self.call("terminal/wait_for_exit") => (status.map_err(io::Error::other), true),
        };
        let output = self.call("terminal/output").await.unwrap_or_default();
        let written = async {
            if output["truncated"] == true {
                let note = b"[The terminal has cut off the beginning of the output.]\n";
                sink.write_all(note).await?;
            }
            sink.write_all(output["output"].as_str().unwrap_or_default().as_bytes()).await
        };
        tokio::select! {
            // A reader that is gone does not need the output.
            _ = written => {}
            _ = &mut killed, if is_leased => is_leased = false,
        }
        drop(sink);
        let code = |status: Value| match (status["exitCode"].as_i64(), status["signal"].is_null()) {
            (Some(code), _) => i32::try_from(code).ok(),
            (None, false) => Some(128),
            (None, true) => None,
        };
        let _ = ended.send(status.map(code));
        if is_leased {
            // The client shows the terminal for as long as the call needs it.
            let _ = killed.await;
        }
        let _ = self.call("terminal/release").await;
    }
}
