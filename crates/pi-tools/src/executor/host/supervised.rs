//! Processes of this machine, each under a supervisor.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::Group;
use super::process::{Running, merged_output, prepared};
use crate::executor::{Command, Process, ProcessTree};
use crate::supervisor::{ARGUMENT, Supervisor, message, tree};

/// Starts a command under a supervisor.
pub(super) async fn spawn(
    supervisor: &Supervisor,
    command: &Command,
    group: &mut Group,
) -> io::Result<Process> {
    let mut start = prepared(&supervisor.program, command);
    let output = merged_output(&mut start)?;
    let (exit, tree) = run(start, command, None, group).await?;
    Ok(Process { output, exit, tree })
}

/// Starts a supervisor, prepared as `start`, and sends it the command and its standard input.
pub(super) async fn run(
    mut start: std::process::Command,
    command: &Command,
    input: Option<OwnedFd>,
    group: &mut Group,
) -> io::Result<Running> {
    let (ours, theirs) = StdUnixStream::pair()?;
    start.arg(ARGUMENT).stdin(OwnedFd::from(theirs));
    // Drops `start`, and with it our copies of the descriptors that the child writes to.
    let mut child = tokio::process::Command::from(start).spawn()?;
    // The supervisor has not been told yet what to start.
    group.add(child.id()).await;

    ours.set_nonblocking(true)?;
    let mut channel = UnixStream::from_std(ours)?;
    // The command is not among the arguments of the supervisor: a command that kills processes by
    // their arguments would kill its own supervisor.
    let request = message::request(&command.program, &command.arguments);
    let mut reply = [0; message::REPLY];
    let exchange = async {
        message::send_input(&channel, input.as_ref())?;
        channel.write_all(&request).await?;
        channel.read_exact(&mut reply).await
    };
    let started = match exchange.await {
        Ok(_) => message::started(reply),
        Err(error) => Err(io::Error::other(format!("the supervisor does not answer: {error}"))),
    };
    // Our copy of the read end: with it open, the command's input would never be closed.
    drop(input);
    let (mut receive, send) = channel.into_split();
    let session = child.id();
    if let Err(error) = started {
        drop((receive, send));
        let _ = child.kill().await;
        // The command that it had just started may have killed it.
        session.into_iter().for_each(tree::kill_session);
        return Err(error);
    }

    let exit = async move {
        let mut reply = [0; message::REPLY];
        // No reply: the supervisor itself was killed.
        Ok(receive.read_exact(&mut reply).await.ok().and_then(|_| message::exit_code(reply)))
    };
    let gone = async move {
        let ended = child.wait().await;
        // A supervisor only succeeds when no process is left. If it was killed, its session is
        // still known.
        if let (false, Some(session)) = (ended.is_ok_and(|status| status.success()), session) {
            tree::kill_session(session);
        }
    };
    // The supervisor kills everything when the sending half is dropped or this program dies.
    let send = Arc::new(send);
    let channel = Arc::downgrade(&send);
    let terminate = move || {
        if let Some(send) = channel.upgrade() {
            // A supervisor that is gone has no processes left.
            let _ = send.try_write(&[message::TERMINATE]);
        }
    };
    let running = move || session.map(tree::command_lines).unwrap_or_default();
    let tree = ProcessTree::new(send, Box::pin(gone)).with_terminate(terminate);
    let tree = tree.with_running(running);
    Ok((Box::pin(exit), tree))
}
