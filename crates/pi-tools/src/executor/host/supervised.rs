//! Processes of this machine, each under a supervisor.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::process::{Running, one_output, start_child};
use crate::executor::{Command, Process, ProcessTree};
use crate::supervisor::{Supervisor, message, tree};

/// Starts a command under a supervisor.
pub(super) async fn spawn(supervisor: &Supervisor, command: &Command) -> io::Result<Process> {
    let mut start = std::process::Command::new(&supervisor.program);
    let output = one_output(&mut start)?;
    let (exit, tree) = run(supervisor, start, command, message::Input::Empty).await?;
    Ok(Process { output, exit, tree })
}

/// Starts a supervisor, prepared as `start`, and tells it what to run.
pub(super) async fn run(
    supervisor: &Supervisor,
    mut start: std::process::Command,
    command: &Command,
    input: message::Input,
) -> io::Result<Running> {
    let (ours, theirs) = StdUnixStream::pair()?;
    start.arg(&supervisor.argument).stdin(OwnedFd::from(theirs));
    let mut child = start_child(start, command)?;

    ours.set_nonblocking(true)?;
    let mut channel = UnixStream::from_std(ours)?;
    // The command is not among the arguments of the supervisor: whoever kills processes by their
    // arguments would hit the supervisor with the words of his own command.
    let request = message::request(input, &command.program, &command.arguments);
    let mut reply = [0; message::REPLY];
    let told = async {
        channel.write_all(&request).await?;
        channel.read_exact(&mut reply).await
    };
    let started = match told.await {
        Ok(_) => message::started(reply),
        Err(error) => Err(io::Error::other(format!("the supervisor does not answer: {error}"))),
    };
    let (mut receive, send) = channel.into_split();
    let session = child.id();
    if let Err(error) = started {
        drop((receive, send));
        let _ = child.kill().await;
        // It may have been killed by what it had just started.
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
        // It only ends well when nothing is left. If it was killed, its session is still known.
        if let (false, Some(session)) = (ended.is_ok_and(|status| status.success()), session) {
            tree::kill_session(session);
        }
    };
    // Dropping the sending half is what the supervisor takes as the end; so is our own death.
    Ok((Box::pin(exit), ProcessTree::new(send, Box::pin(gone))))
}
