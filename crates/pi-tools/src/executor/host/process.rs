//! Processes of this machine in their own process group.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use pi_base::process::{self, Rights, Variables};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;

use super::Group as ControlGroup;
use crate::executor::{BaseEnvironment, BoxFuture, Command, Process, ProcessTree};

/// Starts a command in its own process group.
pub(super) fn spawn(command: &Command, group: &mut ControlGroup) -> io::Result<Process> {
    let mut start = prepared(&command.program, command);
    start.args(&command.arguments).stdin(Stdio::null());
    let output = merged_output(&mut start)?;
    let (exit, tree) = run(start, group)?;
    Ok(Process { output, exit, tree })
}

/// Starts a prepared command in its own process group.
pub(super) fn run(
    mut start: std::process::Command,
    control: &mut ControlGroup,
) -> io::Result<Running> {
    use std::os::unix::process::CommandExt;
    start.process_group(0);
    // Drops `start`, and with it our copies of the descriptors that the child writes to.
    let mut child = tokio::process::Command::from(start).spawn()?;
    control.add_later(child.id());
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let terminate = move || {
        if let Some(id) = id {
            // Fails if no process is left in the group.
            let _ = kill_process_group(id, Signal::TERM);
        }
    };
    let (send, receive) = tokio::sync::oneshot::channel();
    let waiting = tokio::spawn(async move {
        let _ = send.send(child.wait().await.map(exit_code));
    });
    let exit = async { receive.await.unwrap_or(Ok(None)) };
    let gone = async {
        let _ = waiting.await;
    };
    let tree = ProcessTree::new(Group(id), Box::pin(gone)).with_terminate(terminate);
    Ok((Box::pin(exit), tree))
}

/// A running process: its exit code and its processes.
pub(super) type Running = (BoxFuture<'static, io::Result<Option<i32>>>, ProcessTree);

/// Capacity of a pipe: four times the default, so that writer and reader wait less often for each
/// other. With a larger pipe, the data has left the CPU caches before it is read.
#[cfg(target_os = "linux")]
const PIPE: usize = 256 * 1024;

/// Enlarges a pipe that may carry much output.
pub(super) fn enlarge(pipe: &io::PipeReader) {
    // The system may refuse this to a user with many pipes.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// Sends standard output and standard error into one pipe, in the order of writing.
pub(super) fn merged_output(
    start: &mut std::process::Command,
) -> io::Result<std::pin::Pin<Box<dyn tokio::io::AsyncRead + Send>>> {
    let (output, input) = io::pipe()?;
    enlarge(&output);
    start.stdout(input.try_clone()?).stderr(input);
    Ok(Box::pin(pipe::Receiver::from_owned_fd(OwnedFd::from(output))?))
}

/// Returns a program with the working directory and the environment of `command`.
pub(super) fn prepared(program: &Path, command: &Command) -> std::process::Command {
    let variables = match command.base_environment {
        BaseEnvironment::Empty => Variables::Empty,
        BaseEnvironment::Executor => Variables::Inherited,
    };
    let mut start = process::command(program, Some(&command.cwd), variables, Rights::Judged);
    start.envs(&command.environment);
    start
}

fn exit_code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

/// A process group that is killed on drop.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Fails if no process is left in the group.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
