//! Answers commands until the input ends or nobody reads the output.
//!
//! Commands are begun in the order they come and answered when they are done: one that takes
//! long does not hold up the next. Everything runs in one task, so a session needs no thread.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite};

use super::handle::{Handled, handle};
use super::{LineWriter, Request, RpcUi};
use crate::runtime::AgentRuntime;
use crate::session::{AgentSession, Listening};

/// Why serving ended.
#[derive(Debug)]
pub enum Ended {
    /// The input ended.
    Input,
    /// Nobody reads the output.
    Output,
    /// The input cannot be read.
    Failed(std::io::Error),
}

/// A response.
#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a Value>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// An extension failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionFailed<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    extension_path: &'a str,
    event: &'a str,
    error: &'a str,
}

/// What all commands share.
pub(super) struct Server {
    pub(super) runtime: Arc<AgentRuntime>,
    ui: Arc<RpcUi>,
    output: LineWriter,
    listening: Mutex<Option<Listening>>,
}

/// Answers the commands that come from `input`, on `out`. `output` is where the session and its
/// extensions write, too.
pub async fn serve(
    runtime: Arc<AgentRuntime>,
    ui: Arc<RpcUi>,
    output: LineWriter,
    input: impl AsyncBufRead + Unpin,
    out: impl AsyncWrite + Unpin,
) -> Ended {
    let server = Server { runtime, ui, output, listening: Mutex::default() };
    server.listen();
    let mut running = FuturesUnordered::new();
    let drain = server.output.drain(out);
    tokio::pin!(drain);
    let mut lines = Lines { input, line: Vec::new() };
    let ended = loop {
        tokio::select! {
            // Commands first, so that one has begun before the next is read.
            biased;
            Some(()) = running.next(), if !running.is_empty() => {}
            _ = &mut drain => break Ended::Output,
            line = lines.next() => match line {
                Ok(Some(line)) => running.push(server.answer(line)),
                Ok(None) => break Ended::Input,
                Err(error) => break Ended::Failed(error),
            },
        }
    };
    server.ui.close();
    let finish = async {
        tokio::join!(server.runtime.shut_down(), async { while running.next().await.is_some() {} });
        server.output.finish();
    };
    if matches!(ended, Ended::Output) {
        finish.await;
        return ended;
    }
    // What is still being done may have to wait for the reader, so both go on together.
    let ((), _) = tokio::join!(finish, drain);
    ended
}

impl Server {
    /// Answers one line.
    async fn answer(&self, line: String) {
        match Request::parse(&line) {
            Request::Unreadable(error) => self.respond(None, Some(&"parse".into()), &Err(error)),
            Request::UiResponse { id, fields } => self.ui.answer(&id, fields),
            Request::Command { id, name, command } => {
                let (id, name) = (id.as_ref(), name.as_ref());
                let handled = match command {
                    Ok(command) => Box::pin(handle(self, id, *command)).await,
                    Err(error) => Err(error),
                };
                match handled {
                    Ok(Handled { data, run }) => {
                        self.respond(id, name, &Ok(data));
                        if let Some(run) = run {
                            Box::pin(run.finish()).await;
                        }
                    }
                    Err(error) => self.respond(id, name, &Err(error)),
                }
            }
        }
    }

    fn respond(
        &self,
        id: Option<&Value>,
        command: Option<&Value>,
        result: &Result<Option<Box<RawValue>>, String>,
    ) {
        let response = Response {
            id,
            kind: "response",
            command,
            success: result.is_ok(),
            data: result.as_ref().ok().and_then(Option::as_deref),
            error: result.as_ref().err().map(String::as_str),
        };
        // If nobody reads any more, the server ends.
        let _ = self.output.add(&response);
    }

    /// The session in use.
    pub(super) fn session(&self) -> AgentSession {
        self.runtime.session()
    }

    /// Forwards the events of the session in use, and of no other.
    pub(super) fn listen(&self) {
        let session = self.session();
        let output = self.output.clone();
        session.extensions().on_failure(move |failure| {
            let _ = output.add(&ExtensionFailed {
                kind: "extension_error",
                extension_path: &failure.extension,
                event: &failure.event,
                error: &failure.error,
            });
        });
        let listening = session.add_listener(Arc::new(self.output.clone()));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening);
    }
}

/// Lines of any length, ended by a line feed or the end of the input.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// The next line. Can be cancelled without losing anything.
    async fn next(&mut self) -> std::io::Result<Option<String>> {
        let read = self.input.read_until(b'\n', &mut self.line).await?;
        if read == 0 && self.line.is_empty() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}
