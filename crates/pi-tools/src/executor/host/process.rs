//! Processes of this machine: under a supervisor, or in a process group of their own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;

use crate::executor::{Command, Lease, Process};
use crate::supervisor::{Supervisor, message, tree};

/// Starts a command, owned as well as this machine can.
pub(super) async fn spawn(
    supervisor: Option<&Supervisor>,
    command: &Command,
) -> io::Result<Process> {
    match supervisor.filter(|_| cfg!(target_os = "linux")) {
        Some(supervisor) => supervised(supervisor, command).await,
        None => grouped(command),
    }
}

/// Starts a supervisor and tells it what to run.
async fn supervised(supervisor: &Supervisor, command: &Command) -> io::Result<Process> {
    let (ours, theirs) = StdUnixStream::pair()?;
    let mut start = std::process::Command::new(&supervisor.program);
    start.arg(&supervisor.argument).stdin(OwnedFd::from(theirs));
    let (mut child, output) = start_child(start, command)?;

    ours.set_nonblocking(true)?;
    let mut channel = UnixStream::from_std(ours)?;
    // The command is not among the arguments of the supervisor: whoever kills processes by their
    // arguments would hit the supervisor with the words of his own command.
    let request = message::request(&command.program, &command.arguments);
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
    if let Err(error) = started {
        drop((receive, send));
        let _ = child.kill().await;
        return Err(error);
    }

    let exit = async move {
        let mut reply = [0; message::REPLY];
        // No reply: the supervisor itself was killed.
        Ok(receive.read_exact(&mut reply).await.ok().and_then(|_| message::exit_code(reply)))
    };
    let session = child.id();
    let gone = async move {
        let ended = child.wait().await;
        // It only ends well when nothing is left. If it was killed, its session is still known.
        if let (false, Some(session)) = (ended.is_ok_and(|status| status.success()), session) {
            tree::kill_session(session);
        }
    };
    // Dropping the sending half is what the supervisor takes as the end; so is our own death.
    Ok(Process { output, exit: Box::pin(exit), lease: Lease::new(send, Box::pin(gone)) })
}

/// Starts a command in a process group of its own.
fn grouped(command: &Command) -> io::Result<Process> {
    use std::os::unix::process::CommandExt;
    let mut start = std::process::Command::new(&command.program);
    start.args(&command.arguments).stdin(Stdio::null()).process_group(0);
    let (mut child, output) = start_child(start, command)?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let (send, receive) = tokio::sync::oneshot::channel();
    let waiting = tokio::spawn(async move {
        let _ = send.send(child.wait().await.map(exit_code));
    });
    let exit = async { receive.await.unwrap_or(Ok(None)) };
    let gone = async {
        let _ = waiting.await;
    };
    Ok(Process { output, exit: Box::pin(exit), lease: Lease::new(group, Box::pin(gone)) })
}

type Output = std::pin::Pin<Box<dyn tokio::io::AsyncRead + Send>>;

/// Starts a child that writes everything into one pipe.
fn start_child(mut start: std::process::Command, command: &Command) -> io::Result<(Child, Output)> {
    let (output, input) = io::pipe()?;
    start.stdout(input.try_clone()?).stderr(input);
    start.current_dir(&command.cwd).env_clear().envs(&command.environment);
    // What is left of `start` ends here, and with it our own copies of the pipe's writing end.
    let child = tokio::process::Command::from(start).spawn()?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
    Ok((child, Box::pin(output)))
}

fn exit_code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

/// A process group that is killed when this is dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Nothing to do about a failure: there is nobody left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
