//! `read`: the content of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, format_size, head};
use crate::workspace::Workspace;
use crate::{os_error, paths};

/// The arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file, relative or absolute
    path: String,
    /// First line to read, counted from 1
    offset: Option<f64>,
    /// Most lines to read
    limit: Option<f64>,
}

/// The tool `read`.
pub fn read(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Reads a file: text as it is, at most {MAX_LINES} lines or {} at a time. The result says with which offset to go on.",
        format_size(MAX_BYTES)
    );
    FnTool::typed("read", description, move |arguments: Arguments, _| {
        let workspace = Arc::clone(&workspace);
        async move { execute(&workspace, &arguments).await }
    })
}

async fn execute(workspace: &Workspace, arguments: &Arguments) -> Result<ToolOutput, ToolError> {
    let path = find(workspace, &arguments.path).await?;
    let bytes = workspace
        .executor()
        .read(&path, u64::MAX)
        .await
        .map_err(|error| os_error::bare(&error, "read"))?;
    let text = String::from_utf8_lossy(&bytes);
    let (shown, truncation) = select(&text, arguments)?;
    Ok(ToolOutput {
        details: truncation.map(|truncation| json!({ "truncation": truncation })),
        structured_content: Some(Value::String(shown.clone())),
        ..ToolOutput::text(shown)
    })
}

/// The file, by its name or another spelling of it.
async fn find(workspace: &Workspace, path: &str) -> Result<PathBuf, ToolError> {
    let wanted = workspace.resolve(path);
    let Err(missing) = workspace.executor().stat(&wanted).await else { return Ok(wanted) };
    for variant in paths::variants(&wanted) {
        if exists(workspace, &variant).await {
            return Ok(variant);
        }
    }
    Err(os_error::on_path(&missing, "access", &wanted))
}

async fn exists(workspace: &Workspace, path: &Path) -> bool {
    workspace.executor().stat(path).await.is_ok()
}

/// The lines that were asked for, as many as may be shown, and what to do about the rest.
fn select(text: &str, arguments: &Arguments) -> Result<(String, Option<Value>), ToolError> {
    // A line break at the end begins a line of its own here, an empty one.
    let lines: Vec<&str> = text.split('\n').collect();
    let total = lines.len();
    let first = whole(arguments.offset).map_or(0, |offset| offset.saturating_sub(1));
    if first >= total {
        let offset = arguments.offset.unwrap_or_default();
        return Err(ToolError(format!(
            "Offset {offset} is beyond end of file ({total} lines total)"
        )));
    }
    let asked =
        whole(arguments.limit).map_or(total, |limit| first.saturating_add(limit)).min(total);
    let cut = head(&lines[first..asked].join("\n"), MAX_LINES, MAX_BYTES);
    let limit = format_size(MAX_BYTES);
    if cut.first_line_exceeds_limit {
        let (line, size) = (first + 1, format_size(lines[first].len()));
        let notice = format!(
            "[Line {line} is {size}, exceeds {limit} limit. Use bash: sed -n '{line}p' {} | head -c {MAX_BYTES}]",
            arguments.path
        );
        return Ok((notice, serde_json::to_value(cut).ok()));
    }
    if cut.truncated {
        let last = first + cut.output_lines;
        let by = if cut.truncated_by == Some(TruncatedBy::Bytes) {
            format!(" ({limit} limit)")
        } else {
            String::new()
        };
        let shown = format!(
            "{}\n\n[Showing lines {}-{last} of {total}{by}. Use offset={} to continue.]",
            cut.content,
            first + 1,
            last + 1
        );
        return Ok((shown, serde_json::to_value(cut).ok()));
    }
    let rest = total - asked;
    if rest > 0 {
        let shown = format!(
            "{}\n\n[{rest} more lines in file. Use offset={} to continue.]",
            cut.content,
            asked + 1
        );
        return Ok((shown, None));
    }
    Ok((cut.content, None))
}

/// A number of lines; fractions and negative numbers round down to one.
fn whole(number: Option<f64>) -> Option<usize> {
    number.filter(|number| *number >= 1.0).map(|number| number as usize)
}
