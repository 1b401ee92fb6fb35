//! Processes of this machine with separate standard streams.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use super::{Group, Host, process};
use crate::executor::{Command, PipedProcess};

/// Starts a command outside of the host's sandbox.
pub(in crate::executor) async fn spawn(host: &Host, command: &Command) -> io::Result<PipedProcess> {
    start(host, command, &mut Group::default()).await
}

/// Starts a command as it is, in a control group.
pub(super) async fn start(
    host: &Host,
    command: &Command,
    group: &mut Group,
) -> io::Result<PipedProcess> {
    let (stdin_reader, stdin) = io::pipe()?;
    let (stdout, stdout_writer) = io::pipe()?;
    let (stderr, stderr_writer) = io::pipe()?;
    process::enlarge(&stdout);
    let prepare = |program: &std::path::Path| {
        let mut start = process::prepared(program, command);
        start.stdout(stdout_writer).stderr(stderr_writer);
        start
    };
    #[cfg(target_os = "linux")]
    let supervisor = host.supervisor.as_ref();
    #[cfg(not(target_os = "linux"))]
    let supervisor: Option<&crate::supervisor::Supervisor> = {
        let _ = host;
        None
    };
    let (exit, tree) = match supervisor {
        #[cfg(target_os = "linux")]
        Some(supervisor) => {
            let start = prepare(&supervisor.program);
            super::supervised::run(start, command, Some(stdin_reader.into()), group).await?
        }
        _ => {
            let mut start = prepare(&command.program);
            start.args(&command.arguments).stdin(stdin_reader);
            process::run(start, group)?
        }
    };
    Ok(PipedProcess {
        stdin: Box::pin(pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?),
        stdout: Box::pin(pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?),
        stderr: Box::pin(pipe::Receiver::from_owned_fd(OwnedFd::from(stderr))?),
        exit,
        tree,
    })
}
