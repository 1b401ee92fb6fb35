//! The tool `grep`: searches files for lines that match a regular expression.

mod lines;

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_fs::open_regular;
use pi_protocol::{CancelToken, Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::Builtin;
use crate::call;
use crate::change::unless_aborted;
use crate::executor::FileKind;
use crate::listing::{Limit, Listing};
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{self, SearchRoot, Visit, WalkResults};
use crate::workspace::{Workspace, aborted};
use lines::{MAX_LINE, Matches, SearchLimits, search_file};

const DEFAULT_LIMIT: f64 = 100.0;
/// Maximum length of a searched line, which is held in memory. Files with longer lines, such as
/// disk images, are not searched.
const MAX_SEARCHED_LINE: usize = 64 * 1024 * 1024;

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Regular expression (Rust syntax), or plain text if literal is true
    pattern: String,
    /// File or directory to search (default: the working directory)
    path: Option<String>,
    /// Search only files that match this glob, for example `*.ts` or `src/**`
    glob: Option<String>,
    /// Ignore the case of letters (default: false)
    ignore_case: Option<bool>,
    /// Treat pattern as plain text, not as a regular expression (default: false)
    literal: Option<bool>,
    /// Number of lines to show before and after each match (default: 0)
    context: Option<f64>,
    /// Maximum number of matches to show (default: 100)
    limit: Option<f64>,
}

/// `grep` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "grep",
    active_by_default: false,
    needs_background: false,
    build: |workspace| Some(grep(workspace)),
    effects,
    output_schema: None,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(pattern) = call::text(arguments, "pattern") else { return Effects::unknown() };
    let glob = call::text(arguments, "glob");
    let glob = glob.map(|glob| format!(" ({glob})")).unwrap_or_default();
    let summary = format!("/{pattern}/{}{glob}", call::in_path(arguments));
    let complete = call::has_only(arguments, &["pattern", "path", "glob"]);
    let path = call::text(arguments, "path").unwrap_or(".");
    Effects::none().read(path, "path", Extent::Tree).summary(summary, complete)
}

/// Creates the tool `grep`.
pub fn grep(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Search file contents for a pattern. Returns path, line number and text of each matching line, sorted by path. Searches hidden files; skips files that .gitignore excludes. Returns at most {DEFAULT_LIMIT} matches or {}; truncates lines to {MAX_LINE} characters.",
        format_size(MAX_BYTES)
    );
    FnTool::typed("grep", description, move |arguments: Arguments, invocation| {
        let workspace = Arc::clone(&workspace);
        async move { execute(&workspace, &arguments, &invocation.cancel).await }
    })
    .effects(effects)
    .prompt_snippet("Search file contents for a pattern")
    .prompt_guidelines(["Use the grep tool instead of grep or rg in bash. It respects .gitignore and limits its output."])
}

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let root = SearchRoot::find(workspace, arguments.path.as_deref(), cancel).await?;
    if root.kind == FileKind::Other {
        // Reading a pipe or a device may never end.
        return Err(ToolError::new(format!("Not a file or directory: {}", root.path.display())));
    }
    let matcher = matcher(arguments)?;
    let globs_from = root.host_path(workspace.executor(), workspace.cwd());
    let mut search = Search {
        matcher,
        globs: globs(arguments, &globs_from)?,
        context: arguments.context.map_or(0, |lines| lines as usize),
        limit: Limit::new(arguments.limit, DEFAULT_LIMIT),
        root,
    };
    if search.root.mirror.is_some() {
        search.fetch(workspace, cancel).await?;
    }
    walk::blocking(cancel, move |cancel| search.run(cancel)).await
}

/// Compiles the pattern as `rg` does.
fn matcher(arguments: &Arguments) -> Result<RegexMatcher, ToolError> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .case_insensitive(arguments.ignore_case.unwrap_or(false))
        .fixed_strings(arguments.literal.unwrap_or(false))
        .build(&arguments.pattern)
        .map_err(|error| match error.kind() {
            ErrorKind::NotAllowed(_) => ToolError::new(format!(
                "{error}\n\nA pattern cannot span lines. Search for text within one line."
            )),
            _ => ToolError::new(error.to_string()),
        })
}

/// Compiles the glob for files, relative to the working directory.
fn globs(arguments: &Arguments, from: &Path) -> Result<Override, ToolError> {
    let error = |error: ignore::Error| ToolError::new(error.to_string());
    let mut globs = OverrideBuilder::new(from);
    if let Some(glob) = arguments.glob.as_deref().filter(|glob| !glob.is_empty()) {
        globs.add(glob).map_err(error)?;
    }
    globs.build().map_err(error)
}

/// A search with checked arguments.
#[derive(Debug)]
struct Search {
    root: SearchRoot,
    matcher: RegexMatcher,
    globs: Override,
    context: usize,
    limit: Limit,
}

impl Search {
    fn run(&self, cancel: &CancelToken) -> Result<ToolOutput, ToolError> {
        let results = match self.root.kind {
            FileKind::Directory => self.directory(cancel)?,
            _ => self.file(cancel)?,
        };
        Ok(self.show(&results))
    }

    /// Copies the contents of the files to search from the executor.
    async fn fetch(
        &mut self,
        workspace: &Workspace,
        cancel: &CancelToken,
    ) -> Result<(), ToolError> {
        let files = match self.root.kind {
            FileKind::Directory => {
                let (walk, root) = (self.walk(), self.root.host.clone());
                walk::blocking(cancel, move |cancel| walk::files(&walk, &root, cancel)).await?
            }
            _ => vec![PathBuf::new()],
        };
        let Some(mirror) = &mut self.root.mirror else { return Ok(()) };
        let filled = mirror.fill(workspace.executor(), &files, &self.root.host);
        unless_aborted(cancel, filled).await?
    }

    fn walk(&self) -> WalkBuilder {
        let mut builder = self.root.builder();
        builder.add_custom_ignore_filename(".rgignore").overrides(self.globs.clone());
        builder
    }

    fn directory(&self, cancel: &CancelToken) -> Result<FileMatches, ToolError> {
        walk::first_results(&self.walk(), &self.root, self.limit.count(), cancel, || {
            // A file with a zero byte is binary; the search stops there.
            let mut searcher = self.searcher(BinaryDetection::quit(0));
            move |entry, path: &Path| {
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    return Visit::Nothing;
                }
                match self.matches(&mut searcher, entry.path(), cancel) {
                    Err(_) => Visit::Unread,
                    Ok(matches) if matches.count() == 0 => Visit::Nothing,
                    Ok(matches) => {
                        let count = matches.count();
                        Visit::Found((path.to_owned(), matches), count)
                    }
                }
            }
        })
    }

    /// Searches a file that the call names, even if it is binary.
    fn file(&self, cancel: &CancelToken) -> Result<FileMatches, ToolError> {
        let mut searcher = self.searcher(BinaryDetection::none());
        let matches = self.matches(&mut searcher, &self.root.host, cancel);
        if cancel.is_cancelled() {
            return Err(aborted());
        }
        let matches = matches.map_err(|error| {
            ToolError::new(format!("Cannot search {}: {error}", self.root.path.display()))
        })?;
        let name = self.root.path.file_name().unwrap_or_default();
        Ok(FileMatches { found: vec![(PathBuf::from(name), matches)], unread: 0 })
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .binary_detection(binary)
            .heap_limit(Some(MAX_SEARCHED_LINE))
            .before_context(self.context)
            .after_context(self.context)
            .build()
    }

    fn matches(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        cancel: &CancelToken,
    ) -> io::Result<Matches> {
        let wanted = SearchLimits { matches: self.limit.count(), context: self.context as u64 };
        let file = open_regular(OpenOptions::new().read(true), path)?;
        if !self.root.may_show(&file, path) {
            let why = "a policy rule forbids reading this file";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        search_file(searcher, &self.matcher, file, wanted, cancel)
    }

    fn show(&self, results: &FileMatches) -> ToolOutput {
        let (mut lines, mut is_cut) = (Vec::new(), false);
        let mut left = self.limit.count();
        for (path, matches) in &results.found {
            is_cut |= matches.show(&path.to_string_lossy(), left, &mut lines);
            left -= matches.count().min(left);
        }
        let mut listing = Listing::new(&lines, "No matches found");
        if left == 0 {
            let notice = self.limit.notice("matches") + ", or refine pattern";
            listing.remark(notice, "matchLimitReached", self.limit.value());
        }
        listing.limit_bytes();
        if is_cut {
            let notice = format!(
                "Some lines truncated to {MAX_LINE} chars. Use read tool to see full lines"
            );
            listing.remark(notice, "linesTruncated", Value::Bool(true));
        }
        listing.unread(results.unread);
        listing.finish()
    }
}

/// Files and their matches.
type FileMatches = WalkResults<(PathBuf, Matches)>;
