//! Operations that an extension performs for a tool: requests as events, answers by number.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use pi_base::lock;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, oneshot};

/// The answer of an operation.
#[derive(Debug)]
pub(super) enum Answer {
    Bytes(Vec<u8>),
    Value(Value),
}

/// The operations that the extension replaces, and those that it has not answered.
#[derive(Debug)]
pub(super) struct Operations {
    names: BTreeSet<String>,
    events: mpsc::UnboundedSender<Value>,
    next: AtomicU32,
    open: Mutex<BTreeMap<u32, Open>>,
}

#[derive(Debug)]
struct Open {
    reply: Option<oneshot::Sender<io::Result<Answer>>>,
    output: Option<mpsc::UnboundedSender<Vec<u8>>>,
}

impl Operations {
    pub(super) fn new(names: BTreeSet<String>, events: mpsc::UnboundedSender<Value>) -> Self {
        Self { names, events, next: AtomicU32::new(1), open: Mutex::default() }
    }

    /// Returns true if the extension replaces an operation.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns true if the extension replaces any operation: files are then not those of this
    /// machine.
    pub(super) fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Asks the extension and waits for its answer.
    pub(super) async fn ask(&self, name: &str, arguments: &Value) -> io::Result<Answer> {
        let (_, answer) = self.request(name, arguments, None);
        answer.await.unwrap_or_else(|_| Err(io::Error::other("the operation was abandoned")))
    }

    /// Asks the extension to run a command. Returns its output and its answer, and a lease that
    /// aborts the operation when it is dropped.
    pub(super) fn run(
        self: &Arc<Self>,
        arguments: &Value,
    ) -> (Output, oneshot::Receiver<io::Result<Answer>>, Lease) {
        let (sender, chunks) = mpsc::unbounded_channel();
        let (number, answer) = self.request("exec", arguments, Some(sender));
        let lease = Lease { operations: Arc::clone(self), number };
        (Output { chunks, rest: Vec::new(), at: 0 }, answer, lease)
    }

    fn request(
        &self,
        name: &str,
        arguments: &Value,
        output: Option<mpsc::UnboundedSender<Vec<u8>>>,
    ) -> (u32, oneshot::Receiver<io::Result<Answer>>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        lock(&self.open).insert(number, Open { reply: Some(reply), output });
        let event = json!({ "type": "operation", "id": number, "name": name, "args": arguments });
        let _ = self.events.send(event);
        (number, answer)
    }

    /// Delivers an answer. The output of a command ends with it.
    pub(super) fn answer(&self, number: u32, bytes: Option<Vec<u8>>, value: Value) {
        let answer = bytes.map_or(Answer::Value(value), Answer::Bytes);
        self.reply(number, Ok(answer));
    }

    /// Delivers an error of the extension.
    pub(super) fn refuse(&self, number: u32, code: &str, text: String) {
        let kind = match code {
            "ENOENT" => io::ErrorKind::NotFound,
            "EACCES" | "EPERM" => io::ErrorKind::PermissionDenied,
            "EISDIR" => io::ErrorKind::IsADirectory,
            "ENOTDIR" => io::ErrorKind::NotADirectory,
            _ => io::ErrorKind::Other,
        };
        self.reply(number, Err(io::Error::new(kind, text)));
    }

    /// Delivers output of a command.
    pub(super) fn data(&self, number: u32, bytes: Vec<u8>) {
        if let Some(output) = lock(&self.open).get(&number).and_then(|open| open.output.as_ref()) {
            let _ = output.send(bytes);
        }
    }

    fn reply(&self, number: u32, answer: io::Result<Answer>) {
        let open = lock(&self.open).remove(&number);
        if let Some(reply) = open.and_then(|open| open.reply) {
            let _ = reply.send(answer);
        }
    }
}

/// Aborts a command of the extension when it is dropped before its answer.
#[derive(Debug)]
pub(super) struct Lease {
    operations: Arc<Operations>,
    number: u32,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if lock(&self.operations.open).remove(&self.number).is_some() {
            let event = json!({ "type": "abort", "id": self.number });
            let _ = self.operations.events.send(event);
        }
    }
}

/// The output of a command that the extension runs.
#[derive(Debug)]
pub(super) struct Output {
    chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    rest: Vec<u8>,
    at: usize,
}

impl AsyncRead for Output {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.at >= this.rest.len() {
            match this.chunks.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(chunk)) => (this.rest, this.at) = (chunk, 0),
            }
        }
        let left = this.rest.get(this.at..).unwrap_or_default();
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(left.get(..count).unwrap_or_default());
        this.at += count;
        Poll::Ready(Ok(()))
    }
}
