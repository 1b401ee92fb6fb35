//! The tool `ls`: lists a directory.

use std::path::Path;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{CancelToken, Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::Builtin;
use crate::call;
use crate::collation::SortKey;
use crate::executor::{DirectoryEntry, FileKind};
use crate::listing::{Limit, Listing};
use crate::os_error;
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::not_found;
use crate::workspace::{Workspace, aborted};

const DEFAULT_LIMIT: f64 = 500.0;

/// The arguments of `ls`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Directory to list (default: the working directory)
    path: Option<String>,
    /// Maximum number of entries to show (default: 500)
    limit: Option<f64>,
}

/// `ls` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "ls",
    active_by_default: false,
    needs_background: false,
    build: |workspace| Some(ls(workspace)),
    effects,
    output_schema: None,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let path = call::text(arguments, "path").unwrap_or(".");
    let complete = call::has_only(arguments, &["path"]);
    Effects::none().read(path, "path", Extent::Listing).summary(path, complete)
}

/// Creates the tool `ls`.
pub fn ls(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "List the entries of a directory in alphabetical order, including hidden ones. Names of directories end with `/`. Returns at most {DEFAULT_LIMIT} entries or {}.",
        format_size(MAX_BYTES)
    );
    FnTool::typed("ls", description, move |arguments: Arguments, invocation| {
        let workspace = Arc::clone(&workspace);
        async move { execute(&workspace, &arguments, &invocation.cancel).await }
    })
    .effects(effects)
    .prompt_snippet("List directories")
}

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let path = workspace.resolve(arguments.path.as_deref().unwrap_or("."));
    let executor = workspace.executor();
    match executor.stat(&path).await {
        Err(error) => return Err(not_found(&error, &path)),
        Ok(stat) if stat.kind != FileKind::Directory => {
            return Err(ToolError::new(format!("Not a directory: {}", path.display())));
        }
        Ok(_) => {}
    }
    let mut entries = executor.list(&path).await.map_err(|error| {
        let problem = os_error::on_path(&error, "scandir", &path);
        ToolError::new(format!("Cannot read directory: {problem}"))
    })?;
    entries.sort_by_cached_key(|entry| SortKey::new(&entry.name));
    let limit = Limit::new(arguments.limit, DEFAULT_LIMIT);
    let (mut lines, mut more) = (Vec::new(), false);
    for entry in entries {
        if cancel.is_cancelled() {
            return Err(aborted());
        }
        more = lines.len() == limit.count();
        if more {
            break;
        }
        lines.extend(line(workspace, &path, entry).await);
    }
    let mut listing = Listing::new(&lines, "(empty directory)");
    if more {
        listing.remark(limit.notice("entries"), "entryLimitReached", limit.value());
    }
    listing.limit_bytes();
    Ok(listing.finish())
}

/// Formats an entry. A link is shown as its target, and not at all if that does not exist.
async fn line(workspace: &Workspace, directory: &Path, entry: DirectoryEntry) -> Option<String> {
    let kind = match entry.kind {
        FileKind::Link => workspace.executor().stat(&directory.join(&entry.name)).await.ok()?.kind,
        kind => kind,
    };
    let mark = if kind == FileKind::Directory { "/" } else { "" };
    Some(entry.name + mark)
}
