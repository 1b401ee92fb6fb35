//! The tool `write`: creates a file or replaces its whole content.

use std::path::Path;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{CancelToken, Effects};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::call;
use crate::change::{FileChange, run_to_end, with_note};
use crate::executor::FileKind;
use crate::os_error;
use crate::toolset::{Builtin, STRICT};
use crate::workspace::{Workspace, check_abort};

/// The arguments of `write`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file, relative to the working directory or absolute
    path: String,
    /// The complete new content of the file
    content: String,
}

/// `write` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "write",
    active_by_default: true,
    needs_background: false,
    build: |workspace| Some(write(workspace)),
    effects,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(path) = call::text(arguments, "path") else { return Effects::unknown() };
    Effects::none().write(path, "path").summary(path, false)
}

/// Creates the tool `write`.
pub fn write(workspace: Arc<Workspace>) -> FnTool {
    let description = "Write a file. Creates the file and its parent directories, or replaces the whole content. To change part of a file, use edit.";
    FnTool::typed("write", description, move |arguments: Arguments, invocation| {
        let (workspace, cancel) = (Arc::clone(&workspace), invocation.cancel);
        run_to_end(async move { execute(&workspace, &arguments, &cancel).await })
    })
    .effects(effects)
    .prompt_snippet("Create files or replace their whole content")
    .prompt_guidelines([
        "Use write for new files and complete rewrites. Use edit for all other changes.",
    ])
    .constrained_sampling(STRICT)
}

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let path = workspace.resolve(&arguments.path);
    let parent = path.parent().unwrap_or(&path);
    check_abort(cancel)?;
    let created = workspace.executor().create_directory(parent).await;
    created.map_err(|error| os_error::on_path(&error, "mkdir", parent))?;
    let change = FileChange::begin(workspace, &path, &arguments.path, cancel).await?;
    let note = if change.is_of_seen_file() {
        change.compare(current(workspace, &path).await.as_deref())?
    } else {
        None
    };
    change.replace(arguments.content.as_bytes(), cancel).await?;
    Ok(with_note(format!("Successfully wrote to {}", arguments.path), note))
}

/// Returns the content of a path if it is a file.
async fn current(workspace: &Workspace, path: &Path) -> Option<Vec<u8>> {
    let stat = workspace.executor().stat(path).await.ok()?;
    if stat.kind != FileKind::File {
        return None;
    }
    workspace.executor().read(path, u64::MAX).await.ok()
}
