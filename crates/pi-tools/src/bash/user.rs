//! Commands of the user: the same process, told as it happens and without terminal controls.

use std::path::PathBuf;

use pi_agent::ToolError;
use pi_protocol::CancelToken;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::decode::Decoder;
use super::output::Output;
use super::report::CommandEnd;
use super::spill::Spill;
use super::{CHUNK, Progress, Run, start};
use crate::terminal_text::TerminalFilter;
use crate::workspace::Workspace;

/// What came of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandResult {
    /// What it printed; of a lot, the end.
    pub output: String,
    /// How it ended, where that is known.
    pub exit_code: Option<i32>,
    /// It was stopped.
    pub cancelled: bool,
    /// There was more output.
    pub truncated: bool,
    /// Where all of it is.
    pub full_output_path: Option<PathBuf>,
}

/// What the user is told: text without terminal controls.
#[derive(Debug, Default)]
pub(super) struct UserOutput {
    decoder: Decoder,
    plain: TerminalFilter,
    /// Nobody listening is no reason to stop.
    pub(super) chunks: Option<Sender<String>>,
}

impl UserOutput {
    /// The text of a piece.
    pub(super) fn text(&mut self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        self.decoder.push(bytes, |part| text.push_str(&self.plain.push(part)));
        text
    }
}

/// Runs a command of the user in the workspace's shell. What it prints goes to `chunks`, too.
pub async fn run_command(
    workspace: &Workspace,
    command: &str,
    cancel: &CancelToken,
    chunks: Sender<String>,
) -> Result<CommandResult, ToolError> {
    let started = Instant::now();
    let process = start(workspace, command).await?;
    let mut run = Run {
        pipe: process.output,
        chunk: Vec::with_capacity(CHUNK),
        bytes_read: 0,
        output: Output::default(),
        spill: Spill::new(workspace.bash()),
        cancel,
        progress: Progress::Text(Box::new(UserOutput {
            chunks: Some(chunks),
            ..UserOutput::default()
        })),
    };
    let end = Box::pin(run.until_end(process.exit, process.tree, started, None)).await;
    let (output, spilled) = (run.output.finish(), run.spill.finish());
    let cut = output.tail();
    let exit_code = match &end {
        CommandEnd::Exited(code) => *code,
        CommandEnd::Aborted | CommandEnd::TimedOut(_) => None,
        CommandEnd::Lost(reason) => {
            return Err(ToolError::new(format!(
                "The exit status of the command is unknown: {reason}"
            )));
        }
    };
    Ok(CommandResult {
        output: cut.content,
        exit_code,
        cancelled: end == CommandEnd::Aborted,
        truncated: cut.truncated,
        full_output_path: spilled.path,
    })
}
