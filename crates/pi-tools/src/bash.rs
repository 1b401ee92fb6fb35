//! `bash`: runs a command, and ends whatever is left of it.
//!
//! The text for the model is what the command wrote, terminal controls included. Whoever shows it
//! on a terminal takes those out first.

mod decode;
mod detached;
mod output;
mod report;
mod settings;
mod shell;
mod spill;
mod user;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pi_agent::{FnTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, Effects};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep_until, timeout};

use crate::call;
use crate::executor::ProcessTree;
use crate::toolset::{Builtin, STRICT};
use crate::truncate::{MAX_BYTES, MAX_LINES, format_size};
use crate::workspace::Workspace;

pub(crate) use output::Output;
use report::{End, Report};
pub use settings::BashSettings;
pub(crate) use shell::start;
use spill::{Spill, Spilled};
use user::Teller;
pub use user::{CommandResult, run_command};

/// The longest timeout: what the timers of the TypeScript pi can count, in seconds.
const MAX_TIMEOUT: f64 = 2_147_483.647;
/// Between two reports of progress.
const UPDATE: Duration = Duration::from_millis(100);
/// How long the output may be silent after the command has ended while something keeps it open.
pub(crate) const SILENCE: Duration = Duration::from_millis(100);
/// How long what was left behind may go on writing after the command has ended.
const AFTERMATH: Duration = Duration::from_secs(2);
/// How long is waited for what was killed. Only a process that hangs in the kernel takes longer.
const DEATH: Duration = Duration::from_secs(5);
/// Bytes read at once. More would leave the nearer caches before it is written to a file.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Shell command to run
    command: String,
    /// Timeout in seconds; the command is killed when it expires
    timeout: Option<f64>,
}

/// The arguments of `bash` where there is a place for background processes.
#[derive(Debug, Deserialize, JsonSchema)]
struct ArgumentsOrBackground {
    #[serde(flatten)]
    arguments: Arguments,
    /// Start the command in the background and return after one second. For servers and watchers. Cannot be combined with timeout
    background: Option<bool>,
}

/// `bash` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "bash",
    active_by_default: true,
    build: |workspace| Some(bash(workspace)),
    effects,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(command) = call::text(arguments, "command") else { return Effects::unknown() };
    // How long the command may take says nothing about what it does.
    let complete = call::has_only(arguments, &["command", "timeout"]);
    Effects::none().run(command).summary(command, complete)
}

/// The tool `bash`.
pub fn bash(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Run a shell command in the working directory. Returns stdout and stderr, truncated to the last {MAX_LINES} lines or {}; if truncated, the result names a file with the full output. Processes that the command leaves running are killed when it ends.",
        format_size(MAX_BYTES)
    );
    let tool = if let Some(background) = workspace.background().cloned() {
        FnTool::typed("bash", description, move |arguments: ArgumentsOrBackground, invocation| {
            let (workspace, background) = (Arc::clone(&workspace), Arc::clone(&background));
            let ArgumentsOrBackground { arguments, background: detach } = arguments;
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
        .prompt_guidelines(["Use read, edit and write for files. Use bash for everything else: builds, tests, git and other programs."])
        .constrained_sampling(STRICT)
}

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    invocation: &Invocation,
) -> Result<ToolOutput, ToolError> {
    let limit = check_timeout(arguments.timeout)?.or(workspace.bash().default_timeout);
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
        taken_in: 0,
        output: Output::default(),
        spill: Spill::new(workspace.bash()),
        cancel: &invocation.cancel,
        progress: Progress::Updates(&invocation.updates),
    };
    let end = run.until_end(process.exit, process.tree, started, limit).await;
    let (output, spilled) = (run.output.finish(), run.spill.finish());
    Report { output: &output, spilled, end, elapsed: started.elapsed() }.into_result()
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

/// A command while it runs.
struct Run<'a> {
    pipe: Pin<Box<dyn AsyncRead + Send>>,
    chunk: Vec<u8>,
    /// Bytes so far.
    taken_in: usize,
    output: Output,
    spill: Spill,
    cancel: &'a CancelToken,
    progress: Progress<'a>,
}

/// Who is told while a command runs.
enum Progress<'a> {
    /// A model's program: what there is so far, now and then.
    Updates(&'a Updates),
    /// The user: every piece, as text.
    Text(Box<Teller>),
}

impl Run<'_> {
    /// Takes in what is written until the command and all it has started are gone.
    async fn until_end(
        &mut self,
        exit: impl Future<Output = std::io::Result<Option<i32>>>,
        tree: ProcessTree,
        started: Instant,
        limit: Option<Duration>,
    ) -> End {
        let end = self.until_silence(exit, started, limit).await;
        // What does not die in time is not waited for; it is killed nevertheless.
        if end == End::Aborted {
            self.last_words(started);
        }
        let _ = timeout(DEATH, tree.kill()).await;
        // Nobody can write any more, so this ends at once.
        let _ = timeout(SILENCE, async { while self.take_in().await {} }).await;
        end
    }

    /// Takes in what is written until the command has ended and nothing more is to be expected.
    async fn until_silence(
        &mut self,
        exit: impl Future<Output = std::io::Result<Option<i32>>>,
        started: Instant,
        limit: Option<Duration>,
    ) -> End {
        let cancelled = self.cancel.cancelled();
        tokio::pin!(exit, cancelled);
        let mut exited: Option<(End, Instant)> = None;
        let (mut open, mut news) = (true, false);
        let mut update = started;
        let mut silent = started;
        loop {
            let timeout = limit.map(|limit| started + limit);
            tokio::select! {
                biased;
                () = &mut cancelled => return End::Aborted,
                () = sleep_until(timeout.unwrap_or(started)), if timeout.is_some() => {
                    return End::TimedOut(limit.unwrap_or_default());
                }
                () = sleep_until(update), if news => {
                    self.report_progress();
                    (update, news) = (Instant::now() + UPDATE, false);
                }
                code = &mut exit, if exited.is_none() => {
                    silent = Instant::now() + SILENCE;
                    let end = code.map_or_else(|error| End::Lost(error.to_string()), End::Exited);
                    exited = Some((end, Instant::now() + AFTERMATH));
                }
                more = self.take_in(), if open => {
                    (open, news) = (more, news || more);
                    silent = Instant::now() + SILENCE;
                }
                () = sleep_until(silent), if open && exited.is_some() => open = false,
            }
            match exited {
                Some((end, at_last)) if !open || Instant::now() >= at_last => return end,
                _ => {}
            }
        }
    }

    /// Takes in one piece of output; false at its end. A piece is never lost half way.
    async fn take_in(&mut self) -> bool {
        self.chunk.clear();
        // Up to the end of a chunk of the whole: file systems take aligned pieces more easily.
        let room = CHUNK - self.taken_in % CHUNK;
        let read = (&mut self.pipe).take(room as u64).read_buf(&mut self.chunk).await;
        // A pipe that cannot be read is as good as closed.
        if !matches!(read, Ok(1..)) {
            return false;
        }
        self.taken_in += self.chunk.len();
        let Progress::Text(teller) = &mut self.progress else {
            self.output.push(&self.chunk);
            self.spill.push(&self.chunk, self.output.exceeds());
            return true;
        };
        let text = teller.text(&self.chunk);
        self.output.push(text.as_bytes());
        self.spill.push(text.as_bytes(), self.output.exceeds());
        if !text.is_empty()
            && let Some(chunks) = &teller.chunks
            && chunks.send(text).await.is_err()
        {
            teller.chunks = None;
        }
        true
    }

    /// What the result will be, for whoever does not wait until everything is gone.
    fn last_words(&self, started: Instant) {
        let Progress::Updates(updates) = self.progress else { return };
        let spilled = Spilled { path: self.spill.path().map(Path::to_owned), incomplete: None };
        let elapsed = started.elapsed();
        let report = Report { output: &self.output, spilled, end: End::Aborted, elapsed };
        if let Err(error) = report.into_result() {
            updates.send(ToolOutput::text(error.to_string()));
        }
    }

    fn report_progress(&self) {
        let Progress::Updates(updates) = self.progress else { return };
        let cut = self.output.tail();
        let details = report::details(&cut, self.spill.path());
        updates.send(ToolOutput::text(cut.content).with_details(details));
    }
}
