//! Running the command of a hook or guardrail: JSON in, text and exit code out, within limits of
//! time and size. Nothing that the command started outlives it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_protocol::CancelToken;
use pi_tools::supervisor::Supervisor;
use pi_tools::{Command, Executor as _, Host};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::Environment;
use crate::guard::Guard;
use crate::tap::{CommandFailure, FinishedCommand, MAX_HOOK_OUTPUT, Tap};

/// The most bytes of stderr that are kept.
const MAX_ERROR: usize = 64 * 1024;

/// Starts the commands of hooks and guardrails.
#[derive(Debug, Clone)]
pub(crate) struct CommandRunner {
    host: Host,
    shell: PathBuf,
    cwd: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    tap: Option<Arc<dyn Tap>>,
    /// Decides about commands outside of a session.
    guard: Option<Arc<Guard>>,
}

/// A command of a hook or guardrail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checking<'a> {
    /// Command for the shell.
    pub(super) command: &'a str,
    /// JSON on stdin.
    pub(super) input: &'a str,
    /// Variables besides those of pi.
    pub(super) variables: &'a [(&'a str, String)],
    pub(super) timeout: Duration,
    /// The user lets the command run without the sandbox.
    pub(super) is_lifted: bool,
    /// Guard of the session, if there is one.
    pub(super) guard: Option<&'a Arc<Guard>>,
}

/// The way in which a command ended.
enum End {
    Exited(Option<i32>),
    TimedOut,
    TooMuchOutput,
    Aborted,
}

impl CommandRunner {
    /// Creates a runner for the project directory of an environment.
    pub(crate) fn new(environment: &Environment, supervisor: Option<&Supervisor>) -> Self {
        let bash = Path::new("/bin/bash");
        let shell = if bash.exists() { bash } else { Path::new("/bin/sh") };
        let variables = environment.variables.iter();
        let mut variables: BTreeMap<OsString, OsString> =
            variables.map(|(name, value)| (name.into(), value.into())).collect();
        for name in ["PI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"] {
            variables.insert(name.into(), environment.cwd.clone().into());
        }
        Self {
            host: Host::default().with_supervisor(supervisor.cloned()),
            shell: shell.to_owned(),
            cwd: environment.cwd.clone(),
            variables,
            tap: None,
            guard: None,
        }
    }

    /// Lets a tap see the commands.
    pub(crate) fn with_tap(mut self, tap: Option<&Arc<dyn Tap>>) -> Self {
        self.tap = tap.cloned();
        self
    }

    /// Lets a guard decide about commands outside of a session.
    pub(crate) fn with_guard(mut self, guard: Arc<Guard>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Returns the project directory.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Runs a command with this text on stdin. Ends it, and everything it started, when it exits,
    /// takes too long, writes too much, or `cancel` is cancelled.
    pub(super) async fn run(
        &self,
        checking: Checking<'_>,
        cancel: &CancelToken,
    ) -> Result<FinishedCommand, CommandFailure> {
        let running = self.execute(checking, cancel);
        match &self.tap {
            Some(tap) => tap.run_hook(checking.command, checking.input, Box::pin(running)).await,
            None => running.await,
        }
    }

    async fn execute(
        &self,
        checking: Checking<'_>,
        cancel: &CancelToken,
    ) -> Result<FinishedCommand, CommandFailure> {
        let Checking { command, input, variables, timeout, is_lifted, guard } = checking;
        let guard = guard.or(self.guard.as_ref());
        let host = guard.map(|guard| guard.settings_host(command, is_lifted)).transpose();
        let host = host.map_err(CommandFailure::Start)?.flatten();
        let mut base = self.variables.clone();
        let mut cwd = self.cwd.as_path();
        if let Some(guard) = guard.filter(|guard| host.is_none() && guard.confined().is_some()) {
            // Programs load files of their working directory, and find others by variables: outside
            // of the sandbox, neither may lead to files that the agent can write.
            cwd = Path::new("/");
            guard.remove_writable(&mut base);
        }
        let given = variables.iter().map(|(name, value)| (*name, value.as_str()));
        let command = Command::new(&self.shell, cwd)
            .arguments(["-c", command])
            .environment(base)
            .environment(given);
        let started = host.as_ref().unwrap_or(&self.host).spawn_piped(&command).await;
        let mut process = started.map_err(|error| CommandFailure::Start(error.to_string()))?;
        let overflow = CancelToken::new();
        let writing = async {
            // A command need not read its input.
            let _ = process.stdin.write_all(input.as_bytes()).await;
            drop(process.stdin);
        };
        let reading = read(process.stdout, MAX_HOOK_OUTPUT, Some(&overflow));
        let reading_errors = read(process.stderr, MAX_ERROR, None);
        let (exit, tree) = (process.exit, process.tree);
        let ending = async {
            let end = tokio::select! {
                biased;
                () = cancel.cancelled() => End::Aborted,
                () = overflow.cancelled() => End::TooMuchOutput,
                code = exit => End::Exited(code.ok().flatten()),
                () = tokio::time::sleep(timeout) => End::TimedOut,
            };
            // Processes in the background would keep the pipes open.
            tree.kill().await;
            end
        };
        let ((), stdout, stderr, end) = tokio::join!(writing, reading, reading_errors, ending);
        match end {
            _ if overflow.is_cancelled() => Err(CommandFailure::TooMuchOutput),
            End::TooMuchOutput => Err(CommandFailure::TooMuchOutput),
            End::Exited(Some(code)) => Ok(FinishedCommand { code, stdout, stderr }),
            End::Exited(None) => Err(CommandFailure::Lost),
            End::TimedOut => Err(CommandFailure::TimedOut(timeout)),
            End::Aborted => Err(CommandFailure::Aborted),
        }
    }
}

/// Reads to the end and keeps the first bytes. Cancels `overflow` if there are more.
async fn read(
    mut from: impl AsyncRead + Unpin,
    limit: usize,
    overflow: Option<&CancelToken>,
) -> String {
    let mut kept = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    // An error is the end: the process is gone.
    while let Ok(count) = from.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        let room = limit.saturating_sub(kept.len());
        kept.extend(chunk.iter().take(count.min(room)));
        if count > room
            && let Some(overflow) = overflow
        {
            overflow.cancel();
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
