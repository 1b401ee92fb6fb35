//! The tool `find`: finds files and directories by name.

use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{CancelToken, Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::Builtin;
use crate::call;
use crate::executor::FileKind;
use crate::listing::{Limit, Listing};
use crate::mirror::Mirror;
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{self, SearchRoot, Visit};
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
    needs_background: false,
    build: |workspace| Some(find(workspace)),
    effects,
    output_schema: None,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(pattern) = call::text(arguments, "pattern") else { return Effects::unknown() };
    let summary = format!("{pattern}{}", call::in_path(arguments));
    let complete = call::has_only(arguments, &["pattern", "path"]);
    let path = call::text(arguments, "path").unwrap_or(".");
    Effects::none().read(path, "path", Extent::Tree).summary(summary, complete)
}

/// Creates the tool `find`.
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
    let root = SearchRoot::find(workspace, arguments.path.as_deref(), cancel).await?;
    if root.kind != FileKind::Directory {
        return Err(ToolError::new(format!("Not a directory: {}", root.path.display())));
    }
    let pattern = Pattern::new(&arguments.pattern)?;
    let limit = Limit::new(arguments.limit, DEFAULT_LIMIT);
    walk::blocking(cancel, move |cancel| search(&root, &pattern, limit, cancel)).await
}

fn search(
    root: &SearchRoot,
    pattern: &Pattern,
    limit: Limit,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let mut builder = root.builder();
    builder.add_custom_ignore_filename(".fdignore").require_git(is_in_repository(root));
    let results = walk::first_results(&builder, root, limit.count(), cancel, || {
        |entry, path: &Path| {
            if !pattern.matches(&root.path, path) {
                return Visit::Nothing;
            }
            let mark = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
            Visit::Found(path.to_string_lossy().into_owned() + mark, 1)
        }
    })?;
    let reached = results.found.len() >= limit.count();
    let mut listing = Listing::new(&results.found, "No files found matching pattern");
    if reached {
        let notice = limit.notice("results") + ", or refine pattern";
        listing.remark(notice, "resultLimitReached", limit.value());
    }
    listing.limit_bytes();
    listing.unread(results.unread);
    Ok(listing.finish())
}

/// Returns true if the search root is in a git repository. `.gitignore` files count outside of
/// repositories too; inside, those above the repository do not.
fn is_in_repository(root: &SearchRoot) -> bool {
    let top = root.mirror.as_ref().map_or(Path::new(""), Mirror::root);
    let mut directories = root.host.ancestors().take_while(|path| path.starts_with(top));
    directories.any(|directory| directory.join(".git").exists())
}

/// A glob for names, or for whole paths if it contains a slash.
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
            // Upper case letters make the pattern case-sensitive.
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
