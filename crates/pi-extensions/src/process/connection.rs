//! The connection to a program: calls with numbers, answers in any order.

use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::ToolOutput;
use pi_coding_agent::extension::ExtensionContext;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, oneshot};

use super::manifest::Manifest;
use super::requests;

/// A line may not be longer: a program that writes without end must not take all memory.
const LONGEST_LINE: u64 = 32 << 20;

/// The connection to a program. The program is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    lines: mpsc::UnboundedSender<Value>,
    shared: Arc<Shared>,
    next: AtomicU64,
    _child: Mutex<Child>,
}

/// The state that the reader of answers shares.
#[derive(Default)]
pub(super) struct Shared {
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, CallError>>>>,
    updates: Mutex<BTreeMap<String, Box<dyn Fn(ToolOutput) + Send>>>,
    context: Mutex<Option<ExtensionContext>>,
    closed: AtomicBool,
}

/// A call that failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum CallError {
    #[error("{0}")]
    Failed(String),
    #[error("the program has ended")]
    Ended,
}

impl Connection {
    /// Starts the program.
    pub(super) fn start(manifest: &Manifest) -> io::Result<Self> {
        let (program, arguments) = manifest.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&manifest.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
            })?;
        let shared = Arc::new(Shared::default());
        // Unbounded: each line is an event that the session waits for, or an answer.
        let (lines, outgoing) = mpsc::unbounded_channel();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write(stdin, outgoing));
        }
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(read(BufReader::new(stdout), Arc::clone(&shared), lines.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(requests::show_messages(BufReader::new(stderr), Arc::clone(&shared)));
        }
        Ok(Self { lines, shared, next: AtomicU64::new(1), _child: Mutex::new(child) })
    }

    /// Calls a method and waits for the answer. A caller that stops waiting cancels the call.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        if self.is_closed() {
            return Err(CallError::Ended);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.shared.waiting().insert(id, reply);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if self.lines.send(message).is_err() {
            return Err(CallError::Ended);
        }
        let cancelling = CancelOnDrop { id, connection: self, is_done: false };
        let answered = answer.await.unwrap_or(Err(CallError::Ended));
        cancelling.done();
        answered
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
        self.shared.closed.load(Ordering::Relaxed)
    }
}

/// Tells the program that no one waits for an answer any more.
struct CancelOnDrop<'a> {
    id: u64,
    connection: &'a Connection,
    is_done: bool,
}

impl CancelOnDrop<'_> {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.connection.shared.waiting().remove(&self.id);
        if !self.is_done {
            let params = json!({ "id": self.id });
            let message = json!({ "jsonrpc": "2.0", "method": "cancel", "params": params });
            // A program that has ended needs no notice.
            let _ = self.connection.lines.send(message);
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Result<Value, CallError>>>> {
        lock(&self.waiting)
    }

    /// Returns the surroundings of the last call.
    pub(super) fn context(&self) -> Option<ExtensionContext> {
        lock(&self.context).clone()
    }

    /// Passes on a progress report.
    pub(super) fn update(&self, key: &str, output: ToolOutput) {
        if let Some(update) = lock(&self.updates).get(key) {
            update(output);
        }
    }

    fn answer(&self, id: u64, message: &Value) {
        let Some(reply) = self.waiting().remove(&id) else { return };
        let answer = match message.get("error") {
            Some(error) => {
                let text = error["message"].as_str().unwrap_or("the program reported an error");
                Err(CallError::Failed(text.to_owned()))
            }
            None => Ok(message.get("result").cloned().unwrap_or_default()),
        };
        // A caller that stopped waiting needs no answer.
        let _ = reply.send(answer);
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        for (_, reply) in std::mem::take(&mut *self.waiting()) {
            let _ = reply.send(Err(CallError::Ended));
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("closed", &self.closed).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<Value>) {
    while let Some(line) = lines.recv().await {
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read(
    mut stdout: impl tokio::io::AsyncBufRead + Unpin,
    shared: Arc<Shared>,
    lines: mpsc::UnboundedSender<Value>,
) {
    // Weak, so that the writer ends when the connection is dropped.
    let lines = { lines.downgrade() };
    loop {
        let mut line = Vec::new();
        let read = (&mut stdout).take(LONGEST_LINE).read_until(b'\n', &mut line).await;
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LONGEST_LINE;
        if !matches!(read, Ok(1..)) || !is_whole {
            break;
        }
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(_) if line.trim_ascii().is_empty() => continue,
            Err(error) => {
                requests::complain(&shared, &format!("a line is not JSON: {error}"));
                continue;
            }
        };
        match (message.get("method"), message["id"].as_u64()) {
            (Some(_), _) => {
                let Some(lines) = lines.upgrade() else { break };
                tokio::spawn(requests::serve(message, Arc::clone(&shared), lines));
            }
            (None, Some(id)) => shared.answer(id, &message),
            (None, None) => requests::complain(&shared, "a message has neither method nor id"),
        }
    }
    shared.close();
}
