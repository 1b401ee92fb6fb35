//! The tool `write`: creates a file or replaces its whole content.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{CancelToken, Effects};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::{Builtin, STRICT};
use crate::call;
use crate::change::{FileChange, run_to_end, with_note};
use crate::executor::FileKind;
use crate::os_error;
use crate::seen::{Fingerprint, Fingerprinting};
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
    output_schema: None,
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
    let note = match change.seen() {
        Some(seen) => change.compare(current(workspace, &path, seen, cancel).await)?,
        None => None,
    };
    change.replace(arguments.content.as_bytes(), cancel).await?;
    Ok(with_note(format!("Successfully wrote to {}", arguments.path), note))
}

/// Returns the fingerprint of the content of a path, if it is a file. A file of another size than
/// the model saw is not read.
async fn current(
    workspace: &Workspace,
    path: &Path,
    seen: Fingerprint,
    cancel: &CancelToken,
) -> Option<Fingerprint> {
    let stat = workspace.executor().stat(path).await.ok()?;
    if stat.kind != FileKind::File {
        return None;
    }
    if stat.size != seen.size {
        return Some(Fingerprint::of_size(stat.size));
    }
    let mut file = workspace.executor().open(path).await.ok()?;
    let cancel = cancel.clone();
    let read = tokio::task::spawn_blocking(move || {
        let (mut parts, mut bytes) = (Fingerprinting::default(), vec![0; 64 * 1024]);
        while !cancel.is_cancelled() {
            match file.read(&mut bytes) {
                Ok(0) => break,
                Ok(length) => parts.add(bytes.get(..length)?),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(parts.finish())
    });
    read.await.ok().flatten()
}
