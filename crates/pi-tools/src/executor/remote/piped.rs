//! Commands on the other side with separate standard streams.
//!
//! All three streams of a connection belong to the command, so a second connection carries its
//! lease: `scripts/lease.sh` kills everything of the command when the lease ends, or when this
//! program dies. `scripts/piped.sh` runs the command. The exit code follows the last error message,
//! behind a mark.

use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::super::{Command, PipedProcess, ProcessTree};
use super::marked::{Marked, certain};
use super::process::{ENDED, Reports, Started, listen, started};
use super::{Remote, has_line, lost, script, start_arguments};

/// Bytes of errors that are buffered before the command has to wait, as in a pipe.
const BUFFER: usize = 64 * 1024;

/// Starts a command there and waits until it runs.
pub(super) async fn spawn(remote: &Remote, command: &Command) -> io::Result<PipedProcess> {
    let mark = script::mark();
    let words = start_arguments(&mark, command)?;
    // The lease comes first: without it, a command that has just started could be left behind.
    let lease = [include_str!("scripts/end.sh"), include_str!("scripts/lease.sh")].concat();
    let mut lease = remote.start(&lease, &[mark.clone().into()]).await?;
    if !has_line(&mut lease, &format!("{mark} up")).await? {
        let mut messages = Vec::new();
        let _ = lease.stderr.read_to_end(&mut messages).await;
        return Err(lost(&messages));
    }
    let mut process = remote.start(include_str!("scripts/piped.sh"), &words).await?;
    let Started { group, output } = started(&mut process, &mark).await?;
    lease.stdin.write_all(format!("{group}\n").as_bytes()).await?;

    let (send_gone, gone) = oneshot::channel();
    let reports = Reports { exit: None, gone: Some(send_gone) };
    let unused = Arc::new(AtomicBool::new(false));
    tokio::spawn(listen(lease.stderr, mark.clone(), reports, unused));
    let (send_exit, exit) = oneshot::channel();
    let (into, stderr) = tokio::io::duplex(BUFFER);
    tokio::spawn(forward_errors(process.stderr, into, mark.clone(), send_exit));
    let trees = (process.tree, lease.tree);
    let gone = async move {
        let _ = timeout(ENDED, gone).await;
        drop(trees);
    };
    let exit = async { exit.await.unwrap_or_else(|_| Err(lost(b""))) };
    let tree = ProcessTree::new(Mutex::new(lease.stdin), Box::pin(gone));
    let stdout = Marked::new(process.stdout, output, &mark);
    Ok(PipedProcess::new(process.stdin, stdout, stderr, Box::pin(exit), tree))
}

/// Forwards errors up to the mark, then sends the exit code that follows it.
async fn forward_errors(
    mut from: Pin<Box<dyn AsyncRead + Send>>,
    mut into: DuplexStream,
    mark: String,
    exit: oneshot::Sender<io::Result<Option<i32>>>,
) {
    let mark = [b"\x01", mark.as_bytes(), b" exit "].concat();
    let mut buffer = Vec::new();
    let code = loop {
        let more = matches!(from.read_buf(&mut buffer).await, Ok(1..));
        let found = script::find(&buffer, &mark);
        let errors = found.unwrap_or_else(|| match more {
            true => certain(&buffer, &mark),
            false => buffer.len(),
        });
        // The receiver may be dropped; the exit code is still wanted.
        let _ = into.write_all(&buffer[..errors]).await;
        buffer.drain(..errors);
        if let Some(code) = code(&buffer, &mark) {
            break Ok(Some(code));
        }
        if !more {
            break Err(lost(b""));
        }
    };
    drop(into);
    let _ = exit.send(code);
}

/// Parses the line that begins with the mark, if it is complete.
fn code(line: &[u8], mark: &[u8]) -> Option<i32> {
    let line = line.strip_prefix(mark)?;
    let end = line.iter().position(|byte| *byte == b'\n')?;
    str::from_utf8(&line[..end]).ok()?.parse().ok()
}
