//! `bash` with `background: true`: starts a background process and returns.
//!
//! A command that fails at once is a failed call, not a background process: a model should learn
//! immediately that the port of its server is taken.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::{Invocation, ToolError, ToolOutput};

use super::{Arguments, start};
use crate::background::{BackgroundId, BackgroundProcesses, BackgroundState};
use crate::workspace::Workspace;

/// How long a command is watched before the call returns.
const MOMENT: Duration = Duration::from_secs(1);

/// Starts a command and returns its state and output after the first moment.
pub(super) async fn execute(
    workspace: &Workspace,
    background: &Arc<BackgroundProcesses>,
    arguments: &Arguments,
    invocation: &Invocation,
) -> Result<ToolOutput, ToolError> {
    if arguments.timeout.is_some() {
        return Err(ToolError::new(
            "timeout cannot be used with background: true. Use the process tool to stop the command.",
        ));
    }
    let aborted = || ToolError::new("Command aborted");
    let id = tokio::select! {
        biased;
        () = invocation.cancel.cancelled() => return Err(aborted()),
        started = background.start(workspace, &arguments.command) => started?,
    };
    tokio::select! {
        biased;
        () = invocation.cancel.cancelled() => {
            background.remove(id).await;
            return Err(aborted());
        }
        () = background.wait(id, MOMENT) => {}
    }
    let (Some(info), Some(output)) = (background.info(id), background.output(id)) else {
        return Err(aborted());
    };
    let so_far = match output.content.trim_end_matches('\n') {
        "" => String::new(),
        content => format!("{content}\n\n"),
    };
    let details = Some(info.data());
    let done = match info.state {
        BackgroundState::Running | BackgroundState::Stopped => format!(
            "{so_far}[Process {id} {}. Use the process tool to read its output or to stop it.]",
            info.state.describe()
        ),
        // The command may have left processes running on purpose, so it stays in the list.
        BackgroundState::Exited(Some(0)) => format!(
            "{so_far}[Process {id} exited with code 0. Processes that it left running continue. Use the process tool with action stop to end them.]"
        ),
        BackgroundState::Exited(code) => {
            background.remove(id).await;
            let status = code.map_or_else(
                || "Command terminated without an exit code".to_owned(),
                |code| format!("Command exited with code {code}"),
            );
            let failed = ToolOutput::text(format!("{so_far}{status}"));
            return Ok(failed.with_is_error(true));
        }
    };
    Ok(ToolOutput::text(done).with_details(details))
}

impl BackgroundProcesses {
    /// Starts a command in the shell of the workspace.
    pub async fn start(
        &self,
        workspace: &Workspace,
        command: &str,
    ) -> Result<BackgroundId, ToolError> {
        Ok(self.add(command, start(workspace, command).await?))
    }
}
