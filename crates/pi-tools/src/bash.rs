//! The tool `bash`: runs a command, and kills the processes that it leaves behind.
//!
//! The text for the model is the raw output, including terminal controls. A program that shows it
//! on a terminal must remove them first.

mod detached;
mod left;
mod report;
mod shell;
mod spill;
mod user;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{Budget, FnTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, Effects};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep_until, timeout};

use crate::builtin::{Builtin, STRICT};
use crate::call;
use crate::executor::{Aftermath, ProcessTree};
use crate::output::{CHUNK, Output, QUIET_PERIOD};
use crate::truncate::{MAX_BYTES, MAX_LINES, format_size};
use crate::workspace::Workspace;

use report::{CommandEnd, Report};
use shell::start;
use spill::{Spill, Spilled};
use user::UserOutput;
pub use user::{CommandResult, run_command};

/// The longest timeout in seconds: the range of the timers of the TypeScript pi.
const MAX_TIMEOUT: f64 = 2_147_483.647;
/// Minimum time between two progress updates.
const UPDATE: Duration = Duration::from_millis(100);
/// How long processes that were left behind may go on writing after the command has ended.
const MAX_TRAILING: Duration = Duration::from_secs(2);
/// How long to wait for killed processes. Only a process that hangs in the kernel takes longer.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// The arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Shell command to run
    command: String,
    /// Timeout in seconds; the command is killed when it expires
    timeout: Option<f64>,
}

/// The arguments of `bash` in workspaces with background processes.
#[derive(Debug, Deserialize, JsonSchema)]
struct BackgroundArguments {
    #[serde(flatten)]
    arguments: Arguments,
    /// Start the command in the background and return after one second. For servers and watchers. Cannot be combined with timeout
    background: Option<bool>,
}

/// `bash` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "bash",
    active_by_default: true,
    needs_background: false,
    build: |workspace| Some(bash(workspace)),
    effects,
    output_schema: Some(output_schema),
};

/// The end of a command and its output.
fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "output": { "type": "string", "description": "stdout and stderr, possibly shortened" },
            "truncated": { "type": "boolean" },
            "full_output_path": { "type": "string", "description": "File with all output" },
            "exit_code": { "type": ["number", "null"], "description": "null after a signal" },
            "wall_time_seconds": { "type": "number" },
        },
        "required": ["output", "truncated", "exit_code", "wall_time_seconds"],
    })
}

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(command) = call::text(arguments, "command") else { return Effects::unknown() };
    // A timeout has no influence on the effects.
    let complete = call::has_only(arguments, &["command", "timeout"]);
    Effects::none().run(command).summary(command, complete)
}

/// Creates the tool `bash`.
pub fn bash(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Run a shell command in the working directory. Returns stdout and stderr, truncated to the last {MAX_LINES} lines or {}; if truncated, the result names a file with the full output. Processes that the command leaves running are killed when it ends.",
        format_size(MAX_BYTES)
    );
    let tool = if let Some(background) = workspace.background().cloned() {
        FnTool::typed("bash", description, move |arguments: BackgroundArguments, invocation| {
            let (workspace, background) = (Arc::clone(&workspace), Arc::clone(&background));
            let BackgroundArguments { arguments, background: detach } = arguments;
            Box::pin(async move {
                if detach == Some(true) {
                    detached::execute(&workspace, &background, &arguments, &invocation).await
                } else {
                    execute(&workspace, &arguments, &invocation).await
                }
            })
        })
    } else {
        FnTool::typed("bash", description, move |arguments: Arguments, invocation| {
            let workspace = Arc::clone(&workspace);
            // The buffers of a running command are not small.
            Box::pin(async move { execute(&workspace, &arguments, &invocation).await })
        })
    };
    tool.effects(effects)
        .prompt_snippet("Run shell commands")
        .prompt_guidelines([
            "Use read, edit and write for files. Use bash for everything else: builds, tests, git and other programs.",
            "Commands in bash have variables that name the current model and session: PI_PROVIDER, PI_MODEL, PI_REASONING_LEVEL, PI_SESSION_ID, PI_SESSION_FILE.",
        ])
        .constrained_sampling(STRICT)
}

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    invocation: &Invocation,
) -> Result<ToolOutput, ToolError> {
    let asked = check_timeout(arguments.timeout)?.or(workspace.bash().default_timeout);
    let limit = match (asked, workspace.bash().max_timeout) {
        (Some(asked), Some(max)) => Some(asked.min(max)),
        (asked, max) => asked.or(max),
    };
    let started = Instant::now();
    let process = tokio::select! {
        biased;
        () = invocation.cancel.cancelled() => return Err(ToolError::new("Command aborted")),
        process = start(workspace, &arguments.command) => process?,
    };
    invocation.updates.send(ToolOutput::default());

    let mut run = Run {
        pipe: process.output,
        chunk: Vec::with_capacity(CHUNK),
        bytes_read: 0,
        output: Output::default(),
        spill: Spill::new(workspace.bash()),
        cancel: &invocation.cancel,
        progress: Progress::Updates(&invocation.updates, &invocation.budget),
        can_keep: workspace.background().is_some(),
    };
    let (end, mut aftermath) = run.until_end(process.exit, process.tree, started, limit).await;
    let (output, spilled) = (run.output.finish(), run.spill.finish());
    let is_longest = limit.is_some() && limit == workspace.bash().max_timeout;
    if is_longest && matches!(end, CommandEnd::TimedOut(_)) {
        aftermath.notes.push("No command may run longer.".to_owned());
    }
    Report { output: &output, spilled, end, elapsed: started.elapsed(), aftermath }.into_result()
}

fn check_timeout(seconds: Option<f64>) -> Result<Option<Duration>, ToolError> {
    let Some(seconds) = seconds else { return Ok(None) };
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err(ToolError::new("Invalid timeout: must be a finite number of seconds"));
    }
    if seconds > MAX_TIMEOUT {
        let text = format!("Invalid timeout: maximum is {MAX_TIMEOUT} seconds");
        return Err(ToolError::new(text));
    }
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// A running command.
struct Run<'a> {
    pipe: Pin<Box<dyn AsyncRead + Send>>,
    chunk: Vec<u8>,
    /// Bytes read so far.
    bytes_read: usize,
    output: Output,
    spill: Spill,
    cancel: &'a CancelToken,
    progress: Progress<'a>,
    /// The model can start background processes.
    can_keep: bool,
}

/// Receivers of output while a command runs.
enum Progress<'a> {
    /// The agent loop: the current output, at intervals, and its size at once.
    Updates(&'a Updates, &'a Budget),
    /// The user: all output, as text.
    Text(Box<UserOutput>),
}

impl Run<'_> {
    /// Reads output until the command and all its processes have ended, and examines what they left.
    async fn until_end(
        &mut self,
        exit: impl Future<Output = std::io::Result<Option<i32>>>,
        tree: ProcessTree,
        started: Instant,
        limit: Option<Duration>,
    ) -> (CommandEnd, Aftermath) {
        let end = self.until_silence(exit, started, limit).await;
        // A process that does not die in time is not awaited, but it is killed.
        if end == CommandEnd::Aborted {
            self.report_abort(started);
        }
        let left = match end {
            CommandEnd::Exited(_) | CommandEnd::Lost(_) => tree.running(),
            CommandEnd::Aborted | CommandEnd::TimedOut(_) => Vec::new(),
        };
        let mut aftermath = timeout(KILL_WAIT, tree.kill()).await.unwrap_or_else(|_| Aftermath {
            notes: vec![
                "Processes of the command do not end; their files are examined later.".to_owned(),
            ],
            is_dangerous: false,
        });
        aftermath.notes.extend(left::note(&left, self.can_keep));
        // No process can write any more, so this ends at once.
        let _ = timeout(QUIET_PERIOD, async { while self.read_chunk().await {} }).await;
        (end, aftermath)
    }

    /// Reads output until the command has ended and no more output is expected.
    async fn until_silence(
        &mut self,
        exit: impl Future<Output = std::io::Result<Option<i32>>>,
        started: Instant,
        limit: Option<Duration>,
    ) -> CommandEnd {
        let cancelled = self.cancel.cancelled();
        tokio::pin!(exit, cancelled);
        let mut exited: Option<(CommandEnd, Instant)> = None;
        let (mut open, mut unreported) = (true, false);
        let mut update = started;
        let mut silent = started;
        loop {
            let timeout = limit.map(|limit| started + limit);
            tokio::select! {
                biased;
                () = &mut cancelled => return CommandEnd::Aborted,
                () = sleep_until(timeout.unwrap_or(started)), if timeout.is_some() => {
                    return CommandEnd::TimedOut(limit.unwrap_or_default());
                }
                () = sleep_until(update), if unreported => {
                    self.report_progress();
                    (update, unreported) = (Instant::now() + UPDATE, false);
                }
                code = &mut exit, if exited.is_none() => {
                    silent = Instant::now() + QUIET_PERIOD;
                    let end = code.map_or_else(|error| CommandEnd::Lost(error.to_string()), CommandEnd::Exited);
                    exited = Some((end, Instant::now() + MAX_TRAILING));
                }
                more = self.read_chunk(), if open => {
                    (open, unreported) = (more, unreported || more);
                    silent = Instant::now() + QUIET_PERIOD;
                    // The run would cancel the command, but only after reading its progress.
                    if self.exceeds_limit() {
                        return CommandEnd::Aborted;
                    }
                }
                () = sleep_until(silent), if open && exited.is_some() => open = false,
            }
            match exited {
                Some((end, at_last)) if !open || Instant::now() >= at_last => return end,
                _ => {}
            }
        }
    }

    /// Reads one chunk of output; false at the end. A chunk is never lost when the future is
    /// dropped.
    async fn read_chunk(&mut self) -> bool {
        self.chunk.clear();
        // Reads up to the next multiple of the chunk size: file systems prefer aligned writes.
        let room = CHUNK - self.bytes_read % CHUNK;
        let read = (&mut self.pipe).take(room as u64).read_buf(&mut self.chunk).await;
        // An unreadable pipe counts as closed.
        if !matches!(read, Ok(1..)) {
            return false;
        }
        self.bytes_read += self.chunk.len();
        let Progress::Text(user) = &mut self.progress else {
            self.output.push(&self.chunk);
            self.spill.push(&self.chunk, self.output.exceeds());
            if let Progress::Updates(_, budget) = self.progress {
                budget.add_output(self.chunk.len());
            }
            return true;
        };
        let text = user.text(&self.chunk);
        self.output.push(text.as_bytes());
        self.spill.push(text.as_bytes(), self.output.exceeds());
        if !text.is_empty()
            && let Some(chunks) = &user.chunks
            && chunks.send(text).await.is_err()
        {
            user.chunks = None;
        }
        true
    }

    /// Returns true if the output of the run exceeds its limit.
    fn exceeds_limit(&self) -> bool {
        let Progress::Updates(_, budget) = self.progress else { return false };
        budget.output_exceeded().is_some()
    }

    /// Sends the result of an aborted command to a caller that does not wait until all processes
    /// are gone.
    fn report_abort(&self, started: Instant) {
        let Progress::Updates(updates, _) = self.progress else { return };
        let spilled = Spilled { path: self.spill.path().map(Path::to_owned), incomplete: None };
        let elapsed = started.elapsed();
        let (end, aftermath) = (CommandEnd::Aborted, Aftermath::default());
        let report = Report { output: &self.output, spilled, end, elapsed, aftermath };
        if let Err(error) = report.into_result() {
            updates.send(ToolOutput::text(error.to_string()));
        }
    }

    fn report_progress(&self) {
        let Progress::Updates(updates, _) = self.progress else { return };
        let cut = self.output.tail();
        let details = report::details(&cut, self.spill.path());
        updates.send(ToolOutput::text(cut.content).with_details(details));
    }
}
