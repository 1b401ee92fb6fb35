//! The shell of commands.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use pi_agent::ToolError;

use crate::executor::{Command, FileKind, Process};
use crate::os_error;
use crate::workspace::Workspace;

/// Starts a command of the model in the shell.
pub(crate) async fn start(workspace: &Workspace, command: &str) -> Result<Process, ToolError> {
    start_in(workspace, command, workspace.environment()).await
}

/// Starts a command in the shell, with these variables.
pub(crate) async fn start_in(
    workspace: &Workspace,
    command: &str,
    environment: BTreeMap<OsString, OsString>,
) -> Result<Process, ToolError> {
    let command = process(workspace, command, environment).await?;
    let started = workspace.executor().spawn(&command).await;
    started.map_err(|error| spawn_error(&error, &command.program))
}

/// Returns the process to start for a command.
async fn process(
    workspace: &Workspace,
    command: &str,
    environment: BTreeMap<OsString, OsString>,
) -> Result<Command, ToolError> {
    if command.contains('\0') {
        return Err(ToolError::new(
            "The command was not run: it contains a NUL character, which command lines cannot \
             have. Use printf '\\0' to produce one.",
        ));
    }
    let settings = workspace.bash();
    let program = find(workspace).await?;
    if let Err(error) = workspace.executor().stat(workspace.cwd()).await
        && error.kind() == io::ErrorKind::NotFound
    {
        return Err(ToolError::new(format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            workspace.cwd().display()
        )));
    }
    let text = match &settings.command_prefix {
        Some(prefix) => format!("{prefix}\n{command}"),
        None => command.to_owned(),
    };
    let command = Command::new(program, workspace.cwd()).arguments(["-c".to_owned(), text]);
    Ok(command.environment(environment).base_environment(settings.base_environment))
}

/// Returns the shell of the settings, the first `bash`, or `sh`.
async fn find(workspace: &Workspace) -> Result<PathBuf, ToolError> {
    if let Some(shell) = &workspace.bash().shell {
        if workspace.executor().stat(shell).await.is_ok() {
            return Ok(shell.clone());
        }
        return Err(ToolError::new(format!("Custom shell path not found: {}", shell.display())));
    }
    let usual = PathBuf::from("/bin/bash");
    if is_file(workspace, &usual).await {
        return Ok(usual);
    }
    let path = workspace.bash().environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    for directory in std::env::split_paths(&path).filter(|directory| directory.is_absolute()) {
        let shell = directory.join("bash");
        if is_file(workspace, &shell).await {
            return Ok(shell);
        }
    }
    Ok(PathBuf::from("/bin/sh"))
}

async fn is_file(workspace: &Workspace, path: &Path) -> bool {
    workspace.executor().stat(path).await.is_ok_and(|stat| stat.kind == FileKind::File)
}

/// Describes why a command could not start.
fn spawn_error(error: &io::Error, program: &Path) -> ToolError {
    let program = program.display();
    match os_error::code(error) {
        Some((code @ ("ENOENT" | "EACCES"), _)) => {
            ToolError::new(format!("spawn {program} {code}"))
        }
        Some((code, _)) => ToolError::new(format!("spawn {code}")),
        None => ToolError::new(format!("spawn {program}: {error}")),
    }
}
