//! Commands of the user: the same process, with live output and without terminal controls.

use std::path::PathBuf;

use pi_agent::ToolError;
use pi_protocol::CancelToken;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::report::{CommandEnd, with_notes};
use super::shell::start_in;
use super::spill::Spill;
use super::{Progress, Run};
use crate::output::{CHUNK, Decoder, Output};
use crate::terminal_text::TerminalFilter;
use crate::workspace::Workspace;

/// The result of a command of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandResult {
    /// Output of the command; only the end if it is long.
    pub output: String,
    /// Exit code, if it is known.
    pub exit_code: Option<i32>,
    /// The command was canceled.
    pub cancelled: bool,
    /// The output is not complete.
    pub truncated: bool,
    /// File with the full output.
    pub full_output_path: Option<PathBuf>,
}

/// Output for the user: text without terminal controls.
#[derive(Debug, Default)]
pub(super) struct UserOutput {
    decoder: Decoder,
    plain: TerminalFilter,
    /// Receiver of the output. The command continues if the receiver is dropped.
    pub(super) chunks: Option<Sender<String>>,
}

impl UserOutput {
    /// Converts a chunk to text.
    pub(super) fn text(&mut self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        self.decoder.push(bytes, |part| text.push_str(&self.plain.push(part)));
        text
    }
}

/// Runs a command of the user in the shell of the workspace. The output is also sent to `chunks`.
/// The variables of [`Workspace::set_variables`] are for commands of the model and not set.
pub async fn run_command(
    workspace: &Workspace,
    command: &str,
    cancel: &CancelToken,
    chunks: Sender<String>,
) -> Result<CommandResult, ToolError> {
    let started = Instant::now();
    let process = start_in(workspace, command, workspace.bash().environment.clone()).await?;
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
        can_keep: false,
    };
    let (end, aftermath) = Box::pin(run.until_end(process.exit, process.tree, started, None)).await;
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
        output: with_notes(cut.content, &aftermath.notes),
        exit_code,
        cancelled: end == CommandEnd::Aborted,
        truncated: cut.truncated,
        full_output_path: spilled.path,
    })
}
