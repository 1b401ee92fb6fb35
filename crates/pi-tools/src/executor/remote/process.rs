//! Processes that are elsewhere. What happens there is written in `scripts/spawn.sh`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::unix::{OwnedReadHalf, pipe};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::super::host::Connection;
use super::super::{Process, ProcessTree};
use super::{lost, script};

/// How long is waited, at the end of a command that was broken off, for those elsewhere to say
/// that it is gone. They end it in any case, also when the connection is cut.
const ABORTED: Duration = Duration::from_millis(25);
/// The same for one that ended by itself: only a connection that hangs takes longer.
const ENDED: Duration = Duration::from_secs(5);
/// Bytes of messages that are kept for an error.
const MESSAGES: usize = 4096;

/// Waits until a command has started at the other end of a connection.
pub(super) async fn started(connection: Connection, mark: &str) -> io::Result<Process> {
    let Connection { mut input, mut output, mut messages, tree } = connection;
    let mut head = Vec::with_capacity(4096);
    let reply = loop {
        if let Some(line) = reply(&mut head, mark) {
            break line;
        }
        if output.read_buf(&mut head).await? == 0 {
            let mut said = Vec::new();
            let _ = messages.read_to_end(&mut said).await;
            return Err(lost(&said));
        }
    };
    let Some(group) = reply.strip_prefix("started ") else { return Err(script::error(&reply)) };
    // Told back to those who will end it; they could not learn it otherwise.
    input.write_all(format!("{group}\n").as_bytes()).await?;

    let (send_exit, exit) = oneshot::channel();
    let (send_gone, gone) = oneshot::channel();
    let has_exited = Arc::new(AtomicBool::new(false));
    tokio::spawn(listen(messages, mark.to_owned(), send_exit, send_gone, Arc::clone(&has_exited)));
    let exit = async { exit.await.unwrap_or_else(|_| Err(lost(b""))) };
    let gone = async move {
        let patience = if has_exited.load(Ordering::Relaxed) { ENDED } else { ABORTED };
        let _ = timeout(patience, gone).await;
        // Ends the program of this machine that holds the connection, and with it the output.
        drop(tree);
    };
    let end = [b"\x01", mark.as_bytes(), b"\n"].concat();
    let output = Output { from: output, held: head, given: 0, end, state: State::Open };
    Ok(Process {
        output: Box::pin(output),
        exit: Box::pin(exit),
        tree: ProcessTree::new(input, Box::pin(gone)),
    })
}

/// The first line that is for us, if it is there; what precedes it is a greeting.
fn reply(head: &mut Vec<u8>, mark: &str) -> Option<String> {
    let start = script::find(head, mark.as_bytes())? + mark.len() + 1;
    let end = start + head.get(start..)?.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&head[start..end]).into_owned();
    head.drain(..=end);
    Some(line)
}

/// Takes in what is said beside the output: how the command ended, and that nothing is left.
async fn listen(
    mut messages: pipe::Receiver,
    mark: String,
    exit: oneshot::Sender<io::Result<Option<i32>>>,
    gone: oneshot::Sender<()>,
    has_exited: Arc<AtomicBool>,
) {
    let (mut exit, mut gone) = (Some(exit), Some(gone));
    let mut said = Vec::new();
    loop {
        let more = matches!(messages.read_buf(&mut said).await, Ok(1..));
        while let Some(line) = reply_between(&mut said, &mark) {
            if line == "gone" {
                gone.take().map(|gone| gone.send(()));
            } else if let Some(code) = line.strip_prefix("exit ") {
                has_exited.store(true, Ordering::Relaxed);
                exit.take().map(|exit| exit.send(Ok(code.parse().ok())));
            }
        }
        if !more {
            break;
        }
        if said.len() > MESSAGES {
            said.drain(..said.len() - MESSAGES);
        }
    }
    // Whoever waits for the end of it all learns it by what is dropped here.
    exit.take().map(|exit| exit.send(Err(lost(&said))));
}

/// A line that is for us, taken out of the messages.
fn reply_between(said: &mut Vec<u8>, mark: &str) -> Option<String> {
    let start = script::find(said, mark.as_bytes())?;
    let mut rest = said.split_off(start);
    let line = reply(&mut rest, mark);
    said.append(&mut rest);
    line
}

/// What a command writes, up to the mark behind it.
struct Output {
    from: OwnedReadHalf,
    /// What was read, and how much of it was given on.
    held: Vec<u8>,
    given: usize,
    end: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The mark was found: what is held is the rest.
    Ended,
}

impl Output {
    /// How many of the held bytes are certain not to belong to the mark.
    fn certain(&mut self) -> usize {
        if self.state == State::Ended {
            return self.held.len();
        }
        if let Some(at) = script::find(&self.held, &self.end) {
            self.held.truncate(at);
            self.state = State::Ended;
            return at;
        }
        let tail = self.held.len().saturating_sub(self.end.len());
        let begins = |at: &usize| self.end.starts_with(&self.held[*at..]);
        (tail..self.held.len()).find(begins).unwrap_or(self.held.len())
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let certain = self.certain();
            let given = self.given;
            if certain > given {
                let count = into.remaining().min(certain - given);
                into.put_slice(&self.held[given..given + count]);
                self.given += count;
                return Poll::Ready(Ok(()));
            }
            if self.state == State::Ended {
                return Poll::Ready(Ok(()));
            }
            self.held.drain(..given);
            self.given = 0;
            let mut chunk = [0; 16 * 1024];
            let mut chunk = ReadBuf::new(&mut chunk);
            match Pin::new(&mut self.from).poll_read(context, &mut chunk) {
                Poll::Ready(Ok(())) if chunk.filled().is_empty() => {
                    // Never to be taken for all there was.
                    return Poll::Ready(Err(lost(b"the output was cut off")));
                }
                Poll::Ready(Ok(())) => self.held.extend(chunk.filled()),
                other => return other,
            }
        }
    }
}
