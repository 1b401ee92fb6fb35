//! The server: executes commands until the input ends or the output is closed.
//!
//! Commands start in the order in which they come and are answered when they are done: a slow one
//! does not delay the next. Everything runs in one task, so a session needs no thread.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_agent::BoxFuture;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite};

use crate::{Executed, LineWriter, Request, Response, RpcUi, execute};
use pi_coding_agent::AgentRuntime;
use pi_coding_agent::session::{SessionEvent, SessionListener};

/// Longest line of the input, in bytes. Images come as base64 in one line.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Reasons why the server ended.
#[derive(Debug)]
pub enum Ended {
    /// The end of the input.
    Input,
    /// The output was closed.
    Output,
    /// The input could not be read.
    Failed(std::io::Error),
}

/// Writes the events of the runtime: records, and failures of extensions.
struct EventWriter(LineWriter);

impl SessionListener for EventWriter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if event.is_record() {
            return self.0.on_event(event);
        }
        if matches!(event, SessionEvent::ExtensionError { .. }) {
            // A reader that is gone ends the server.
            let _ = self.0.add(event);
        }
        Box::pin(std::future::ready(()))
    }
}

/// State that all commands share.
struct Server {
    runtime: AgentRuntime,
    ui: Arc<RpcUi>,
    output: LineWriter,
}

/// Executes the commands of `input` and writes responses and events to `out`. `output` is the
/// writer that the user interface uses, too.
pub async fn serve(
    runtime: AgentRuntime,
    ui: Arc<RpcUi>,
    output: LineWriter,
    input: impl AsyncBufRead + Unpin,
    out: impl AsyncWrite + Unpin,
) -> Ended {
    // Follows the runtime, so that nothing a new session emits is missed.
    let _events = runtime.add_listener(Arc::new(EventWriter(output.clone())));
    let server = Server { runtime, ui, output };
    let mut running = FuturesUnordered::new();
    let drain = server.output.drain(out);
    tokio::pin!(drain);
    let mut lines = Lines { input, line: Vec::new(), too_long: false };
    let ended = loop {
        tokio::select! {
            // Commands first, so that one has begun before the next is read.
            biased;
            Some(()) = running.next(), if !running.is_empty() => {}
            _ = &mut drain => break Ended::Output,
            line = lines.next() => match line {
                Ok(Some(Line::Text(line))) => running.push(server.answer(line)),
                Ok(Some(Line::TooLong)) => server.refuse_long_line(),
                Ok(None) => break Ended::Input,
                Err(error) => break Ended::Failed(error),
            },
            // An extension asked for the end; commands are answered first.
            () = server.runtime.idle_after_shutdown_request(), if running.is_empty() => {
                break Ended::Input;
            }
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
    // Commands in progress may wait for the reader, so both continue together.
    let ((), _) = tokio::join!(finish, drain);
    ended
}

impl Server {
    /// Executes one line.
    async fn answer(&self, line: String) {
        match Request::parse(&line) {
            Request::Unreadable(error) => self.refuse_line(error),
            Request::UiResponse { id, fields } => self.ui.answer(&id, fields),
            Request::Command { id, name, command } => {
                let Executed { response, run } =
                    Box::pin(execute(&self.runtime, id, name, command)).await;
                self.respond(&response);
                if let Some(run) = run {
                    Box::pin(run.finish()).await;
                }
            }
        }
    }

    fn refuse_long_line(&self) {
        let limit = MAX_LINE / (1024 * 1024);
        self.refuse_line(format!("Failed to parse command: the line is longer than {limit} MiB"));
    }

    fn refuse_line(&self, error: String) {
        self.respond(&Response::new(None, Some("parse".into()), Err(error)));
    }

    fn respond(&self, response: &Response) {
        // A reader that is gone ends the server.
        let _ = self.output.add(response);
    }
}

/// The lines of the input, ended by a line feed or the end of the input.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// The current line exceeds the limit; the rest of it is skipped.
    too_long: bool,
}

/// The kinds of lines of the input.
enum Line {
    Text(String),
    /// The line exceeds [`MAX_LINE`] and was skipped.
    TooLong,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Returns the next line. Safe to cancel: no input is lost.
    async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                if self.line.is_empty() && !self.too_long {
                    return Ok(None);
                }
                return Ok(Some(self.take()));
            }
            let end = memchr::memchr(b'\n', available);
            let content = &available[..end.unwrap_or(available.len())];
            if self.line.len() + content.len() > MAX_LINE {
                self.line = Vec::new();
                self.too_long = true;
            }
            if !self.too_long {
                self.line.extend_from_slice(content);
            }
            let consumed = content.len() + usize::from(end.is_some());
            self.input.consume(consumed);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            return Line::TooLong;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Text(String::from_utf8_lossy(&line).into_owned())
    }
}
