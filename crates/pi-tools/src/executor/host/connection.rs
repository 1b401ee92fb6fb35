//! A program of this machine that leads somewhere else: one that is written to as well as read.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::{Host, process};
use crate::executor::{Command, ProcessTree};

/// A running program and the ends of its streams. It ends like any process, with its tree.
#[derive(Debug)]
pub(in crate::executor) struct Connection {
    /// Its standard input. Dropping it is the end of that.
    pub(in crate::executor) input: OwnedWriteHalf,
    /// Its standard output.
    pub(in crate::executor) output: OwnedReadHalf,
    /// Its standard error.
    pub(in crate::executor) messages: pipe::Receiver,
    /// Keeps it running.
    pub(in crate::executor) tree: ProcessTree,
}

/// Starts such a program. Input and output are one socket: a supervisor has no room for a fourth
/// stream, and needs none.
pub(in crate::executor) async fn connect(host: &Host, command: &Command) -> io::Result<Connection> {
    let (ours, theirs) = StdUnixStream::pair()?;
    let (messages, writer) = io::pipe()?;
    let prepare = |program: &std::path::Path| {
        let mut start = std::process::Command::new(program);
        start.stderr(writer);
        start
    };
    #[cfg(target_os = "linux")]
    let supervisor = host.supervisor.as_ref();
    #[cfg(not(target_os = "linux"))]
    let supervisor: Option<&crate::supervisor::Supervisor> = None;
    let (_exit, tree) = match supervisor {
        #[cfg(target_os = "linux")]
        Some(supervisor) => {
            let mut start = prepare(&supervisor.program);
            start.stdout(OwnedFd::from(theirs));
            let input = crate::supervisor::message::Input::Output;
            super::supervised::run(supervisor, start, command, input).await?
        }
        _ => {
            let mut start = prepare(&command.program);
            start.args(&command.arguments).stdin(Stdio::from(OwnedFd::from(theirs.try_clone()?)));
            start.stdout(OwnedFd::from(theirs));
            process::run(start, command)?
        }
    };
    ours.set_nonblocking(true)?;
    let (output, input) = UnixStream::from_std(ours)?.into_split();
    let messages = pipe::Receiver::from_owned_fd(OwnedFd::from(messages))?;
    Ok(Connection { input, output, messages, tree })
}
