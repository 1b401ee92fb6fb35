//! `find`: files and directories by a pattern of their names.

use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{CancelToken, Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::call;
use crate::executor::FileKind;
use crate::listing::{Limit, Listing};
use crate::mirror::Mirror;
use crate::toolset::Builtin;
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{self, Start, Visit};
use crate::workspace::Workspace;

const DEFAULT_LIMIT: f64 = 1000.0;

/// The arguments of `find`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Glob for file names, for example `*.ts`. A glob that contains a slash is matched against paths, for example `src/**/*.test.ts`
    pattern: String,
    /// Directory to search (default: the working directory)
    path: Option<String>,
    /// Maximum number of results to show (default: 1000)
    limit: Option<f64>,
}

/// `find` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "find",
    active_by_default: false,
    build: |workspace| Some(find(workspace)),
    effects,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(pattern) = call::text(arguments, "pattern") else { return Effects::unknown() };
    let summary = format!("{pattern}{}", call::in_path(arguments));
    let complete = call::has_only(arguments, &["pattern", "path"]);
    let path = call::text(arguments, "path").unwrap_or(".");
    Effects::none().read(path, "path", Extent::Tree).summary(summary, complete)
}

/// The tool `find`.
pub fn find(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Find files and directories by name with a glob. Returns paths relative to the searched directory, sorted. Includes hidden files; skips files that .gitignore excludes. Returns at most {DEFAULT_LIMIT} results or {}.",
        format_size(MAX_BYTES)
    );
    FnTool::typed("find", description, move |arguments: Arguments, invocation| {
        let workspace = Arc::clone(&workspace);
        async move { execute(&workspace, arguments, &invocation.cancel).await }
    })
    .effects(effects)
    .prompt_snippet("Find files by name")
    .prompt_guidelines(["Use the find tool instead of find or fd in bash. It respects .gitignore and limits its output."])
}

async fn execute(
    workspace: &Workspace,
    arguments: Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let start = Start::find(workspace, arguments.path.as_deref(), cancel).await?;
    if start.kind != FileKind::Directory {
        return Err(ToolError::new(format!("Not a directory: {}", start.path.display())));
    }
    let pattern = Pattern::new(&arguments.pattern)?;
    let limit = Limit::new(arguments.limit, DEFAULT_LIMIT);
    walk::blocking(cancel, move |cancel| search(&start, &pattern, limit, cancel)).await
}

fn search(
    start: &Start,
    pattern: &Pattern,
    limit: Limit,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let mut builder = start.builder();
    builder.add_custom_ignore_filename(".fdignore").require_git(is_in_repository(start));
    let (lines, unread) = walk::first(&builder, start, limit.count(), cancel, || {
        |entry, path: &Path| {
            if !pattern.matches(&start.path, path) {
                return Visit::Nothing;
            }
            let mark = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
            Visit::Found(path.to_string_lossy().into_owned() + mark, 1)
        }
    })?;
    let reached = lines.len() >= limit.count();
    let mut listing = Listing::new(&lines, "No files found matching pattern");
    if reached {
        let notice = limit.notice("results") + ", or refine pattern";
        listing.remark(notice, "resultLimitReached", limit.value());
    }
    listing.limit_bytes();
    listing.unread(unread);
    Ok(listing.finish())
}

/// Outside of repositories .gitignore files count too; inside, those above it do not.
fn is_in_repository(start: &Start) -> bool {
    let top = start.mirror.as_ref().map_or(Path::new(""), Mirror::root);
    let mut directories = start.host.ancestors().take_while(|path| path.starts_with(top));
    directories.any(|directory| directory.join(".git").exists())
}

/// A glob for names, or for whole paths if it has a slash.
#[derive(Debug)]
enum Pattern {
    All,
    Name(GlobMatcher),
    Path(GlobMatcher),
}

impl Pattern {
    fn new(text: &str) -> Result<Self, ToolError> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() {
            return Ok(Self::All);
        }
        let is_path = text.contains('/');
        let anywhere = is_path && !text.starts_with('/') && !text.starts_with("**/");
        let glob = if anywhere { format!("**/{text}") } else { text.to_owned() };
        let matcher = GlobBuilder::new(&glob)
            .literal_separator(true)
            // Capitals are written on purpose.
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .build()
            .map_err(|error| ToolError::new(error.to_string()))?
            .compile_matcher();
        Ok(if is_path { Self::Path(matcher) } else { Self::Name(matcher) })
    }

    fn matches(&self, root: &Path, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Name(glob) => path.file_name().is_some_and(|name| glob.is_match(name)),
            Self::Path(glob) => glob.is_match(root.join(path)),
        }
    }
}
