//! Commands on the other side, with merged output. `scripts/spawn.sh` is the part that runs there.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::super::{Command, PipedProcess, Process, ProcessTree};
use super::marked::Marked;
use super::{Remote, lost, script, start_arguments};

/// The longest wait for the report that a killed command is gone. The other side ends the command
/// in any case, even if the connection is cut.
const KILLED: Duration = Duration::from_millis(25);
/// The longest wait after a command has ended; only a connection that hangs takes longer.
pub(super) const ENDED: Duration = Duration::from_secs(5);
/// Bytes of messages that are kept for an error.
const MESSAGES: usize = 4096;

/// Starts a command there and waits until it runs.
pub(super) async fn spawn(remote: &Remote, command: &Command) -> io::Result<Process> {
    let mark = script::mark();
    let words = start_arguments(&mark, command)?;
    let script = [include_str!("scripts/end.sh"), include_str!("scripts/spawn.sh")].concat();
    let mut process = remote.start(&script, &words).await?;
    let Started { group, output } = started(&mut process, &mark).await?;
    let PipedProcess { mut stdin, stdout, stderr, tree, .. } = process;
    // The script that will kill the group cannot find out its number itself.
    stdin.write_all(format!("{group}\n").as_bytes()).await?;

    let (send_exit, exit) = oneshot::channel();
    let (send_gone, gone) = oneshot::channel();
    let has_exited = Arc::new(AtomicBool::new(false));
    let reports = Reports { exit: Some(send_exit), gone: Some(send_gone) };
    tokio::spawn(listen(stderr, mark.clone(), reports, Arc::clone(&has_exited)));
    let exit = async { exit.await.unwrap_or_else(|_| Err(lost(b""))) };
    let gone = async move {
        let patience = if has_exited.load(Ordering::Relaxed) { ENDED } else { KILLED };
        let _ = timeout(patience, gone).await;
        // Ends the local program that has the connection, and with it the output.
        drop(tree);
    };
    Ok(Process {
        output: Box::pin(Marked::new(stdout, output, &mark)),
        exit: Box::pin(exit),
        tree: ProcessTree::new(std::sync::Mutex::new(stdin), Box::pin(gone)),
    })
}

/// The report that a command has started.
pub(super) struct Started {
    /// Number of its process group; empty if the command has none of its own.
    pub(super) group: String,
    /// The beginning of its output.
    pub(super) output: Vec<u8>,
}

/// Waits for the report that a command has started, or for the error that prevented it.
pub(super) async fn started(process: &mut PipedProcess, mark: &str) -> io::Result<Started> {
    let mut output = Vec::with_capacity(4096);
    let line = loop {
        if let Some(line) = first_report(&mut output, mark) {
            break line;
        }
        if process.stdout.read_buf(&mut output).await? == 0 {
            let mut messages = Vec::new();
            let _ = process.stderr.read_to_end(&mut messages).await;
            return Err(lost(&messages));
        }
    };
    match line.strip_prefix("started") {
        Some(group) => Ok(Started { group: group.trim().to_owned(), output }),
        None => Err(script::error(&line)),
    }
}

/// Takes the first complete report out of `output`, with everything before it: shells greet.
fn first_report(output: &mut Vec<u8>, mark: &str) -> Option<String> {
    let start = script::find(output, mark.as_bytes())? + mark.len() + 1;
    let end = start + output.get(start..)?.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&output[start..end]).into_owned();
    output.drain(..=end);
    Some(line)
}

/// Receivers of the reports that a script sends beside the output.
pub(super) struct Reports {
    /// The exit code of the command.
    pub(super) exit: Option<oneshot::Sender<io::Result<Option<i32>>>>,
    /// No process of the command is left.
    pub(super) gone: Option<oneshot::Sender<()>>,
}

/// Forwards reports until the messages end.
pub(super) async fn listen(
    mut stderr: Pin<Box<dyn AsyncRead + Send>>,
    mark: String,
    mut reports: Reports,
    has_exited: Arc<AtomicBool>,
) {
    let mut messages = Vec::new();
    loop {
        let more = matches!(stderr.read_buf(&mut messages).await, Ok(1..));
        while let Some(line) = next_report(&mut messages, &mark) {
            if line == "gone" {
                reports.gone.take().map(|gone| gone.send(()));
            } else if let Some(code) = line.strip_prefix("exit ") {
                has_exited.store(true, Ordering::Relaxed);
                reports.exit.take().map(|exit| exit.send(Ok(code.parse().ok())));
            }
        }
        if !more {
            break;
        }
        if messages.len() > MESSAGES {
            messages.drain(..messages.len() - MESSAGES);
        }
    }
    // A receiver of `gone` learns the end by the drop of its sender.
    reports.exit.take().map(|exit| exit.send(Err(lost(&messages))));
}

/// Takes a complete report out of the messages.
fn next_report(messages: &mut Vec<u8>, mark: &str) -> Option<String> {
    let start = script::find(messages, mark.as_bytes())?;
    let mut rest = messages.split_off(start);
    let line = first_report(&mut rest, mark);
    messages.append(&mut rest);
    line
}
