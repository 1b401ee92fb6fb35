//! The connection to a program: JSON-RPC over its standard streams.
//!
//! The supervisor owns the program and everything that it starts: all of them end with the
//! connection. The program has the variables that extensions in JavaScript see, and no others.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex};

use pi_agent::ToolOutput;
use pi_base::lock;
use pi_coding_agent::extension::{ExtensionContext, NotifyKind};
use pi_fs::find_program;
use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Error, Id, Incoming, Limits, Message, Service};
use pi_tools::{Command, Executor as _, Host, ProcessTree};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::manifest::Manifest;
use super::requests;

/// A line may not be longer: a program that writes without end must not take all memory.
const LONGEST_LINE: usize = 32 << 20;

/// The code of errors that the program receives.
const FAILED: i64 = -32000;

/// The connection to a program. Dropping it ends the program.
pub(super) struct Connection {
    rpc: pi_jsonrpc::Connection,
    shared: Arc<Shared>,
    /// The lock only makes the connection `Sync`.
    _processes: Mutex<ProcessTree>,
}

/// The state of the messages that the program sends.
#[derive(Default)]
struct Shared {
    updates: Mutex<BTreeMap<String, Box<dyn Fn(ToolOutput) + Send>>>,
    context: Mutex<Option<ExtensionContext>>,
}

/// A call that failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum CallError {
    #[error("{0}")]
    Failed(String),
    #[error("the program has ended")]
    Ended,
}

impl From<pi_jsonrpc::CallError> for CallError {
    fn from(error: pi_jsonrpc::CallError) -> Self {
        match error {
            pi_jsonrpc::CallError::Closed(_) => Self::Ended,
            pi_jsonrpc::CallError::Remote(error) if error.message.is_empty() => {
                Self::Failed("the program reported an error".to_owned())
            }
            pi_jsonrpc::CallError::Remote(error) => Self::Failed(error.message),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Connection {
    /// Starts the program.
    pub(super) async fn start(
        manifest: &Manifest,
        variables: &BTreeMap<String, String>,
        host: &Host,
    ) -> io::Result<Self> {
        let (name, arguments) = manifest.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot start {name}: {error}"))
        };
        let search = variables.get("PATH").map(OsStr::new);
        let program = find_program(name, Some(&manifest.directory), search)
            .ok_or_else(|| failed(io::Error::new(io::ErrorKind::NotFound, "no such program")))?;
        let command = Command::new(program, &manifest.directory)
            .arguments(arguments)
            .environment(variables.clone());
        let process = host.spawn_piped(&command).await.map_err(failed)?;
        let shared = Arc::new(Shared::default());
        tokio::spawn(show_messages(process.stderr, Arc::clone(&shared)));
        let limits = Limits { line: LONGEST_LINE, ..Limits::default() };
        let service = Arc::clone(&shared) as Arc<dyn Service>;
        let (rpc, running) =
            pi_jsonrpc::Connection::new(process.stdout, process.stdin, service, limits);
        tokio::spawn(running);
        Ok(Self { rpc, shared, _processes: Mutex::new(process.tree) })
    }

    /// Calls a method and waits for the answer. A caller that stops waiting cancels the call.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let pending = self.rpc.start(method, |_| Some(params)).await?;
        let mut cancelling = CancelOnDrop { rpc: &self.rpc, id: Some(pending.id().clone()) };
        let answered = pending.response().await;
        cancelling.id = None;
        Ok(answered?)
    }

    /// Calls a method that may report progress under a key.
    pub(super) async fn call_with_updates(
        &self,
        method: &str,
        params: Value,
        key: &str,
        update: impl Fn(ToolOutput) + Send + 'static,
    ) -> Result<Value, CallError> {
        lock(&self.shared.updates).insert(key.to_owned(), Box::new(update));
        let answered = self.call(method, params).await;
        lock(&self.shared.updates).remove(key);
        answered
    }

    /// Sets the surroundings of requests that the program makes.
    pub(super) fn set_context(&self, context: ExtensionContext) {
        *lock(&self.shared.context) = Some(context);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.rpc.is_closed()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.rpc.close();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// Tells the program that no one waits for an answer any more.
struct CancelOnDrop<'a> {
    rpc: &'a pi_jsonrpc::Connection,
    id: Option<Id>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            // A program that has ended, or that does not read, needs no notice.
            self.rpc.try_send(Message::notification("cancel", Some(json!({ "id": id }))));
        }
    }
}

impl Service for Shared {
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            let params = request.params.unwrap_or_default();
            let served = match (request.method.as_str(), self.context()) {
                ("update", _) => self.update(&params),
                (method, Some(context)) => requests::serve(method, params, &context).await,
                (_, None) => Err("requests are possible after the first event".to_owned()),
            };
            served.map_err(|problem| Error::new(FAILED, problem))
        })
    }

    fn notification(&self, method: &str, params: Option<Value>) {
        let params = params.unwrap_or_default();
        if method == "update" {
            // In order: a report that overtakes the result of its call would be lost.
            if let Err(problem) = self.update(&params) {
                self.complain(&format!("{method}: {problem}"));
            }
            return;
        }
        let Some(context) = self.context() else { return };
        let method = method.to_owned();
        tokio::spawn(async move {
            if let Err(problem) = requests::serve(&method, params, &context).await {
                context.ui().notify(format!("{method}: {problem}"), NotifyKind::Warning);
            }
        });
    }

    fn invalid(&self, problem: &str) {
        let subject = if problem.starts_with("not ") { "a line is " } else { "" };
        self.complain(&format!("{subject}{problem}"));
    }

    fn unexpected_response(&self) {
        // The answer to a call that was cancelled.
    }

    fn answers_invalid(&self) -> bool {
        false
    }

    fn is_lenient(&self) -> bool {
        true
    }
}

impl Shared {
    /// Returns the surroundings of the last call.
    fn context(&self) -> Option<ExtensionContext> {
        lock(&self.context).clone()
    }

    /// Shows a message of or about the program.
    fn complain(&self, message: &str) {
        if let Some(context) = self.context() {
            context.ui().notify(message, NotifyKind::Warning);
        }
    }

    /// Passes on a progress report.
    fn update(&self, params: &Value) -> Result<Value, String> {
        let key = params["toolCallId"].as_str().ok_or("toolCallId is missing")?;
        let output = crate::registered::output_from_json(params["result"].clone())?;
        if let Some(update) = lock(&self.updates).get(key) {
            update(output);
        }
        Ok(Value::Null)
    }
}

/// Shows the lines that the program writes to its standard error.
async fn show_messages(stderr: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = String::new();
    while let Ok(1..) = stderr.read_line(&mut line).await {
        shared.complain(line.trim_end());
        line.clear();
    }
}
